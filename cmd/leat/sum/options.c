#define _GNU_SOURCE
#include "options.h"

#include "shared/number.h"
#include "shared/usage.h"

#include <errno.h>
#include <leat/runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1024 }; /* of --jobs and --readers */

#define usage(p, ...) usage_refuse((p)->program, EXIT_FAILURE, __VA_ARGS__)

#define usage_of(p, ...) usage_argument((p)->program, EXIT_FAILURE, __VA_ARGS__)

static const char *algorithm_name(const void *none, size_t i)
{
    (void)none;
    return algorithm_at(i)->name;
}

static int bad_algorithm(const struct options *o, const char *name)
{
    size_t count = 0;
    while (algorithm_at(count))
        count++;
    return usage_name(o->persona->program, EXIT_FAILURE, "--algorithm", name, algorithm_name, NULL,
                      count);
}

/* A name for sha3sum's --algorithm or xxhsum's -H. */
struct spelling {
    const char *given, *name;
};
static const struct spelling sha3_bits[] = { { "224", "sha3-224" },
                                             { "256", "sha3-256" },
                                             { "384", "sha3-384" },
                                             { "512", "sha3-512" },
                                             { 0 } };
static const struct spelling xxhash_numbers[] = { { "2", "xxh128" }, { "128", "xxh128" },
                                                  { "1", "xxh64" },  { "64", "xxh64" },
                                                  { "3", "xxh3" },   { 0 } };

/* False: `given` is not among the known names. */
static bool choose(struct options *o, const struct spelling *known, const char *given)
{
    while (known->given && strcmp(given, known->given) != 0)
        known++;
    o->selection.count = 0;
    if (known->given)
        selection_add(&o->selection, algorithm_find(known->name));
    return known->given;
}

/* Reads names with commas between them; overwrites the commas. */
static int read_algorithms(struct options *o, char *names)
{
    if (o->persona->kind == PERSONA_SHA3SUM)
        return choose(o, sha3_bits, names)
                   ? 0
                   : usage_of(o->persona, "--algorithm", names, "224, 256, 384 or 512");
    o->selection.count = 0;
    for (char *rest = names; rest;) {
        const char *name = strsep(&rest, ",");
        const struct algorithm *a = algorithm_find(name);
        if (!a)
            return bad_algorithm(o, name);
        if (selection_has(&o->selection, a))
            return usage(o->persona, "'%s' is given twice in the argument of '--algorithm'", name);
        selection_add(&o->selection, a);
    }
    return 0;
}

/* Without --algorithm each line of a list names its digest. */
static void add_all(struct options *o)
{
    o->any_digest = true;
    for (size_t i = 0; algorithm_at(i); i++)
        selection_add(&o->selection, algorithm_at(i));
}

/* Adds the digests that the lines of a checked list may have. */
static void add_checked(struct options *o, bool algorithms_given)
{
    if (!o->persona->classic && !algorithms_given)
        add_all(o);
    if (o->persona->kind != PERSONA_XXHSUM && o->persona->kind != PERSONA_SHA3SUM)
        return;
    o->selection.count = 0;
    const struct spelling *known = o->persona->kind == PERSONA_XXHSUM ? xxhash_numbers : sha3_bits;
    for (; known->given; known++)
        selection_add(&o->selection, algorithm_find(known->name));
}

static int read_count(const struct persona *p, const char *option, const char *number, unsigned *to)
{
    uint64_t n;
    const char *rest;
    if (!number_begin(number, &n, &rest) || *rest || n == 0)
        return usage_of(p, option, number, "a number above 0");
    *to = n > COUNT_MAX ? COUNT_MAX : (unsigned)n;
    return 0;
}

static int bad_length(const struct options *o, const char *number)
{
    fprintf(stderr, "%s: invalid length: '%s'\n", o->persona->program, number);
    return EXIT_FAILURE;
}

static int read_length(struct options *o, const char *number)
{
    uint64_t bits;
    const char *rest, *digits = number;
    if (o->persona->classic) { /* b2sum takes these */
        digits += strspn(digits, " \t\n\v\f\r");
        digits += *digits == '+';
    }
    if (!number_begin(digits, &bits, &rest) || *rest)
        return bad_length(o, number);
    if (bits == UINT64_MAX) {
        fprintf(stderr, "%s: invalid length: '%s': %s\n", o->persona->program, number,
                strerror(EOVERFLOW));
        return EXIT_FAILURE;
    }
    if (bits % 8 != 0) {
        bad_length(o, number);
        fprintf(stderr, "%s: length is not a multiple of 8\n", o->persona->program);
        return EXIT_FAILURE;
    }
    o->size = bits / 8;
    return 0;
}

