#include "help.h"

#include <stdio.h>

static const char own_help[] =
    "Usage: leat sum [OPTION]... [PATH]...\n"
    "Print or check digests of files, on all cores, in order.\n"
    "A PATH is a file, a folder (all regular files in and below it), or -, the\n"
    "standard input, which is also read when there is no PATH.\n"
    "\n"
    "  -a, --algorithm=NAME,...  the digests, md5 unless given: md5, sha1, sha224, sha256,\n"
    "                        sha384, sha512, sha512-256, sha3-256, blake2b, xxh64, xxh128\n"
    "  -l, --length=BITS     of the digest, for blake2b: 8 to 512, in steps of 8\n"
    "  -c, --check           read digests from the PATHs and check the files they name\n"
    "  -j, --jobs=N          digest on N cores; by default, on all\n"
    "      --files0-from=F   digest what F names, each name ending in NUL; - is standard input\n"
    "      --readers=N       read N files of a disk at a time; by default, one of a disk that\n"
    "                        turns, of others any number\n"
    "  -L, --dereference     follow symbolic links met in folders\n"
    "      --cache=F         do not read files that did not change since F got their digests,\n"
    "                        and keep new ones there\n"
    "      --paranoid        read them all the same, and tell when one differs\n"
    "      --fail-fast       stop at the first error\n"
    "      --no-progress     show no progress on a terminal\n"
    "      --json            lines of JSON\n"
    "\n"
    "How lines look, as with md5sum:\n"
    "  -b, --binary          a * before the name\n"
    "  -t, --text            a space before the name (this is how it is unless told)\n"
    "      --tag             MD5 (name) = digest\n"
    "  -z, --zero            lines end in NUL, and names are not escaped\n"
    "\n"
    "When checking, as with md5sum:\n"
    "      --ignore-missing  say nothing of files that do not exist\n"
    "      --quiet           print no OK for files that are right\n"
    "      --status          print nothing; the exit status says it all\n"
    "      --strict          exit with failure when a line is improperly formatted\n"
    "  -w, --warn            tell of each improperly formatted line\n"
    "      --strict-tree=DIR  also tell of files in DIR that are not listed, and exit with\n"
    "                        failure when there are any; may be given several times\n"
    "\n"
    "      --help            print this and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "Paths come in the order given, and those within a folder in the order of their bytes.\n"
    "The exit status is 0 when all went well, 1 when not, and that of a signal that ended it.\n";

static const char classic_help[] =
    "With no FILE, or when FILE is -, standard input is read. The files are read on\n"
    "all cores, and their lines come in the order given.\n"
    "\n"
    "  -b, --binary          a * before the name\n"
    "  -c, --check           read digests from the FILEs and check the files they name\n"
    "      --tag             lines of the form that names the digest\n"
    "  -t, --text            a space before the name (this is how it is unless told)\n"
    "  -z, --zero            lines end in NUL, and names are not escaped\n"
    "\n"
    "When checking:\n"
    "      --ignore-missing  say nothing of files that do not exist\n"
    "      --quiet           print no OK for files that are right\n"
    "      --status          print nothing; the exit status says it all\n"
    "      --strict          exit with failure when a line is improperly formatted\n"
    "  -w, --warn            tell of each improperly formatted line\n"
    "\n"
    "      --help            print this and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "This is leat sum, which can do more under its own name: see leat sum --help.\n";

void help_print(const struct persona *p, const struct algorithm *a)
{
    if (!p->classic) {
        fputs(own_help, stdout);
        return;
    }
    printf("Usage: %s [OPTION]... [FILE]...\nPrint or check %s digests (%zu bits).\n", p->program,
           a->tag, 8 * a->size);
    if (a->any_size)
        puts("  -l, --length=BITS     fewer bits, in steps of 8");
    fputs(classic_help, stdout);
}
