/* help.c: what --help prints. */
#include "options.h"

#include <stdio.h>

static const char own_help[] =
    "Usage: leat sum [OPTION]... [PATH]...\n"
    "Print or check digests of files, on all cores, in order.\n"
    "A PATH is a file, a folder (all regular files in and below it), or - for\n"
    "standard input, which is also read if there is no PATH.\n"
    "\n"
    "  -a, --algorithm=NAME,...  the digests, by default md5: md5, sha1, sha224, sha256,\n"
    "                        sha384, sha512, sha512-256, sha3-224, sha3-256, sha3-384,\n"
    "                        sha3-512, blake2b, blake3, xxh64, xxh3, xxh128, crc32c\n"
    "  -l, --length=BITS     of the digest, for blake2b: 8 to 512, in steps of 8\n"
    "  -c, --check           read digests from the PATHs and check the files they name\n"
    "  -j, --jobs=N          digest on N cores; by default, on all\n"
    "      --files0-from=F   digest the files that F names, each name ending in NUL; - is\n"
    "                        standard input\n"
    "      --readers=N       read N files of a disk at a time; by default, one of a\n"
    "                        rotational disk, any number of other disks\n"
    "  -L, --dereference     follow symbolic links in folders\n"
    "      --exclude=PATTERN  leave out files in folders, or when checking names in lists, that\n"
    "                        PATTERN fits, as in .gitignore; of several, the last that fits\n"
    "                        counts\n"
    "      --exclude-from=F  leave out by the patterns in F, one a line, as in .gitignore\n"
    "      --tree            print one digest for each folder: the digest of the lines that\n"
    "                        leat sum . prints in it\n"
    "      --update=LIST     check the files that LIST names, and add the other files in the\n"
    "                        PATHs to it\n"
    "      --accept=WHAT,... with --update: changed: put changed digests into the list;\n"
    "                        missing: take missing files out of it\n"
    "      --cache=F         keep digests in F, and do not read files that have not changed\n"
    "                        since their digests were put there\n"
    "      --paranoid        with --cache, read all files, and report digests that differ\n"
    "      --fail-fast       stop at the first error\n"
    "      --no-progress     show no progress on a terminal\n"
    "      --json            print lines of JSON\n"
    "\n"
    "How lines look, as with md5sum:\n"
    "  -b, --binary          a * before the name\n"
    "  -t, --text            a space before the name (default)\n"
    "      --tag             MD5 (name) = digest\n"
    "  -z, --zero            lines end in NUL, and names are not escaped\n"
    "\n"
    "When checking, as with md5sum:\n"
    "      --ignore-missing  do not report files that do not exist\n"
    "      --quiet           do not print OK for files that match\n"
    "      --status          print nothing; only the exit status tells the result\n"
    "      --strict          fail if a line is improperly formatted\n"
    "  -w, --warn            report each improperly formatted line\n"
    "      --strict-tree=DIR  also report files in DIR that no list names, and fail if there\n"
    "                        are any; may be given several times\n"
    "      --find-moved=DIR  look in DIR for files that are missing, and print where they are\n"
    "      --duplicates      print which of the matching files have the same digest\n"
    "\n"
    "      --help            print this and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "Paths are printed in the order given, paths in a folder in the order of their bytes.\n"
    "The exit status is 0 if all went well, 1 if not, or that of a signal that ended leat.\n";

static const char classic_head[] =
    "With no FILE, or when FILE is -, standard input is read. Files are digested on\n"
    "all cores, and their lines are printed in the order given.\n"
    "\n";

#define BINARY "  -b, --binary          a * before the name\n"
#define CHECK "  -c, --check           read digests from the FILEs and check the files they name\n"
#define TAG(tag) "      --tag             lines that name the digest: " tag " (name) = digest\n"
#define TEXT "  -t, --text            a space before the name (default)\n"
#define CHECKING(quiet, status) \
    "\n" \
    "When checking:\n" \
    "      --ignore-missing  do not report files that do not exist\n" \
    "  " quiet " --quiet           do not print OK for files that match\n" \
    "  " status " --status          print nothing; only the exit status tells the result\n" \
    "      --strict          fail if a line is improperly formatted\n" \
    "  -w, --warn            report each improperly formatted line\n"
#define LAST(help, version) \
    "\n" \
    "  " help " --help            print this and exit\n" \
    "  " version " --version         print the version and exit\n"

static const char coreutils_help[] = BINARY CHECK TAG("MD5") TEXT
    "  -z, --zero            lines end in NUL, and names are not escaped\n" CHECKING("   ", "   ")
        LAST("   ", "   ");

static const char xxhsum_help[] =
    "  -H1, -H2, -H3         XXH64, XXH128 (default), XXH3\n" CHECK TAG("XXH128")
        CHECKING("-q,", "   ") LAST("-h,", "-V,");

static const char sha3sum_help[] =
    "  -a, --algorithm=BITS  224 (default), 256, 384 or 512\n" BINARY CHECK TAG("SHA3-224")
        TEXT CHECKING("-q,", "-s,") LAST("-h,", "-v,");

static const char b3sum_help[] = CHECK TAG("BLAKE3") CHECKING("   ", "   ") LAST("-h,", "-V,");

static const char classic_tail[] =
    "\n"
    "This is leat sum, which can do more under its own name: see leat sum --help.\n";

static const char *options_of(const struct persona *p)
{
    return p->kind == PERSONA_XXHSUM    ? xxhsum_help
           : p->kind == PERSONA_SHA3SUM ? sha3sum_help
           : p->kind == PERSONA_B3SUM   ? b3sum_help
                                        : coreutils_help;
}

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
    fputs(classic_head, stdout);
    fputs(options_of(p), stdout);
    fputs(classic_tail, stdout);
}
