#define _GNU_SOURCE
#include "map/plan.h"

#include "shared/finish.h"
#include "shared/number.h"

#include <getopt.h>
#include <leat/leat.h>
#include <stdlib.h>
#include <string.h>

enum { RETRIES_MOST = 1000, WINDOW_LEAST = 1000, WINDOW_MOST = 1 << 20 };

enum {
    OPT_SCRIPT = 's',
    OPT_PIPE = 256,
    OPT_TAG,
    OPT_WINDOW,
    OPT_SPILL,
    OPT_HALT,
    OPT_FAIL_FAST,
    OPT_RETRIES,
    OPT_BACKOFF,
    OPT_TIMEOUT,
    OPT_GRACE,
    OPT_LOG,
    OPT_RESUME,
    OPT_ON,
    OPT_DIR,
    OPT_DRY_RUN,
    OPT_NO_PROGRESS,
    OPT_HELP,
    OPT_VERSION,
};

static const struct option names[] = {
    { "jobs", required_argument, NULL, 'j' },
    { "null", no_argument, NULL, '0' },
    { "items", required_argument, NULL, 'a' },
    { "columns", required_argument, NULL, 'C' },
    { "number", required_argument, NULL, 'n' },
    { "script", no_argument, NULL, OPT_SCRIPT },
    { "pipe", optional_argument, NULL, OPT_PIPE },
    { "unordered", no_argument, NULL, 'u' },
    { "lines", no_argument, NULL, 'l' },
    { "tag", no_argument, NULL, OPT_TAG },
    { "output", required_argument, NULL, 'o' },
    { "window", required_argument, NULL, OPT_WINDOW },
    { "spill", required_argument, NULL, OPT_SPILL },
    { "halt", required_argument, NULL, OPT_HALT },
    { "fail-fast", no_argument, NULL, OPT_FAIL_FAST },
    { "retries", required_argument, NULL, OPT_RETRIES },
    { "backoff", required_argument, NULL, OPT_BACKOFF },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "grace", required_argument, NULL, OPT_GRACE },
    { "log", required_argument, NULL, OPT_LOG },
    { "resume", optional_argument, NULL, OPT_RESUME },
    { "on", required_argument, NULL, OPT_ON },
    { "dir", required_argument, NULL, OPT_DIR },
    { "dry-run", no_argument, NULL, OPT_DRY_RUN },
    { "no-progress", no_argument, NULL, OPT_NO_PROGRESS },
    { "verbose", no_argument, NULL, 'v' },
    { "help", no_argument, NULL, OPT_HELP },
    { "version", no_argument, NULL, OPT_VERSION },
    { NULL, 0, NULL, 0 },
};

/* ---- arguments of options: each returns 0 or the exit status ---- */

#define refuse_argument(option, argument, ...) \
    usage_argument("leat map", EXIT_TROUBLE, option, argument, __VA_ARGS__)

#define read_unsigned(...) usage_number("leat map", EXIT_TROUBLE, __VA_ARGS__)
#define read_duration(option, text, to) \
    usage_duration("leat map", EXIT_TROUBLE, option, text, 0, to)

static int read_name(const char *option, const char *name, const char **to)
{
    *to = name;
    return *name ? 0 : plan_refuse("the name after %s is empty", option);
}

/* Bytes: 16M, 1G; each letter is 1024 times the one before. */
static int read_size(const char *option, const char *text, int64_t least, int64_t *to)
{
    static const char letters[] = "KMGT";
    uint64_t n;
    const char *rest;
    if (number_begin(text, &n, &rest)) {
        const char *letter = *rest ? strchr(letters, *rest) : NULL;
        unsigned shift = letter ? 10 * (unsigned)(letter - letters + 1) : 0;
        if ((letter ? !rest[1] : !*rest) && n <= (uint64_t)INT64_MAX >> shift &&
            (int64_t)(n << shift) >= least) {
            *to = (int64_t)(n << shift);
            return 0;
        }
    }
    return refuse_argument(option, text, "bytes, such as 500K, 16M or 1G");
}

static int read_timeout(struct plan *p, const char *text)
{
    const char *rest;
    double times;
    p->timeout = 0;
    p->timeout_times = 0;
    if (number_begin_decimal(text, &times, &rest) && strcmp(rest, "x") == 0) {
        p->timeout_times = times;
        return times > 0 && times < 1e6 ? 0
                                        : refuse_argument("--timeout", text, "a factor above 0");
    }
    int wrong = read_duration("--timeout", text, &p->timeout);
    return wrong || p->timeout > 0 ? wrong : refuse_argument("--timeout", text, "a time above 0");
}

