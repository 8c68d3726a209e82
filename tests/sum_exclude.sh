#!/usr/bin/env bash
# --exclude and --exclude-from: patterns as in .gitignore. Where git is there, it is the oracle.
. "$(dirname "$0")/sum_common.bash"

# names ARGUMENT...: the files that are digested, without the PATH, in a row
names() {
    "$leat" sum --no-progress "$@" t 2>&1 | sed 's/^.*  t\///; s/^leat sum: t/note: /' | xargs
}
# leaves WANTED ARGUMENT...
leaves() {
    local wanted=$1
    shift
    is "$*" "$wanted" "$(names "$@")"
}

mkdir -p t/a/b/a t/b t/c.d
touch t/1 t/a/1 t/a/b/1 t/a/b/2 t/a/b/a/1 t/b/a t/c.d/x.o t/x.o
all='1 a/1 a/b/1 a/b/2 a/b/a/1 b/a c.d/x.o x.o'

leaves "$all" --exclude=nosuch
leaves '1 a/1 a/b/1 a/b/2 a/b/a/1 b/a' '--exclude=*.o'
leaves '1 c.d/x.o x.o' --exclude=a --exclude=b
leaves '1 b/a c.d/x.o x.o' --exclude=a/
leaves '1 b/a c.d/x.o x.o' --exclude=/a
leaves '1 a/1 b/a c.d/x.o x.o' --exclude=a/b
leaves "$all" --exclude=b/a/1 --exclude=/x --exclude=/b/1
leaves '1 a/1 a/b/1 a/b/2 b/a c.d/x.o x.o' '--exclude=**/b/a/'
leaves '1 a/1 b/a c.d/x.o x.o' '--exclude=a/*/**'
leaves 'a/b/2 b/a c.d/x.o x.o' '--exclude=**/1'
leaves 'a/b/2 b/a c.d/x.o x.o' '--exclude=[!ab2-9x]'  '--exclude=!c.d'
leaves '1 a/1 a/b/1 a/b/2 a/b/a/1 b/a c.d/x.o' '--exclude=/x.[[:lower:]]'
leaves '1 a/1 b/a c.d/x.o x.o' '--exclude=a**/b'
leaves '1 a/1 a/b/1 a/b/2 b/a c.d/x.o x.o' '--exclude=a/**/a'
leaves '' '--exclude=**'
leaves '' '--exclude=*'

# The last that fits counts, whatever option it is from; a folder left out is not looked into.
printf '# all\r\n\n*  \n!/a/\n!/a/1\n' >../patterns
leaves 'a/1' --exclude-from=../patterns
leaves 'a/1 x.o' --exclude-from=../patterns '--exclude=!*.o'
leaves 'a/1' '--exclude=!*.o' --exclude-from=../patterns
leaves '1 b/a c.d/x.o x.o' --exclude=/a '--exclude=!/a/1'
printf '\357\273\277*.o\nb' >../patterns
leaves '1 a/1' --exclude-from=../patterns
leaves '1 a/1' -L --exclude-from ../patterns
printf '' >../patterns
leaves "$all" --exclude-from=../patterns

# Excluded files are not opened, and get no message; a PATH is never excluded.
mkfifo t/b/fifo
mkdir t/closed
chmod 0 t/closed
ln -s ../a t/b/link
leaves '1 a/1 a/b/1 a/b/2 a/b/a/1 b/a c.d/x.o x.o' --exclude=fifo --exclude=closed
leaves '1 a/1 a/b/1 a/b/2 a/b/a/1 b/a c.d/x.o x.o' -L --exclude=fifo --exclude=closed \
    --exclude=link/
rm -r t/b/fifo t/b/link
chmod 700 t/closed
rmdir t/closed
is 'a PATH' 't/x.o' "$("$leat" sum '--exclude=*.o' t/x.o | sed 's/.*  //')"
is 'a folder as PATH' 't/a/1 t/a/b/2' \
    "$("$leat" sum --exclude=a --exclude=/b/1 t/a | sed 's/.*  //' | xargs)"

# Checks: names in lists are left out as paths from where they begin; trees as in a walk.
"$leat" sum t >../list
is 'a check' 't/1: OK t/b/a: OK' \
    "$("$leat" sum -c ../list --exclude=/t/a '--exclude=*.o' | xargs)"
