# Completion of leat for fish. tests/sum_completions.sh compares it with the options of the command.

set -l digests md5 sha1 sha224 sha256 sha384 sha512 sha512-256 sha3-256 blake2b xxh64 xxh128

complete -c leat -n __fish_use_subcommand -f -a sum -d 'Print or check digests of files'
complete -c leat -n __fish_use_subcommand -l help -d 'Print help and exit'
complete -c leat -n __fish_use_subcommand -l version -d 'Print the version and exit'

function __leat_sum
    complete -c leat -n '__fish_seen_subcommand_from sum' $argv
end

__leat_sum -s a -l algorithm -x -a "(__fish_append , $digests)" -d 'The digests, by default md5'
__leat_sum -s l -l length -x -a '128 160 224 256 384 512' -d 'Bits of a blake2b digest'
__leat_sum -s c -l check -d 'Check the files that lists name'
__leat_sum -s j -l jobs -x -d 'Digest on this many cores'
__leat_sum -l files0-from -r -F -d 'Digest what this file names'
__leat_sum -l readers -x -d 'Read this many files of a device at a time'
__leat_sum -s L -l dereference -d 'Follow symbolic links met in folders'
__leat_sum -l cache -r -F -d 'Keep digests in this file, and do not read unchanged files'
__leat_sum -l paranoid -d 'Read unchanged files, too, and report digests that differ'
__leat_sum -l fail-fast -d 'Stop at the first error'
__leat_sum -l no-progress -d 'Show no progress on a terminal'
__leat_sum -l json -d 'Print lines of JSON'
__leat_sum -s b -l binary -d 'A * before the name'
__leat_sum -s t -l text -d 'A space before the name'
__leat_sum -l tag -d 'Lines that name the digest'
__leat_sum -s z -l zero -d 'Lines end in NUL, and names are not escaped'
__leat_sum -l ignore-missing -d 'Do not report files that do not exist'
__leat_sum -l quiet -d 'Do not print OK for files that match'
__leat_sum -l status -d 'Print nothing'
__leat_sum -l strict -d 'Fail if a line is improperly formatted'
__leat_sum -s w -l warn -d 'Report each improperly formatted line'
__leat_sum -l strict-tree -r -F -d 'Also report files there that no list names'
__leat_sum -l help -d 'Print the options and exit'
__leat_sum -l version -d 'Print the version and exit'

functions -e __leat_sum