/* `length`: the argument of --length, or NULL. A length of 0 means the full length. */
static int fit_length(struct options *o, const char *length)
{
    const struct algorithm *a = algorithm_find("blake2b");
    if (length && !selection_has(&o->selection, a))
        return usage(o->persona, "--length is only supported with --algorithm=blake2b");
    if (o->size > a->size) {
        bad_length(o, length);
        fprintf(stderr, "%s: maximum digest length for '%s' is %zu bits\n", o->persona->program,
                a->tag, 8 * a->size);
        return EXIT_FAILURE;
    }
    if (o->size == 0)
        o->size = a->size;
    return 0;
}

/* Reads names with commas between them; overwrites the commas. */
static int read_accept(struct options *o, char *names)
{
    for (char *rest = names; rest;) {
        const char *name = strsep(&rest, ",");
        if (strcmp(name, "changed") == 0)
            o->accept_changed = true;
        else if (strcmp(name, "missing") == 0)
            o->accept_missing = true;
        else
            return usage_of(o->persona, "--accept", name, "changed, missing or both");
    }
    return 0;
}

/* Refuses options that contradict --update. 0, or the exit status. */
static int reconcile_update(const struct options *o, bool check_given, bool form_given,
                            int path_count)
{
    const struct persona *p = o->persona;
    if (!*o->update || strcmp(o->update, "-") == 0)
        return usage_of(p, "--update", o->update, "a list in a file");
    const char *other = check_given         ? "check"
                        : o->trees          ? "strict-tree"
                        : o->moved          ? "find-moved"
                        : o->duplicates     ? "duplicates"
                        : o->tree           ? "tree"
                        : o->ignore_missing ? "ignore-missing"
                                            : NULL;
    if (other)
        return usage(p, "--update cannot be combined with --%s", other);
    if (form_given || o->zero)
        return usage(p, "new lines look like those of the list that --update names: --binary, "
                        "--text, --tag and --zero have no meaning");
    if (o->files0_from)
        return path_count > 0 ? usage(p, "paths cannot be combined with --files0-from") : 0;
    if (path_count == 0)
        return usage(p, "--update needs a path: where to look for new files");
    return 0;
}

/* Refuses options that contradict each other. 0, or the exit status. */
static int reconcile(const struct options *o, bool text, bool form_given, int path_count)
{
    const struct persona *p = o->persona;
    if (o->tag && text)
        return usage(p, "--tag does not support --text mode");
    if (o->files0_from && path_count > 0)
        return usage(p, "paths cannot be combined with --files0-from");
    if (o->json && (o->zero || form_given))
        return usage(p, "--json cannot be combined with --binary, --text, --tag or --zero");
    if (o->accept_changed || o->accept_missing)
        return usage(p, "the --accept option is meaningful only with --update");
    if (o->check) {
        if (o->tree)
            return usage(p, "the --tree option is meaningless when verifying checksums: "
                            "a line whose name ends in / is one of a folder");
        if (o->files0_from)
            return usage(p, "the --files0-from option is not supported when verifying checksums");
        if (o->zero)
            return usage(p, "the --zero option is not supported when verifying checksums");
        if (o->tag)
            return usage(p, "the --tag option is meaningless when verifying checksums");
        if (form_given)
            return usage(
                p, "the --binary and --text options are meaningless when verifying checksums");
        return 0;
    }
    const char *lost = o->ignore_missing ? "ignore-missing"
                       : o->status       ? "status"
                       : o->warn         ? "warn"
                       : o->quiet        ? "quiet"
                       : o->strict       ? "strict"
                       : o->trees        ? "strict-tree"
                       : o->moved        ? "find-moved"
                       : o->duplicates   ? "duplicates"
                                         : NULL;
    if (lost)
        return usage(p, "the --%s option is meaningful only when verifying checksums", lost);
    return 0;
}

static int no_memory(const struct options *o)
{
    fprintf(stderr, "%s: memory exhausted\n", o->persona->program);
    return EXIT_FAILURE;
}

static int add_exclude(struct options *o, const char *pattern)
{
    const char *why;
    int err = exclude_add(&o->exclude, pattern, &why);
    if (err == -ENOMEM)
        return no_memory(o);
    return err ? usage(o->persona, "invalid argument '%s' for '--exclude': it %s", pattern, why)
               : 0;
}

static int read_excludes(struct options *o, const char *path)
{
    const char *remark = NULL;
    size_t line = 0;
    int err = exclude_read(&o->exclude, path, &line, &remark);
    if (err == -ENOMEM)
        return no_memory(o);
    if (err && line > 0)
        return usage(o->persona, "%s:%zu: the pattern %s", path, line, remark);
    if (err) {
        fprintf(stderr, "%s: %s: %s\n", o->persona->program, path, strerror(-err));
        return EXIT_FAILURE;
    }
    return 0;
}

