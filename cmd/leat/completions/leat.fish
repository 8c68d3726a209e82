# Completion of leat for fish. tests/completions.sh compares it with the options of the commands.

set -l digests md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-224 sha3-256 sha3-384 sha3-512 blake2b blake3 xxh64 xxh3 xxh128 crc32c

complete -c leat -n __fish_use_subcommand -f -a sum -d 'Print or check digests of files'
complete -c leat -n __fish_use_subcommand -f -a map -d 'Run a command over items'
complete -c leat -n __fish_use_subcommand -f -a look -d 'Show what a running program does'
complete -c leat -n __fish_use_subcommand -f -a worker -d 'Run commands for leat map'
complete -c leat -n __fish_use_subcommand -l help -d 'Print help and exit'
complete -c leat -n __fish_use_subcommand -l version -d 'Print the version and exit'

function __leat_runs -d 'Whether the line begins with leat and this command'
    set -l words (commandline -opc)
    test "$words[2]" = $argv[1]
end

function __leat_option -d 'An option of this command'
    complete -c leat -n "__leat_runs $argv[1]" $argv[2..]
end

__leat_option sum -s a -l algorithm -x -a "(__fish_append , $digests)" -d 'The digests, by default md5'
__leat_option sum -s l -l length -x -a '128 160 224 256 384 512' -d 'Bits of a blake2b digest'
__leat_option sum -s c -l check -d 'Check the files that lists name'
__leat_option sum -s j -l jobs -x -d 'Digest on this many cores'
__leat_option sum -l files0-from -r -F -d 'Digest the files that this file names'
__leat_option sum -l readers -x -d 'Read this many files of a device at a time'
__leat_option sum -s L -l dereference -d 'Follow symbolic links in folders'
__leat_option sum -l exclude -x -d 'Leave out files that this pattern fits'
__leat_option sum -l exclude-from -r -F -d 'Leave out by the patterns in this file'
__leat_option sum -l tree -d 'Print one digest for each folder'
__leat_option sum -l update -r -F -d 'Add new files to this list'
__leat_option sum -l accept -x -a 'changed missing changed,missing' -d 'In an update, also put these into the list'
__leat_option sum -l cache -r -F -d 'Keep digests in this file, and do not read unchanged files'
__leat_option sum -l paranoid -d 'Read unchanged files, too, and report digests that differ'
__leat_option sum -l fail-fast -d 'Stop at the first error'
__leat_option sum -l no-progress -d 'Show no progress on a terminal'
__leat_option sum -l json -d 'Print lines of JSON'
__leat_option sum -s b -l binary -d 'A * before the name'
__leat_option sum -s t -l text -d 'A space before the name'
__leat_option sum -l tag -d 'Lines that name the digest'
__leat_option sum -s z -l zero -d 'Lines end in NUL, and names are not escaped'
__leat_option sum -l ignore-missing -d 'Do not report files that do not exist'
__leat_option sum -l quiet -d 'Do not print OK for files that match'
__leat_option sum -l status -d 'Print nothing'
__leat_option sum -l strict -d 'Fail if a line is improperly formatted'
__leat_option sum -s w -l warn -d 'Report each improperly formatted line'
__leat_option sum -l strict-tree -r -F -d 'Also report files there that no list names'
__leat_option sum -l find-moved -r -F -d 'Look there for files that are missing'
__leat_option sum -l duplicates -d 'Tell which files are the same'
__leat_option sum -l help -d 'Print the options and exit'
__leat_option sum -l version -d 'Print the version and exit'

set -g __leat_map_valued -a --items -C --columns -j --jobs -n --number -o --output --window \
    --spill --halt --retries --backoff --timeout --grace --log --on --dir

function __leat_map_begins -d 'Whether there is no COMMAND yet, only options'
    __leat_runs map; or return
    set -l words (commandline -opc)[3..]
    while set -q words[1]
        if contains -- $words[1] $__leat_map_valued
            set -e words[1]
        else if not string match -q -- '-*' $words[1]
            return 1
        end
        set -q words[1]; and set -e words[1]
    end
    return 0
