# manual_markdown.pl: what scripts/manual writes as Markdown.
use strict;
use warnings;
use utf8;
our (%page_of, %meaning, @pages, @headers, $root);

my %slug_of;    # public name, or header → anchor

sub slug { my $t = lc $_[0]; $t =~ s/[^\w\- ]//g; $t =~ s/ /-/g; return $t }

sub md_text {
    my ($text, $here) = @_;
    my $out = '';
    pieces($text, sub {
        my ($kind, $what) = @_;
        if ($kind eq 'plain') {
            $what =~ s/</&lt;/g;
            $what =~ s/([*|])/\\$1/g;
            $out .= $what;
        } elsif ($kind eq 'bold') {
            $out .= "**$what**";
        } elsif ($kind eq 'doc') {
            $out .= "[$what](" . $what =~ s{^docs/}{}r . ')';
        } elsif (defined $slug_of{$what} && $slug_of{$what} ne $here) {
            $out .= "[`$what`](#$slug_of{$what})";
        } else {
            $out .= "`$what`";
        }
    });
    return join "\n", fold($out, 118);
}

sub md_code {
    my ($language, @lines) = @_;
    return join '', map { "$_\n" } "```$language", @lines, '```';
}

sub md_blocks {
    my ($here, @blocks) = @_;
    my $out = '';
    my $last = '';
    for my $block (@blocks) {
        my ($kind, @lines) = @$block;
        $out .= "\n" if !($kind eq $last && $kind =~ /^(item|term)$/);
        if ($kind eq 'code') {
            $out .= md_code("@lines" =~ /[▶│]|· ·/ ? '' : 'c', @lines);
        } elsif ($kind eq 'item') {
            $out .= '- ' . md_text("@lines", $here) =~ s/\n/\n  /gr . "\n";
        } elsif ($kind eq 'term') {
            my $term = join ', ', map { "`$_`" } split /, /, shift @lines;
            $out .= "- $term: " . md_text("@lines", $here) . "\n";
        } else {
            $out .= md_text("@lines", $here) . "\n";
        }
        $last = $kind;
    }
    return $out;
}

sub fold_paragraph { return join '', map { "$_\n" } fold($_[0], 118) }

sub md_heading {
    my ($group) = @_;
    my @shown = grep { $_->{kind} ne 'opaque' } @{$group->{decls}};
    my @names = map { @{$_->{names}} } @shown ? @shown : @{$group->{decls}};
    splice @names, 4, @names, '…' if @names > 5 && !$group->{page};
    return join ', ', @names;
}

sub write_md {
    my ($version) = @_;
    my %used;
    for my $header (@headers) {
        $slug_of{"leat/$header->{name}.h"} = slug("leat/$header->{name}.h");
        my @flow;
        my @waiting;    # opaque types go to what follows them
        for my $item (@{$header->{flow}}) {
            if ($item->{kind} eq 'group' && !$item->{page} && !@{$item->{text}}
                && !grep { $_->{kind} ne 'opaque' } @{$item->{decls}}) {
                push @waiting, @{$item->{decls}};
                next;
            }
            if ($item->{kind} eq 'group' && @{$item->{decls}}) {
                unshift @{$item->{decls}}, splice @waiting;
                $item->{title} = md_heading($item);
                # An anchor ignores case.
                my $function = $item->{decls}[-1]{kind} eq 'function';
                $item->{title} .= $function ? ' (function)' : ' (macro)'
                    if $used{slug($item->{title})};
                my $slug = slug($item->{title});
                die "two headings: $slug\n" if $used{$slug}++;
                for my $d (@{$item->{decls}}) {
                    $slug_of{$_} = $slug
                        for grep { $d->{kind} ne 'opaque' || !$slug_of{$_} } @{$d->{names}};
                }
                $item->{slug} = $slug;
            }
            push @flow, $item;
        }
        $header->{flow} = \@flow;
    }
    my @shown = grep { $_->{name} ne 'leat' } @headers;
    print "# The API of libleat\n\n", fold_paragraph(
        "Version $version. `make manual` writes this page from the headers in "
        . "[include/leat](../include/leat), and `make install` the man pages: `man 7 leat`, "
        . "`man leat_send`. [leat/base.h](#$slug_of{'leat/base.h'}) says what holds everywhere: "
        . "results, deadlines, and who may call."), "\n";
    for my $header (@shown) {
        my @names = map { "[`$_`](#$slug_of{$_})" } map { $_->{names}[0] }
            grep { $_->{header} == $header } @pages;
        my $file = "leat/$header->{name}.h";
        print "- **[$file](#$slug_of{$file})**: $header->{brief}.\n",
            map { "  $_\n" } fold(join(' ', @names), 116);
    }
    for my $header (@shown) {
        print "\n## leat/$header->{name}.h\n\n", fold_paragraph(ucfirst "$header->{brief}.");
        print md_blocks('', @{$header->{intro}});
        for my $item (@{$header->{flow}}) {
            if ($item->{kind} eq 'heading') { print "\n**", ucfirst $item->{title}, "**\n"; next }
            if ($item->{kind} eq 'note' || !@{$item->{decls}}) {
                print md_blocks('', @{$item->{text}});
                next;
            }
            print "\n### $item->{title}\n\n", md_code('c', map { $_->{text} } @{$item->{decls}});
            print md_blocks($item->{slug}, @{$item->{text}});
        }
    }
}

1;
