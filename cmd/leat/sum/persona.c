#include "persona.h"

#include <string.h>

const struct persona persona_own = { "sum", "leat sum", "md5", false, PERSONA_OWN, "a:bcj:Ll:twz" };

static const struct persona classics[] = {
    { "md5sum", NULL, "md5", true, PERSONA_COREUTILS, "bctwz" },
    { "sha1sum", NULL, "sha1", true, PERSONA_COREUTILS, "bctwz" },
    { "sha224sum", NULL, "sha224", true, PERSONA_COREUTILS, "bctwz" },
    { "sha256sum", NULL, "sha256", true, PERSONA_COREUTILS, "bctwz" },
    { "sha384sum", NULL, "sha384", true, PERSONA_COREUTILS, "bctwz" },
    { "sha512sum", NULL, "sha512", true, PERSONA_COREUTILS, "bctwz" },
    { "b2sum", NULL, "blake2b", true, PERSONA_COREUTILS, "bcl:twz" },
    { "xxh128sum", NULL, "xxh128", true, PERSONA_XXHSUM, "cH:hqVw" },
    { "sha3sum", NULL, "sha3-224", true, PERSONA_SHA3SUM, "a:bchqstvw" },
    { "b3sum", NULL, "blake3", true, PERSONA_B3SUM, "chVw" },
};

/* In the order in which coreutils' programs list the options that an abbreviation could mean. */
static const struct option options[] = {
    { "length", required_argument, NULL, 'l' },
    { "check", no_argument, NULL, 'c' },
    { "ignore-missing", no_argument, NULL, OPT_IGNORE_MISSING },
    { "quiet", no_argument, NULL, OPT_QUIET },
    { "status", no_argument, NULL, OPT_STATUS },
    { "warn", no_argument, NULL, 'w' },
    { "strict", no_argument, NULL, OPT_STRICT },
    { "tag", no_argument, NULL, OPT_TAG },
    { "zero", no_argument, NULL, 'z' },
    { "binary", no_argument, NULL, 'b' },
    { "text", no_argument, NULL, 't' },
    { "algorithm", required_argument, NULL, 'a' },
    { "jobs", required_argument, NULL, 'j' },
    { "files0-from", required_argument, NULL, OPT_FILES0_FROM },
    { "json", no_argument, NULL, OPT_JSON },
    { "cache", required_argument, NULL, OPT_CACHE },
    { "paranoid", no_argument, NULL, OPT_PARANOID },
    { "strict-tree", required_argument, NULL, OPT_STRICT_TREE },
    { "find-moved", required_argument, NULL, OPT_FIND_MOVED },
    { "duplicates", no_argument, NULL, OPT_DUPLICATES },
    { "tree", no_argument, NULL, OPT_TREE },
    { "update", required_argument, NULL, OPT_UPDATE },
    { "accept", required_argument, NULL, OPT_ACCEPT },
    { "exclude", required_argument, NULL, OPT_EXCLUDE },
    { "exclude-from", required_argument, NULL, OPT_EXCLUDE_FROM },
    { "readers", required_argument, NULL, OPT_READERS },
    { "dereference", no_argument, NULL, 'L' },
    { "fail-fast", no_argument, NULL, OPT_FAIL_FAST },
    { "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
    { "help", no_argument, NULL, OPT_HELP },
    { "version", no_argument, NULL, OPT_VERSION },
};
enum { OPTIONS = sizeof options / sizeof *options };

const struct persona *persona_find(const char *name)
{
    for (size_t i = 0; i < sizeof classics / sizeof *classics; i++)
        if (strcmp(classics[i].name, name) == 0)
            return &classics[i];
    return NULL;
}

const struct option *persona_options(const struct persona *p)
{
    static struct option its[OPTIONS + 1];
    size_t n = 0;
    for (size_t i = 0; i < OPTIONS; i++) {
        int val = options[i].val;
        if (val < OPT_TAG ? strchr(p->letters, val) != NULL : !p->classic || val < OPT_OWN)
            its[n++] = options[i];
    }
    its[n] = (struct option){ 0 };
    return its;
}