static bool read_halt_goal(struct halt *h, const char *text)
{
    static const char *const goals[] = { "fail=", "success=", "done=" };
    for (unsigned i = 0; i < 3; i++) {
        size_t len = strlen(goals[i]);
        if (strncmp(text, goals[i], len) != 0)
            continue;
        const char *rest;
        h->what = i;
        if (!number_begin(text + len, &h->count, &rest) || h->count == 0 || h->count > INT64_MAX)
            return false;
        h->percent = h->what == HALT_FAIL && strcmp(rest, "%") == 0;
        return h->percent ? h->count <= 100 : !*rest;
    }
    return false;
}

static int read_halt(struct halt *h, const char *text)
{
    *h = (struct halt){ .what = HALT_FAIL, .count = 1 };
    if (strcmp(text, "never") == 0)
        return 0;
    size_t len = strcspn(text, ",");
    h->when = len == 4 && memcmp(text, "soon", 4) == 0  ? HALT_SOON
              : len == 3 && memcmp(text, "now", 3) == 0 ? HALT_NOW
                                                        : HALT_NEVER;
    if (h->when != HALT_NEVER && (!text[len] || read_halt_goal(h, text + len + 1)))
        return 0;
    return refuse_argument("--halt", text,
                           "never, soon or now, then ,fail=N ,fail=N%% ,success=N or ,done=N");
}

static int read_separator(struct plan *p, const char *text)
{
    p->csv = strcmp(text, "csv") == 0;
    p->separator = p->csv ? ',' : strcmp(text, "\\t") == 0 ? '\t' : *text;
    if (p->csv || p->separator == '\t' || (*text && !text[1]))
        return 0;
    return refuse_argument("--columns", text, "one byte, \\t or csv");
}

static int read_per_command(struct plan *p, const char *text)
{
    unsigned n;
    if (strcmp(text, "max") == 0) {
        p->per_command = SIZE_MAX;
        return 0;
    }
    if (!number_read(text, 1, 1000000, &n))
        return refuse_argument("--number", text, "max or a number from 1 to 1000000");
    p->per_command = n;
    return 0;
}

static int read_resume(struct plan *p, const char *text)
{
    p->resume = true;
    p->resume_ended = text && strcmp(text, "ended") == 0;
    return !text || p->resume_ended ? 0 : refuse_argument("--resume", text, "nothing or ended");
}

/* ---- the command and the lists ---- */

static int read_command(struct plan *p, int argc, char **argv)
{
    p->command = argv;
    while (p->arguments < (size_t)argc && strcmp(argv[p->arguments], ":::") != 0)
        p->arguments++;
    if (p->arguments == 0)
        return plan_refuse("missing command");
    p->lists = calloc((size_t)argc, sizeof *p->lists);
    if (!p->lists)
        return plan_refuse("memory exhausted");
    for (size_t i = p->arguments; i < (size_t)argc; i++) {
        if (strcmp(argv[i], ":::") == 0)
            p->lists[p->list_count++].at = argv + i + 1;
        else
            p->lists[p->list_count - 1].count++;
    }
    return 0;
}

/* ---- options that contradict each other ---- */

static int reconcile(const struct plan *p)
{
    bool several = p->per_command > 1;
    if (p->list_count && p->items)
        return plan_refuse("':::' cannot be combined with --items");
    if (p->list_count && p->null)
        return plan_refuse("--null is meaningless with ':::'");
    if (p->block && (p->list_count || p->null || p->separator || several))
        return plan_refuse("--pipe cannot be combined with ':::', --null, --columns or -n");
    if (p->separator && (p->list_count > 1 || several))
        return plan_refuse("--columns cannot be combined with -n or with several lists");
    if (p->list_count > 1 && several)
        return plan_refuse("-n cannot be combined with several lists");
    if (p->script && p->arguments > 1)
        return plan_refuse("a script is one argument, and '%s' is another", p->command[1]);
    if (p->output && (p->lines || p->tag))
        return plan_refuse("--output cannot be combined with --lines or --tag");
    if (p->lines && p->retries)
        return plan_refuse("--lines cannot be combined with --retries: a line that is written "
                           "cannot be taken back");
    if (p->resume && !p->log)
        return plan_refuse("--resume needs --log=FILE");
    if (p->resume && p->block)
        return plan_refuse("--resume cannot be combined with --pipe: all blocks have the same "
                           "command");
    if (p->dry_run && (p->log || p->output))
        return plan_refuse("--dry-run cannot be combined with --log or --output");
    return 0;
}

