# manual_roff.pl: what scripts/manual writes as man pages.
use strict;
use warnings;
use utf8;
our (%page_of, %meaning, @pages, @headers, $root);

sub roff {
    my ($text) = @_;
    $text =~ s/\\/\\e/g;
    $text =~ s/(?<![A-Za-z0-9])-|-(?![A-Za-z0-9])/\\-/g;
    return $text;
}

sub roff_code {
    my ($text) = @_;
    $text =~ s/\\/\\e/g;
    $text =~ s/-/\\-/g;
    $text =~ s/\^/\\(ha/g;
    $text =~ s/~/\\(ti/g;
    $text =~ s/'/\\(aq/g;
    $text =~ s/`/\\(ga/g;
    return $text;
}

sub roff_line { return $_[0] =~ s/^(?=[.'])/\\&/r }

# A reference to a page of these; or the bold name, where it is this page or none.
sub roff_see {
    my ($name, $here) = @_;
    my $page = $page_of{$name};
    return '\fB' . roff_code($name) . '\fP' . ($page && $page != $here ? '(3)' : '');
}

sub roff_text {
    my ($text, $here) = @_;
    my $out = '';
    pieces($text, sub {
        my ($kind, $what) = @_;
        if ($kind eq 'plain') {
            $out .= roff($what);
        } elsif ($kind eq 'bold') {
            $out .= '\fB' . roff($what) . '\fP';
        } elsif ($kind eq 'name') {
            $out .= roff_see($what, $here);
        } elsif ($kind eq 'header') {
            my ($stem) = $what =~ m{/(\w+)};
            $out .= '\fB' . ($stem eq 'leat' ? 'leat' : "leat_$stem") . '\fP(7)';
        } elsif ($kind eq 'doc') {
            my ($page) = $what =~ m{^docs/leat-(sum|map)\.md$};
            $out .= $page ? "\\fBleat\\-$page\\fP(1)" : '\fI' . roff_code($what) . '\fP';
        } else {
            $out .= '\fB' . roff_code($what) . '\fP';
        }
    });
    return join '', map { roff_line($_) . "\n" } fold($out, 78);
}

sub fold {
    my ($text, $width) = @_;
    my @lines = ('');
    for my $word (split / +/, $text) {
        if ($lines[-1] eq '') { $lines[-1] = $word }
        elsif (length($lines[-1]) + 1 + length($word) > $width) { push @lines, $word }
        else { $lines[-1] .= " $word" }
    }
    return @lines;
}

sub roff_example {
    my @lines = @_;
    my $code = join '', map { roff_line(roff_code($_)) . "\n" } @lines;
    return ".PP\n.in +4n\n.nf\n$code.fi\n.in\n";
}

sub roff_blocks {
    my ($here, @blocks) = @_;
    my $out = '';
    for my $block (@blocks) {
        my ($kind, @lines) = @$block;
        if ($kind eq 'code') { $out .= roff_example(@lines) }
        elsif ($kind eq 'item') { $out .= ".IP \\(bu 3\n" . roff_text(join(' ', @lines), $here) }
        elsif ($kind eq 'term') {
            my $term = roff_code(shift @lines);
            $out .= ".TP 14\n.B $term\n" . roff_text("@lines", $here);
        } else { $out .= ".PP\n" . roff_text(join(' ', @lines), $here) }
    }
    return $out;
}

# A prototype: the parameters' names in italics, the rest in bold. Further lines begin below the
# first parameter.
sub roff_proto {
    my ($proto) = @_;
    my ($head, $inside) = $proto =~ /^([^(]*\()(.*)$/s;
    my @lines;
    my $line = $head;
    for my $part (split /(?<=,) /, $inside) {
        if ($line ne $head && length("$line $part") > 74) {
            push @lines, $line;
            $line = (' ' x length $head) . $part;
        } else {
            $line .= $line eq $head ? $part : " $part";
        }
    }
    my $out = '';
    for (@lines, $line) {
        my $indent = s/^( +)// ? $1 : '';
        my $text = roff_code($_);
        $text =~ s/(\w+)(?=[,)])(?!\()/$1 eq 'void' ? $1 : "\\fP\\fI$1\\fP\\fB"/ge;
        $out .= "$indent\\fB$text\\fP\n";
    }
    return $out;
}

sub roff_head {
    my ($name, $section, $version) = @_;
    return ".\\\" Made by scripts/manual from include/leat.\n"
        . ".TH " . roff_code($name) . " $section \"\" \"leat $version\" \""
        . ($section == 3 ? 'Library Functions' : 'leat') . "\"\n";
}

# The types of its header that a page's functions use, the types that these use, and their
# initialisers.
sub types_of {
    my ($page) = @_;
    my @all = grep { $_->{kind} eq 'group' && !$_->{page} } @{$page->{header}{flow}};
    my $seen = join ' ', map { $_->{proto} } @{$page->{calls}};
    my %taken;
    for (1 .. 4) {
        for my $group (@all) {
            my @mine = grep { $_->{kind} eq 'type' } @{$group->{decls}};
            my @names = $group->{initialises} || map { @{$_->{names}} } @mine;
            next if $taken{$group} || !grep { $seen =~ /\b$_\b/ } @names;
            $taken{$group} = 1;
            $seen .= ' ' . join ' ', map { $_->{text} } @mine;
        }
    }
    return grep { $taken{$_} } @all;
}

my %written;    # a file's name in small letters → the file

sub write_file {
    my ($file, $text) = @_;
    my $other = $written{lc $file};
    die "$file and $other are one file where case does not count\n" if $other;
    $written{lc $file} = $file;
    $text =~ s/([^\x00-\x7f])/sprintf '\\[u%04X]', ord $1/ge;
    open my $to, '>', $file or die "$file: $!\n";
    print $to $text or die "$file: $!\n";
    close $to or die "$file: $!\n";
}

sub see_also {
    my ($section, @names) = @_;
    my @refs = map { '.BR ' . roff_code($_->[0]) . " ($_->[1])" } @names;
    return ".SH SEE ALSO\n" . join(" ,\n", @refs) =~ s/\) ,/),/gr . "\n";
}

sub roff_page {
    my ($page, $version) = @_;
    my $header = $page->{header};
    my @names = @{$page->{names}};
    my $out = roff_head($names[0], 3, $version);
    $out .= ".SH NAME\n" . join(', ', map { roff_code($_) } @names);
    $out .= ' \\- ' . roff(brief($page)) . "\n";
    $out .= ".SH SYNOPSIS\n.nf\n.B #include <leat/$header->{name}.h>\n.PP\n";
    $out .= join '', map { roff_proto($_->{proto}) } @{$page->{calls}};
    $out .= ".fi\n.SH DESCRIPTION\n";
    my @groups = @{$page->{groups}};
    my $returns = '';
    for my $group (@groups) {
        my @own = map { @{$_->{names}} }
            grep { $_->{kind} =~ /^(function|macro)$/ } @{$group->{decls}};
        my $head = @groups > 1 ? '.SS ' . join(', ', map { roff_code($_) } @own) . "\n" : '';
        my @text = grep { $_->[0] ne 'returns' } @{$group->{text}};
        $out .= $head . roff_blocks($page, @text) if @text;
        my @returns = grep { $_->[0] eq 'returns' } @{$group->{text}};
        $returns .= $head . roff_blocks($page, @returns) if @returns;
        my @more = grep { $_->{kind} !~ /^(function|macro|opaque)$/ } @{$group->{decls}};
        $out .= roff_example(split /\n/, join "\n", map { $_->{text} } @more) if @more;
    }
    $out .= ".PP\nSee\n.BR leat_$header->{name} (7)\nfor what holds for the whole header.\n";
    if (my @types = types_of($page)) {
        $out .= ".SH TYPES\n";
        for my $group (@types) {
            $out .= roff_blocks($page, @{$group->{text}});
            $out .= roff_example(split /\n/, join "\n", map { $_->{text} } @{$group->{decls}});
        }
    }
    $out .= ".SH RETURN VALUE\n$returns" if $returns ne '';
    my @told = map { joined($_) } grep { $_->[0] eq 'returns' } map { @{$_->{text}} } @groups;
    my %said = map { $_ => 1 } map { /(?<![\w-])(-E[A-Z]+)\b/g } @told;
    if (my @codes = grep { $meaning{$_} } sort keys %said) {
        $out .= ".SH ERRORS\nThese errors mean the same in all of leat:\n";
        $out .= roff_blocks($page, map { ['term', $_, $meaning{$_}] } @codes);
    }
    my @others = grep { $_->{header} == $header && $_ != $page } @pages;
    $out .= see_also(3, ["leat_$header->{name}", 7],
        ($header->{name} eq 'base' ? () : ['leat_base', 7]), ['leat', 7],
        map { [$_->{names}[0], 3] } @others);
    return $out =~ s/(\n\.S[HS][^\n]*)\n\.PP\n/$1\n/gr;
}

sub roff_header {
    my ($header, $version) = @_;
    my $here = $header;
    my $out = roff_head("leat_$header->{name}", 7, $version);
    $out .= ".SH NAME\nleat_$header->{name} \\- " . roff($header->{brief}) . "\n";
    $out .= ".SH SYNOPSIS\n.nf\n.B #include <leat/$header->{name}.h>\n.fi\n.SH DESCRIPTION\n";
    $out .= roff_blocks($here, @{$header->{intro}});
    my ($calls, $types, $title) = ('', '', '');
    my %listed;
    for my $item (@{$header->{flow}}) {
        if ($item->{kind} eq 'heading') {
            $title = '.SS ' . roff(ucfirst $item->{title}) . "\n";
        } elsif ($item->{kind} eq 'note') {
            $calls .= $title . roff_blocks($here, @{$item->{text}});
            $title = '';
        } elsif (my $page = $item->{page}) {
            next if $listed{$page}++;
            my @names = map { '.BR ' . roff_code($_) . ' (3)' } @{$page->{names}};
            $calls .= $title . ".TP\n" . join(",\n", @names) . "\n";
            $calls .= roff(ucfirst brief($page)) . ".\n";
            $title = '';
        } else {
            $types .= roff_blocks($here, @{$item->{text}});
            my $code = join "\n", map { $_->{text} } @{$item->{decls}};
            $types .= roff_example(split /\n/, $code) if $code ne '';
        }
    }
    $out .= ".SH TYPES AND CONSTANTS\n$types" if $types ne '';
    # Names in a row are one tag.
    $calls =~ s/(\.BR \S+ \(3\)),\n(?=\.BR)/$1,\n.TQ\n/g;
    $out .= ".SH FUNCTIONS AND MACROS\n$calls" if $calls ne '';
    my @others = grep { $_ != $header && $_->{name} ne 'leat' } @headers;
    $out .= see_also(7, ['leat', 7], map { ["leat_$_->{name}", 7] } @others);
    return $out =~ s/(\n\.S[HS][^\n]*)\n\.PP\n/$1\n/gr;
}

# leat(7): what README.md says of libleat, its program, and the headers.
sub roff_leat {
    my ($version) = @_;
    my ($header) = grep { $_->{name} eq 'leat' } @headers;
    my (%section, $title, $code, @program);
    for my $line (lines_of("$root/README.md")) {
        if ($line =~ /^```/) { $code = !$code && $line eq '```c' && !@program }
        elsif ($code) { push @program, $line }
        elsif ($line =~ /^## (.*)/) { $title = $1 }
        elsif (defined $title) {
            $line =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
            $line =~ s/(?<!\*)\*([^*]+)\*(?!\*)/$1/g;
            push @{$section{$title}}, $line;
        }
    }
    my $out = roff_head('leat', 7, $version);
    $out .= ".SH NAME\nleat \\- " . roff($header->{brief}) . "\n";
    $out .= ".SH SYNOPSIS\n.nf\n.B #include <leat/leat.h>\n.PP\n"
        . ".B cc program.c \$(pkg\\-config \\-\\-cflags \\-\\-libs leat)\n.fi\n.SH DESCRIPTION\n";
    for my $of ('What it is', 'What is in it', 'What it is not') {
        die "README.md has no section: $of\n" if !$section{$of};
        $out .= '.SS ' . roff($of) . "\n" if $of ne 'What it is';
        $out .= roff_blocks($header, blocks(@{$section{$of}}));
    }
    $out .= ".SH EXAMPLE\n" . roff_example(@program) . ".SH HEADERS\n";
    $out .= ".B #include <leat/leat.h>\nincludes them all.\n";
    for (grep { $_ != $header } @headers) {
        $out .= ".TP\n.BR leat_$_->{name} (7)\n" . roff(ucfirst $_->{brief}) . ".\n";
    }
    $out .= see_also(7, ['leat-look', 1], ['leat-map', 1], ['leat-sum', 1],
        map { ["leat_$_->{name}", 7] } grep { $_ != $header } @headers);
    return $out =~ s/(\n\.S[HS][^\n]*)\n\.PP\n/$1\n/gr;
}

sub write_man {
    my ($version, $folder) = @_;
    for ($folder, "$folder/man3", "$folder/man7") {
        -d $_ or mkdir $_ or die "$_: $!\n";
    }
    unlink glob "$folder/man[37]/*.[37]";
    for my $page (@pages) {
        my ($first, @others) = @{$page->{names}};
        write_file("$folder/man3/$first.3", roff_page($page, $version));
        write_file("$folder/man3/$_.3", ".so man3/$first.3\n") for @others;
    }
    for my $header (@headers) {
        if ($header->{name} eq 'leat') {
            write_file("$folder/man7/leat.7", roff_leat($version));
            next;
        }
        write_file("$folder/man7/leat_$header->{name}.7", roff_header($header, $version));
    }
    # A type without its own page is found by its name, in its header's page.
    for my $header (@headers) {
        my @decls = map { @{$_->{decls}} } grep { $_->{kind} eq 'group' } @{$header->{flow}};
        for my $name (map { @{$_->{names}} } grep { $_->{kind} =~ /^(type|opaque)$/ } @decls) {
            my $alias = "$folder/man7/$name.7";
            write_file($alias, ".so man7/leat_$header->{name}.7\n")
                if !$page_of{$name} && !-e $alias;
        }
    }
}

1;
