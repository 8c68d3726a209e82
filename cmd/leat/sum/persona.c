#include "persona.h"

#include <string.h>

const struct persona persona_own = { "sum", "leat sum", "md5", false, PERSONA_OWN };

static const struct persona classics[] = {
    { "md5sum", NULL, "md5", true, PERSONA_COREUTILS },
    { "sha1sum", NULL, "sha1", true, PERSONA_COREUTILS },
    { "sha224sum", NULL, "sha224", true, PERSONA_COREUTILS },
    { "sha256sum", NULL, "sha256", true, PERSONA_COREUTILS },
    { "sha384sum", NULL, "sha384", true, PERSONA_COREUTILS },
    { "sha512sum", NULL, "sha512", true, PERSONA_COREUTILS },
    { "b2sum", NULL, "blake2b", true, PERSONA_COREUTILS },
    { "xxh128sum", NULL, "xxh128", true, PERSONA_XXHSUM },
    { "sha3sum", NULL, "sha3-224", true, PERSONA_SHA3SUM },
    { "b3sum", NULL, "blake3", true, PERSONA_B3SUM },
};

/* In the order in which coreutils' programs list the options that an abbreviation could mean. */
#define CHECK_OPTIONS \
    { "check", no_argument, NULL, 'c' }, \
        { "ignore-missing", no_argument, NULL, OPT_IGNORE_MISSING }, \
        { "quiet", no_argument, NULL, OPT_QUIET }, { "status", no_argument, NULL, OPT_STATUS }, \
        { "warn", no_argument, NULL, 'w' }, { "strict", no_argument, NULL, OPT_STRICT }, \
    { \
        "tag", no_argument, NULL, OPT_TAG \
    }
#define FORM_OPTIONS \
    { "binary", no_argument, NULL, 'b' }, \
    { \
        "text", no_argument, NULL, 't' \
    }
#define LAST_OPTIONS \
    { "help", no_argument, NULL, OPT_HELP }, { "version", no_argument, NULL, OPT_VERSION }, \
    { \
        NULL, 0, NULL, 0 \
    }
#define ZERO_OPTION \
    { \
        "zero", no_argument, NULL, 'z' \
    }

static const struct option coreutils_options[] = { CHECK_OPTIONS, ZERO_OPTION, FORM_OPTIONS,
                                                   LAST_OPTIONS };

static const struct option b2sum_options[] = {
    { "length", required_argument, NULL, 'l' },
    CHECK_OPTIONS,
    ZERO_OPTION,
    FORM_OPTIONS,
    LAST_OPTIONS,
};

static const struct option xxhsum_options[] = { CHECK_OPTIONS, LAST_OPTIONS };

static const struct option b3sum_options[] = { CHECK_OPTIONS, LAST_OPTIONS };

static const struct option sha3sum_options[] = {
    CHECK_OPTIONS,
    FORM_OPTIONS,
    { "algorithm", required_argument, NULL, 'a' },
    LAST_OPTIONS,
};

static const struct option own_options[] = {
    CHECK_OPTIONS,
    ZERO_OPTION,
    FORM_OPTIONS,
    { "length", required_argument, NULL, 'l' },
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
    LAST_OPTIONS,
};

const struct persona *persona_find(const char *name)
{
    for (size_t i = 0; i < sizeof classics / sizeof *classics; i++)
        if (strcmp(classics[i].name, name) == 0)
            return &classics[i];
    return NULL;
}

bool persona_is_b2sum(const struct persona *p)
{
    return strcmp(p->name, "b2sum") == 0;
}

const char *persona_letters(const struct persona *p)
{
    switch (p->kind) {
    case PERSONA_COREUTILS: return persona_is_b2sum(p) ? "bcl:twz" : "bctwz";
    case PERSONA_XXHSUM: return "cH:hqVw";
    case PERSONA_SHA3SUM: return "a:bchqstvw";
    case PERSONA_B3SUM: return "chVw";
    case PERSONA_OWN: break;
    }
    return "a:bcj:Ll:twz";
}

const struct option *persona_options(const struct persona *p)
{
    switch (p->kind) {
    case PERSONA_COREUTILS: return persona_is_b2sum(p) ? b2sum_options : coreutils_options;
    case PERSONA_XXHSUM: return xxhsum_options;
    case PERSONA_SHA3SUM: return sha3sum_options;
    case PERSONA_B3SUM: return b3sum_options;
    case PERSONA_OWN: break;
    }
    return own_options;
}