static int read_option(struct plan *p, int option, char *argument)
{
    int64_t bytes = 1 << 20;
    int wrong = 0;
    unsigned window = 0;
    switch (option) {
    case 'j':
        p->jobs_given = true;
        return read_unsigned("--jobs", argument, 1, JOBS_MOST, &p->jobs);
    case '0': p->null = true; return 0;
    case 'a':
        if (p->items)
            return plan_refuse("--items may be given once: only lists after ':::' are combined");
        return read_name("--items", argument, &p->items);
    case 'C': return read_separator(p, argument);
    case 'n': return read_per_command(p, argument);
    case OPT_SCRIPT: p->script = true; return 0;
    case OPT_PIPE:
        wrong = argument ? read_size("--pipe", argument, 1, &bytes) : 0;
        p->block = (size_t)bytes;
        return wrong;
    case 'u': p->unordered = true; return 0;
    case 'l': p->lines = true; return 0;
    case OPT_TAG: p->tag = true; return 0;
    case 'o': return read_name("--output", argument, &p->output);
    case OPT_WINDOW:
        wrong = read_unsigned("--window", argument, 1, WINDOW_MOST, &window);
        p->window = window;
        return wrong;
    case OPT_SPILL: return read_size("--spill", argument, 0, &p->spill);
    case OPT_HALT: return read_halt(&p->halt, argument);
    case OPT_FAIL_FAST: return read_halt(&p->halt, "now,fail=1");
    case OPT_RETRIES: return read_unsigned("--retries", argument, 0, RETRIES_MOST, &p->retries);
    case OPT_BACKOFF: return read_duration("--backoff", argument, &p->backoff);
    case OPT_TIMEOUT: return read_timeout(p, argument);
    case OPT_GRACE: return read_duration("--grace", argument, &p->grace);
    case OPT_LOG: return read_name("--log", argument, &p->log);
    case OPT_RESUME: return read_resume(p, argument);
    case OPT_ON: return machines_add(p, argument);
    case OPT_DIR: return read_name("--dir", argument, &p->folder);
    case OPT_DRY_RUN: p->dry_run = true; return 0;
    case OPT_NO_PROGRESS: p->progress = false; return 0;
    case 'v': p->verbose = true; return 0;
    default: return usage_help("leat map", EXIT_TROUBLE);
    }
}

/* The machines' numbers of cores are not known yet. */
static void count_places(struct plan *p)
{
    p->places = p->machine_count ? 0 : p->jobs;
    for (size_t i = 0; i < p->machine_count && p->places < JOBS_MOST; i++)
        p->places += p->machines[i].places ? p->machines[i].places : p->jobs;
    if (p->places > JOBS_MOST)
        p->places = JOBS_MOST;
}

/* Makes the window large enough for all jobs that run at a time. */
static void set_window(struct plan *p)
{
    unsigned least = p->machine_count ? JOBS_MOST : WINDOW_LEAST;
    if (!p->window)
        p->window = 16 * p->jobs < least ? least : 16 * p->jobs;
    if (p->window < p->places)
        p->window = p->places;
}

int plan_read(struct plan *p, int argc, char **argv)
{
    *p = (struct plan){ .progress = true,
                        .per_command = 1,
                        .spill = (int64_t)1 << 30,
                        .backoff = LEAT_S,
                        .grace = 5 * LEAT_S };
    int option, wrong = 0;
    optind = 0; /* makes getopt start again */
    while (!wrong && (option = getopt_long(argc, argv, "+0a:C:j:ln:o:suv", names, NULL)) != -1) {
        if (option == OPT_HELP)
            return finish_text("leat map", help_map, EXIT_TROUBLE);
        if (option == OPT_VERSION)
            return finish_version("leat map", EXIT_TROUBLE);
        wrong = read_option(p, option, optarg);
    }
    if (!p->jobs)
        p->jobs = leat_cores();
    if (!wrong)
        wrong = read_command(p, argc - optind, argv + optind);
    if (!wrong)
        wrong = reconcile(p);
    if (!p->grace)
        p->grace = 1; /* for leat_spawn 0 is the default */
    count_places(p);
    set_window(p);
    return wrong ? wrong : -1;
}

void plan_free(struct plan *p)
{
    machines_free(p);
    free(p->lists);
}