sed 's,  t,  ./t/./,' ../list >../dots
is 'a check: other spellings' './t/.//1: OK ./t/.//b/a: OK' \
    "$("$leat" sum -c ../dots --exclude=/t/a '--exclude=*.o' 2>&1 | xargs)"
echo changed >t/x.o
echo new >t/c.d/new.o
echo new >t/a/new
"$leat" sum -c --quiet ../list --strict-tree=t '--exclude=*.o' --exclude=/a >"$out/got" 2>&1
is 'a strict tree' 0 $?
same 'a strict tree' /dev/null "$out/got"
"$leat" sum -c --quiet ../list --strict-tree=t '--exclude=*.o' >"$out/got" 2>&1
is 'a strict tree: one not listed: status' 1 $?
is 'a strict tree: one not listed' 't/a/new: NOT LISTED' "$(head -n 1 "$out/got")"
is 'a check of nothing' 'leat sum: ../list: no file was verified' \
    "$("$leat" sum -c ../list '--exclude=*' 2>&1)"
"$leat" sum -c ../list '--exclude=*' >"$out/got" 2>&1
is 'a check of nothing: status' 1 $?
rm t/c.d/new.o t/a/new

# Patterns that cannot be.
# refuses WHY PATTERN
refuses() {
    "$leat" sum "--exclude=$2" t >"$out/got" 2>&1
    is "'$2': status" 1 $?
    is "'$2'" "leat sum: invalid argument '$2' for '--exclude': it $1" "$(head -n 1 "$out/got")"
    printf '# one\nx\n%s\nx\n' "$2" >../patterns
    [ -z "$2" ] && return
    "$leat" sum --exclude-from=../patterns t >"$out/got" 2>&1
    is "'$2' in a file: status" 1 $?
    is "'$2' in a file" "leat sum: ../patterns:3: the pattern $1" "$(head -n 1 "$out/got")"
}
for pattern in '' / '!' '!/'; do
    refuses 'is empty' "$pattern"
done
for pattern in a//b // a//; do
    refuses 'has an empty name' "$pattern"
done
for pattern in ./a a/.. '!a/./b'; do
    refuses 'has a name that is . or ..' "$pattern"
done
for pattern in 'a[' 'a[]' '[!]' '[a' '[[:alpha:]' '[a/b' '[a\]'; do
    refuses 'has a [ without a ]' "$pattern"
done
for pattern in '[z-a]' 'x/[b9-0]' '[a-\A]'; do
    refuses 'has a range that ends before it begins' "$pattern"
done
refuses 'has a class of characters that is not known' '[[:letter:]]'
for pattern in 'a\' 'a\/'; do
    refuses 'ends in a backslash' "$pattern"
done
is 'a file that is not there' 'leat sum: nosuch: No such file or directory' \
    "$("$leat" sum --exclude-from=nosuch t 2>&1)"
is 'a file that is a folder' 'leat sum: t: Is a directory' \
    "$("$leat" sum --exclude-from=t t 2>&1)"
is 'a line that never ends' 'leat sum: /dev/zero:1: the pattern has more than 64 KiB' \
    "$("$leat" sum --exclude-from=/dev/zero t 2>&1 | head -n 1)"
printf 'a\n\0\n' >../patterns
is 'a NUL' 'leat sum: ../patterns:2: the pattern has a NUL byte' \
    "$("$leat" sum --exclude-from=../patterns t 2>&1 | head -n 1)"

# Many gaps cost no more than their number times that of the folders.
deep=t/$(printf 'a/%.0s' {1..200})
mkdir -p "$deep"
touch "$deep/x"
"$leat" sum "--exclude=$(printf '**/a/%.0s' {1..60})y" t >"$out/got"
is 'many gaps' 0 $?
rm -r t

for tool in git perl; do
    command -v $tool >/dev/null && continue
    [ "$failures" -eq 0 ] || finish
    skip "$tool is missing; what needs no git has passed"
done

# The same files as git's, for a table of patterns and for random ones.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME=$work XDG_CONFIG_HOME=$work
git init -q --bare ../repository || fail 'no repository'
cat >../random.pl <<'END'
use strict;
use warnings;
my ($leat, $seed, $rounds) = @ARGV;
srand $seed;
my @names = ("a", "b", "ab", "a.o", "#a", "!b", "a b", "a ", "[a]", "*", "\\a", "-", "]", ".a",
    "\xc3\xa9");
