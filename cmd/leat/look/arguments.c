#define _GNU_SOURCE
#include "look/arguments.h"

#include "shared/finish.h"
#include "shared/number.h"
#include "shared/usage.h"

#include <getopt.h>
#include <leat/base.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: leat look [OPTION]... ADDRESS\n"
    "Show what a running program does, as top does: a program that uses libleat and\n"
    "was started with LEAT_LOOK=ADDRESS.\n"
    "\n"
    "ADDRESS is unix:/path, unix:@name, host:port or http://host:port/.\n"
    "\n"
    "  -d, --delay=SECONDS  look every SECONDS (1)\n"
    "      --list=LIST      begin with LIST: parties, channels, scopes, waits, stages,\n"
    "                       stacks, descriptors, batchers or counts\n"
    "      --sort=COLUMN    sort the list by COLUMN\n"
    "  -r, --reverse        sort the other way round\n"
    "      --filter=TEXT    show the lines that have TEXT\n"
    "      --once           print one look as text, as without a terminal\n"
    "      --json           print the program's document, as JSON\n"
    "      --dump           print a dump: everything that exists, as text\n"
    "      --graph          print what each party waits for, for Graphviz\n"
    "      --trace=SECONDS  print a trace of the next SECONDS, for ui.perfetto.dev\n"
    "      --token=FILE     take the token from FILE ($LEAT_LOOK_TOKEN)\n"
    "      --help, --version\n"
    "\n"
    "Keys: q quit, h help.\n"
    "Exit status: 0, or 2 for trouble.\n";

enum {
    OPT_LIST = 256,
    OPT_SORT,
    OPT_FILTER,
    OPT_ONCE,
    OPT_JSON,
    OPT_DUMP,
    OPT_GRAPH,
    OPT_TRACE,
    OPT_TOKEN,
    OPT_HELP,
    OPT_VERSION,
};

static const struct option names[] = {
    { "delay", required_argument, NULL, 'd' },
    { "list", required_argument, NULL, OPT_LIST },
    { "sort", required_argument, NULL, OPT_SORT },
    { "reverse", no_argument, NULL, 'r' },
    { "filter", required_argument, NULL, OPT_FILTER },
    { "once", no_argument, NULL, OPT_ONCE },
    { "json", no_argument, NULL, OPT_JSON },
    { "dump", no_argument, NULL, OPT_DUMP },
    { "graph", no_argument, NULL, OPT_GRAPH },
    { "trace", required_argument, NULL, OPT_TRACE },
    { "token", required_argument, NULL, OPT_TOKEN },
    { "help", no_argument, NULL, OPT_HELP },
    { "version", no_argument, NULL, OPT_VERSION },
    { NULL, 0, NULL, 0 },
};

/* The texts of the arguments; NULL where there is none. */
struct given {
    const char *list, *sort, *filter, *token;
    bool reverse;
};

#define refuse(...) usage_refuse("leat look", EXIT_TROUBLE, __VA_ARGS__)
#define refuse_argument(...) usage_argument("leat look", EXIT_TROUBLE, __VA_ARGS__)

/* Nanoseconds from 0.1 s to `most` seconds, or 0. */
static int64_t read_seconds(const char *text, double most)
{
    const char *rest;
    double seconds;
    bool fits =
        number_begin_decimal(text, &seconds, &rest) && !*rest && seconds >= 0.1 && seconds <= most;
    return fits ? (int64_t)(seconds * 1e9) : 0;
}

static int read_delay(struct arguments *o, const char *text)
{
    o->delay = read_seconds(text, 3600);
    return o->delay ? 0 : refuse_argument("--delay", text, "seconds, from 0.1 to 3600");
}

static int print_raw(struct arguments *o, const char *target)
{
    if (o->raw.target)
        return refuse("only one of --json, --dump, --graph and --trace can be printed");
    o->raw.target = target;
    o->raw.most = FETCH_MOST_RAW;
    return 0;
}