/* There are fewer folders than arguments. */
static int add_folder(struct options *o, char ***all, int *count, int argc, char *path)
{
    if (!*all)
        *all = calloc((size_t)argc, sizeof **all);
    if (!*all)
        return no_memory(o);
    (*all)[(*count)++] = path;
    return 0;
}

void options_free(struct options *o)
{
    free(o->trees);
    free(o->moved);
    exclude_free(&o->exclude);
}

int options_read(struct options *o, const struct persona *persona, int argc, char **argv)
{
    bool classic = persona->classic;
    *o = (struct options){ .persona = persona, .progress = !classic };
    const struct algorithm *usual = algorithm_find(persona->algorithm);
    selection_add(&o->selection, usual);
    const struct option *names = persona_options(persona);
    const char *length = NULL;
    bool text = false, form_given = false, algorithms_given = false;
    int option, wrong = 0;
    optind = 0; /* makes getopt start again */
    while (!wrong && (option = getopt_long(argc, argv, persona->letters, names, NULL)) != -1) {
        switch (option) {
        case 'a':
            algorithms_given = true;
            wrong = read_algorithms(o, optarg);
            break;
        case 'H':
            if (!choose(o, xxhash_numbers, optarg))
                wrong = usage_of(persona, "-H", optarg, "1, 2, 3, 64 or 128");
            break;
        case 'b':
        case 't':
            form_given = true;
            text = option == 't';
            o->binary = !text;
            break;
        case OPT_TAG:
            o->tag = o->binary = form_given = true;
            text = false;
            break;
        case 'c': o->check = true; break;
        case 'j': wrong = read_count(persona, "--jobs", optarg, &o->jobs); break;
        case OPT_FILES0_FROM: o->files0_from = optarg; break;
        case OPT_JSON: o->json = true; break;
        case OPT_READERS: wrong = read_count(persona, "--readers", optarg, &o->readers); break;
        case 'l':
            length = optarg;
            wrong = read_length(o, length);
            break;
        case 'L': o->follow = true; break;
        case 'z': o->zero = true; break;
        /* The last of these three counts. */
        case 'w':
        case 'q':
        case OPT_QUIET:
        case 's':
        case OPT_STATUS:
            o->warn = option == 'w';
            o->quiet = option == 'q' || option == OPT_QUIET;
            o->status = option == 's' || option == OPT_STATUS;
            break;
        case OPT_IGNORE_MISSING: o->ignore_missing = true; break;
        case OPT_STRICT: o->strict = true; break;
        case OPT_CACHE:
            o->cache = optarg;
            if (!*optarg)
                wrong = usage_of(persona, "--cache", optarg, "a file");
            break;
        case OPT_PARANOID: o->paranoid = true; break;
        case OPT_STRICT_TREE: wrong = add_folder(o, &o->trees, &o->tree_count, argc, optarg); break;
        case OPT_FIND_MOVED: wrong = add_folder(o, &o->moved, &o->moved_count, argc, optarg); break;
        case OPT_TREE: o->tree = true; break;
        case OPT_DUPLICATES: o->duplicates = true; break;
        case OPT_UPDATE: o->update = optarg; break;
        case OPT_ACCEPT: wrong = read_accept(o, optarg); break;
        case OPT_EXCLUDE: wrong = add_exclude(o, optarg); break;
        case OPT_EXCLUDE_FROM: wrong = read_excludes(o, optarg); break;
        case OPT_FAIL_FAST: o->fail_fast = true; break;
        case OPT_NO_PROGRESS: o->progress = false; break;
        case 'h':
        case OPT_HELP: help_print(persona, usual); return EXIT_SUCCESS;
        case 'V':
        case 'v':
        case OPT_VERSION:
            if (classic)
                printf("%s (leat) %s\n", persona->name, leat_version());
            else
                printf("leat %s\n", leat_version());
            return EXIT_SUCCESS;
        default: return usage_help(persona->program, EXIT_FAILURE);
        }
    }
    if (!wrong)
        wrong = fit_length(o, length);
    if (!wrong && o->paranoid && !o->cache)
        wrong = usage(persona, "the --paranoid option is meaningful only with --cache");
    /* With several digests each line must name its own. */
    o->first_digests = selection_all(&o->selection);
    bool check_given = o->check;
    o->check = o->check || o->update;
    bool must_tag = o->selection.count > 1 || o->selection.at[0]->always_tagged;
    if (must_tag && !o->check && !o->json)
        o->tag = o->binary = true;
    if (o->check)
        add_checked(o, algorithms_given);
    if (!wrong && o->update)
        wrong = reconcile_update(o, check_given, form_given, argc - optind);
    else if (!wrong)
        wrong = reconcile(o, text, form_given, argc - optind);
    if (wrong)
        return wrong;
    if (!o->jobs)
        o->jobs = leat_cores();
    o->paths = argv + optind;
    o->path_count = argc - optind;
    return -1;
}