sub pick { $_[rand @_] }
sub tree {
    my ($path, $depth) = @_;
    for my $name (@names) {
        if ($depth > 0 && rand() < 0.3) {
            mkdir "$path$name" or die;
            tree("$path$name/", $depth - 1);
        } elsif (rand() < 0.7) {
            open(my $file, ">", "$path$name") or die;
        }
    }
}
sub set {
    return pick("[[:alpha:]]", "[![:punct:]x]", "[]a]", "[!]a]", "[^b]", "[--a]", "[\\]-a]",
        "[[=a=]]", "[[.a.]b]", "[[:a]", "[a-]", "[a-c-e]", "[\\a-\\c]", "[[:digit:]-a]", "[ab[]",
        "[!-+]", "[ -~]", "[\x80-\xff]", "[a/b]");
}
sub name {
    my $name = join "", map { pick("*", "?", "a", "b", ".o", "\\a", "\\*", "\\ ", "**", set(), "o",
        "\xc3", "]", "-") } 1 .. 1 + rand 3;
    return pick(0, 1) ? $name : pick("*", "**", "***", "a", "ab", "b", "a.o", "\\#a", "\\!b", "a b",
        "a\\ ", "!b", "\xc3?");
}
sub pattern {
    my $names = join "/", map { name() } 1 .. pick(1, 1, 2, 3, 4);
    $names =~ s/^[#!]/\\$&/;
    # Against its manual, git 2.39 takes the ** of a**/b for that of a/**/b.
    $names =~ s/\*+/*/g if $names =~ m{[^/*]\*\*};
    return pick("", "", "", "!") . pick("", "", "/") . $names . pick("", "", "", "/") .
        pick("", "", " ", "\r");
}
my @tables = (["*.o", "!a.o"], ["/*", "!/a", "/a/*", "!/a/b"], ["a/**"], ["**/a/**/b"], ["**"],
    ["/**"], ["**/"], ["a/**/"], ["a**b"], ["**a/b"], ["***/a"], ["a/***"], ["#a"],
    ["\\#a", "\\!b"], ["!b"], ["a\\ "], ["a "], ["*/a/*"], ["a\\/b"], ["\\[a\\]"], ["[[]a]"],
    ["*", "!*/", "!*.o"], ["a/", "!a"], ["/a/", "!a/b"], ["?"], ["[a-b]?"], ["a[/b]c"], [".*"]);
mkdir "t" or die;
tree("t/", 3);
sub slurp { open(my $from, "-|", @_) or die; local $/ = "\0"; my @all = <$from>; chomp @all; @all }
my @files = map { substr $_, 2 } slurp("find", "t", "-type", "f", "-printf", "t/%P\\0");
open(my $list, ">", "../files") or die;
print $list map { "$_\0" } @files;
close $list;
my $wrong = 0;
for my $round (1 .. $rounds + @tables) {
    my $table = $tables[$round - 1] || [map { pattern() } 1 .. 1 + rand 5];
    open(my $to, ">", "../repository/info/exclude") or die;
    print $to map { "$_\n" } @$table;
    close $to;
    my %ignored = map { $_ => 1 } slurp("cd t && git --git-dir=../../repository --work-tree=. " .
        "check-ignore --no-index -z --stdin <../../files");
    my @wanted = sort grep { !$ignored{$_} } @files;
    my @got = sort map { substr $_, 20 } slurp($leat, "sum", "-z", "-a", "xxh64", "--no-progress",
        "--exclude-from=../repository/info/exclude", "t");
    next if "@wanted" eq "@got" && $? == 0;
    print "FAILED: seed $seed: status $?: ", join(" | ", @$table), "\n";
    my %there = map { $_ => 1 } @got;
    my %right = map { $_ => 1 } @wanted;
    print "  too many: $_\n" for (grep { !$right{$_} } @got)[0 .. 2];
    print "  missing: $_\n" for (grep { !$there{$_} } @wanted)[0 .. 2];
    $wrong = 1;
}
exit $wrong;
END
rounds=150
[ -n "${LEAT_LONG-}" ] || rounds=40
perl ../random.pl "$leat" "${LEAT_SEED:-1}" "${LEAT_ROUNDS:-$rounds}" || fail 'not as git'

finish