static int read_trace(struct arguments *o, const char *text)
{
    int64_t time = read_seconds(text, 60);
    if (!time)
        return refuse_argument("--trace", text, "seconds, from 0.1 to 60");
    snprintf(o->trace, sizeof o->trace, "/trace?seconds=%lld.%03lld", (long long)(time / LEAT_S),
             (long long)(time / LEAT_MS % 1000));
    o->raw.time = time;
    return print_raw(o, o->trace);
}

static int read_option(struct arguments *o, struct given *g, int option, const char *argument)
{
    switch (option) {
    case 'd': return read_delay(o, argument);
    case 'r': g->reverse = true; return 0;
    case OPT_LIST: g->list = argument; return 0;
    case OPT_SORT: g->sort = argument; return 0;
    case OPT_FILTER: g->filter = argument; return 0;
    case OPT_ONCE: o->once = true; return 0;
    case OPT_JSON: return print_raw(o, FETCH_STACKS);
    case OPT_DUMP: return print_raw(o, "/dump");
    case OPT_GRAPH: return print_raw(o, "/graph");
    case OPT_TRACE: return read_trace(o, argument);
    case OPT_TOKEN: g->token = argument; return 0;
    default: return usage_help("leat look", EXIT_TROUBLE);
    }
}

static const char *column_name(const void *columns, size_t i)
{
    return ((const struct column *)columns)[i].name;
}

static int refuse_column(enum list list, const char *name)
{
    size_t count;
    const struct column *columns = list_columns(list, &count);
    return usage_name("leat look", EXIT_TROUBLE, "--sort", name, column_name, columns, count);
}

static const char *name_of_list(const void *none, size_t i)
{
    (void)none;
    return list_name((enum list)i);
}

static int begin_view(struct arguments *o, const struct given *g)
{
    enum list list = LIST_PARTIES;
    while (g->list && list < LISTS && strcmp(list_name(list), g->list) != 0)
        list++;
    if (list == LISTS)
        return usage_name("leat look", EXIT_TROUBLE, "--list", g->list, name_of_list, NULL, LISTS);
    view_begin(&o->view, list);
    size_t column = g->sort ? list_find_column(list, g->sort) : list_first_column(list);
    if (column == SIZE_MAX)
        return refuse_column(list, g->sort);
    o->view.order[list].column = column;
    o->view.order[list].reverse = g->reverse;
    if (g->filter)
        text_str(&o->view.filter, g->filter);
    return 0;
}

static int read_address(struct arguments *o, const struct given *g, int argc, char **argv)
{
    struct trouble why = { 0 };
    if (argc == 0)
        return refuse("missing ADDRESS");
    if (argc > 1)
        return refuse("unexpected argument '%s'", argv[1]);
    if (o->raw.target && (g->list || g->sort || g->filter || g->reverse))
        return refuse("--json, --dump, --graph and --trace print all: they cannot be combined with "
                      "--list, --sort, --reverse or --filter");
    address_read(&o->address, argv[0], &why);
    if (is_trouble(&why))
        return refuse("%s", why.said);
    address_read_token(&o->address, g->token, &why);
    if (is_trouble(&why)) {
        fprintf(stderr, "leat look: %s\n", why.said);
        return EXIT_TROUBLE;
    }
    return begin_view(o, g);
}

int arguments_read(struct arguments *o, int argc, char **argv)
{
    *o = (struct arguments){ .delay = LEAT_S };
    struct given g = { 0 };
    int option, wrong = 0;
    optind = 0; /* makes getopt start again */
    while (!wrong && (option = getopt_long(argc, argv, "d:r", names, NULL)) != -1) {
        if (option == OPT_HELP)
            return finish_text("leat look", help, EXIT_TROUBLE);
        if (option == OPT_VERSION)
            return finish_version("leat look", EXIT_TROUBLE);
        wrong = read_option(o, &g, option, optarg);
    }
    if (!wrong)
        wrong = read_address(o, &g, argc - optind, argv + optind);
    return wrong ? wrong : -1;
}
