# on_hostile.pl SEED: prints frames of a leat map or a leat worker of which one thing is wrong.
use strict;
use warnings;

my ($seed, $version, $from) = @ARGV;
srand $seed;

sub frame { my ($kind, $job, $body) = @_; pack('VCV', length $body, $kind, $job) . $body }
sub one { $_[rand @_] }

my @frames;
if ($from eq 'map') {
    push @frames, frame(1, 0, "$version\0" . pack('Q<', 1_000_000) . "\0");
    for my $job (1 .. 3) {
        my @strings = ('LEAT_SEQ=1', 'LEAT_SLOT=1', 'LEAT_TRY=1', 'sh', '-c', 'cat; echo x');
        splice @strings, one(1 .. 3) if rand() < 0.2; # no program
        push @frames, frame(2, $job, join '', map { "$_\0" } @strings),
            frame(3, $job, pack('VC', scalar @strings, 1)), frame(4, $job, 'input'),
            frame(4, $job, ''), frame(8, $job, pack('CV', 6, 5)), frame(5, $job, pack('CC', 15, 1));
    }
} else {
    push @frames, frame(1, 0, "$version\0" . pack('V', 2));
    for my $job (1 .. 3) {
        push @frames, frame(6, $job, 'output'), frame(7, $job, 'errors'),
            frame(8, $job, pack('CV', 4, 5)), frame(10, $job, pack('VV', 0, 0));
    }
}
my $at = int rand @frames;
my $way = int rand 7;
if ($way == 0) { substr($frames[$at], rand length $frames[$at], 1) = chr int rand 256 }
if ($way == 1) { $frames[$at] = substr $frames[$at], 0, rand length $frames[$at] }
if ($way == 2) { splice @frames, $at, 1 }
if ($way == 3) { splice @frames, $at, 0, $frames[rand @frames] }
if ($way == 4) { @frames[$at, 0] = @frames[0, $at] }
if ($way == 5) { $frames[$at] = frame(one(2 .. 11), one(0 .. 4), 'x' x int rand 70000) }
if ($way == 6) { $frames[$at] = pack 'C*', map { int rand 256 } 1 .. rand 100 }
binmode STDOUT;
print join '', @frames;
