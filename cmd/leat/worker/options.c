/* options.c: the options and arguments of `leat worker`. */
#define _GNU_SOURCE
#include "shared/finish.h"
#include "shared/usage.h"
#include "worker/queue.h"
#include "worker/worker.h"

#include <getopt.h>
#include <leat/runtime.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: leat worker\n"
    "  or:  leat worker [OPTION]... redis://HOST/QUEUE\n"
    "Run commands for leat map.\n"
    "\n"
    "Without an address: for a leat map on another machine, which starts this by\n"
    "ssh. It runs the commands that come on standard input, as the user that has\n"
    "started it. When standard input ends, it ends these commands.\n"
    "\n"
    "With an address: for every leat map --on=redis://HOST/QUEUE, until a signal\n"
    "ends it. IT RUNS EVERY COMMAND THAT THE QUEUE SENDS, as the user that has\n"
    "started it: anyone who can write to the queue can run any command here.\n"
    "\n"
    "  -j, --jobs=N       run N commands at a time (one for each core)\n"
    "      --dir=FOLDER   run them in FOLDER\n"
    "      --grace=TIME   the time that commands have after the first SIGTERM (10s)\n"
    "      --lease=TIME   if a worker is silent for TIME, others get its jobs (5s)\n"
    "      --help, --version\n"
    "\n"
    "LEAT_LINK_USER and LEAT_LINK_PASSWORD in the environment are for the Redis. For\n"
    "rediss:// (TLS), LEAT_LINK_CA names a file with the trusted certificates.\n";

enum { JOBS_MOST = 4096, OPT_DIR = 256, OPT_GRACE, OPT_LEASE, OPT_HELP, OPT_VERSION };

static const struct option names[] = {
    { "jobs", required_argument, NULL, 'j' },
    { "dir", required_argument, NULL, OPT_DIR },
    { "grace", required_argument, NULL, OPT_GRACE },
    { "lease", required_argument, NULL, OPT_LEASE },
    { "help", no_argument, NULL, OPT_HELP },
    { "version", no_argument, NULL, OPT_VERSION },
    { NULL, 0, NULL, 0 },
};

static const int64_t longest_lease = 24 * 3600 * LEAT_S; /* of libleat-link */

struct wishes {
    struct taker taker;
    bool any, told; /* told: the text that the user asked for has been printed */
};

#define refuse(...) usage_refuse("leat worker", WORKER_TROUBLE, __VA_ARGS__)
#define read_time(...) usage_duration("leat worker", WORKER_TROUBLE, __VA_ARGS__)

static int read_lease(const char *argument, int64_t *to)
{
    int wrong = read_time("--lease", argument, 100 * LEAT_MS, to);
    if (wrong || *to <= longest_lease)
        return wrong;
    return usage_argument("leat worker", WORKER_TROUBLE, "--lease", argument,
                          "a time of 24h or less");
}

static int read_option(struct wishes *w, int option, const char *argument)
{
    int wrong = 0;
    w->any = true;
    switch (option) {
    case 'j':
        return usage_number("leat worker", WORKER_TROUBLE, "--jobs", argument, 1, JOBS_MOST,
                            &w->taker.jobs);
    case OPT_DIR: w->taker.folder = argument; return 0;
    case OPT_GRACE:
        wrong = read_time("--grace", argument, 0, &w->taker.grace);
        w->taker.grace += !w->taker.grace; /* for libleat-link 0 is the default */
        return wrong;
    case OPT_LEASE: return read_lease(argument, &w->taker.lease);
    case OPT_HELP: w->told = true; return finish_text("leat worker", help, WORKER_TROUBLE);
    case OPT_VERSION: w->told = true; return finish_version("leat worker", WORKER_TROUBLE);
    default: return usage_help("leat worker", WORKER_TROUBLE);
    }
}

static int read_address(struct taker *taker, const char *text)
{
    if (!queue_is_meant(text))
        return refuse("unexpected argument '%s'", text);
    if (strchr(text, '@'))
        return refuse("an address must not have a password, since every user can see a command "
                      "line: use LEAT_LINK_USER and LEAT_LINK_PASSWORD");
    const char *why = queue_read(&taker->queue, text);
    taker->address = text;
    return why ? refuse("invalid address '%s': %s", text, why) : 0;
}

/* 0 if there is something to do. */
static int read_all(struct wishes *w, int argc, char **argv)
{
    int option, wrong = 0;
    optind = 0; /* makes getopt start again */
    while (!wrong && !w->told && (option = getopt_long(argc, argv, "j:", names, NULL)) != -1)
        wrong = read_option(w, option, optarg);
    if (wrong || w->told)
        return wrong;
    if (optind + 1 < argc)
        return refuse("unexpected argument '%s'", argv[optind + 1]);
    if (optind < argc)
        return read_address(&w->taker, argv[optind]);
    return w->any ? refuse("the options need the address of a queue") : 0;
}

static int start(struct wishes *w)
{
    if (w->taker.address)
        return taker_run(&w->taker);
    if (isatty(STDIN_FILENO))
        return refuse("without an address, it is started by leat map --on");
    return worker_on_stream();
}

int worker_main(int argc, char **argv)
{
    static struct wishes wishes; /* zeroed */
    wishes.taker.jobs = leat_cores();
    int status = read_all(&wishes, argc, argv);
    if (!status && !wishes.told)
        status = start(&wishes);
    queue_free(&wishes.taker.queue);
    return status;
}