end

function __leat_map_takes_command -d 'Whether the word is of COMMAND, not the value of an option'
    __leat_runs map; or return
    not __leat_map_begins; or not contains -- (commandline -opc)[-1] $__leat_map_valued
end

function __leat_map
    complete -c leat -n __leat_map_begins $argv
end

complete -c leat -n __leat_map_takes_command -x \
    -a '(__fish_complete_subcommand --fcs-skip=2 -- $__leat_map_valued)'
__leat_map -s j -l jobs -x -d 'Run this many commands at a time'
__leat_map -s a -l items -r -F -d 'Read the items from this file'
__leat_map -s 0 -l null -d 'Items end in a NUL byte'
__leat_map -s C -l columns -x -a 'csv , \\\\t' -d 'Split items at this byte'
__leat_map -s n -l number -x -a max -d 'Give up to this many items to a command'
__leat_map -s s -l script -d 'COMMAND is a script for sh'
__leat_map -l pipe -f -a '1M 16M' -d 'Give blocks of lines to standard input'
__leat_map -s u -l unordered -d 'Print each output when its command ends'
__leat_map -s l -l lines -d 'Print each line as it comes'
__leat_map -l tag -d 'Print the item before each line'
__leat_map -s o -l output -r -F -d 'Write each output to a file'
__leat_map -l window -x -d 'Run at most this many commands ahead'
__leat_map -l spill -x -d 'Keep this much waiting output in a file'
__leat_map -l halt -x -a 'never soon now soon,fail=1 now,fail=1 now,success=1' -d 'End early'
__leat_map -l fail-fast -d 'The same as --halt=now,fail=1'
__leat_map -l retries -x -d 'Try a command that fails again'
__leat_map -l backoff -x -d 'Wait before the first retry'
__leat_map -l timeout -x -d 'End a command after this time'
__leat_map -l grace -x -d 'The time from SIGTERM to SIGKILL'
__leat_map -l log -r -F -d 'Write a line about each command'
__leat_map -l resume -f -a ended -d 'Skip commands that have succeeded by the log'
__leat_map -l on -x -a '(__fish_print_hostnames)' -d 'Run commands on other machines'
__leat_map -l dir -x -a '(__fish_complete_directories)' -d 'Run commands in this folder'
__leat_map -l dry-run -d 'Print the commands'
__leat_map -l no-progress -d 'Show no progress on a terminal'
__leat_map -s v -l verbose -d 'Print each command when it starts'
__leat_map -l help -d 'Print the options and exit'
__leat_map -l version -d 'Print the version and exit'

functions -e __leat_map

__leat_option look -s d -l delay -x -a '0.2 0.5 1 2 5' -d 'The seconds from one look to the next'
__leat_option look -l list -x -a 'parties channels scopes waits stages stacks descriptors batchers counts' -d 'Begin with this list'
__leat_option look -l sort -x -d 'Sort the list by this column'
__leat_option look -s r -l reverse -d 'Sort the other way round'
__leat_option look -l filter -x -d 'Show the lines that have this text'
__leat_option look -l once -d 'Print one look as text'
__leat_option look -l json -d 'Print the document that the program gives'
__leat_option look -l dump -d 'Print a dump'
__leat_option look -l graph -d 'Print what each party waits for, for Graphviz'
__leat_option look -l trace -x -a '1 2 5 10' -d 'Print a trace of the next seconds'
__leat_option look -l token -r -F -d 'Take the token from this file'
__leat_option look -l help -d 'Print the options and exit'
__leat_option look -l version -d 'Print the version and exit'

__leat_option worker -s j -l jobs -x -a '1 2 4 8 16' -d 'Run this many commands at a time'
__leat_option worker -l dir -x -a '(__fish_complete_directories)' -d 'Run commands in this folder'
__leat_option worker -l grace -x -d 'The time that commands have after SIGTERM'
__leat_option worker -l lease -x -d 'How long it may be silent'
__leat_option worker -l help -d 'Print the options and exit'
__leat_option worker -l version -d 'Print the version and exit'

functions -e __leat_option
