#define _GNU_SOURCE
#include "sum.h"

#include "emit.h"
#include "halt.h"
#include "sources.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    OTHER_DESCRIPTORS = 16, /* the standard three, the halt, a list, and some to spare */
    FOLDERS_MIN = 4,
    FOLDERS_MAX = 512,
};

int sum_finish_stdio(const char *program, int status)
{
    bool failed = ferror(stdout);
    if (fflush(stdout) == 0 && !failed)
        return status;
    fprintf(stderr, "%s: write error: %s\n", program, strerror(errno));
    return EXIT_FAILURE;
}

/* Shares the descriptors that this process may have between files and folders; each digester has one
 * file open. */
static void share_descriptors(struct options *o, size_t *folders)
{
    struct rlimit limit;
    size_t left = FOLDERS_MAX * 4;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < left)
        left = (size_t)limit.rlim_cur;
    left = left > OTHER_DESCRIPTORS ? left - OTHER_DESCRIPTORS : 0;
    if (o->jobs > left / 2)
        o->jobs = left / 2 > 0 ? (unsigned)(left / 2) : 1;
    left -= left > o->jobs ? o->jobs : left;
    *folders = left / 2 < FOLDERS_MIN   ? FOLDERS_MIN
               : left / 2 > FOLDERS_MAX ? FOLDERS_MAX
                                        : left / 2;
}

static void say_what_failed(struct emitter *e, int err)
{
    if (err == -ENOMEM || e->out.error == -ENOMEM)
        emit_complaint(e, "memory exhausted", 0);
    else if (e->out.error)
        emit_complaint(e, "write error", e->out.error);
    else if (err)
        emit_complaint(e, "cannot go on", err);
}

static int run(struct options *o)
{
    struct source source = { .options = o };
    struct emitter emitter;
    share_descriptors(o, &source.descriptors);
    emit_open(&emitter, o);
    struct flow flow = {
        .algorithm = o->algorithm,
        .jobs = o->jobs,
        .follow = o->follow,
        .produce = o->check ? produce_lists : produce_paths,
        .producer = &source,
        .emitter = &emitter,
    };
    int err = halt_open();
    if (!err) {
        err = flow_run(&flow);
        halt_close();
    }
    if (!halt_signal())
        say_what_failed(&emitter, err);
    emit_close(&emitter);
    return emitter.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Ends as the signal would have ended it, so that a shell sees that, and its loops stop too. */
static int die_of(int number)
{
    signal(number, SIG_DFL);
    raise(number);
    return 128 + number;
}

int sum_main(const struct persona *persona, int argc, char **argv)
{
    struct options o;
    int status = options_read(&o, persona, argc, argv);
    if (status >= 0)
        return sum_finish_stdio(persona->program, status);
    /* A closed pipe is to be told as the failed write that it is. */
    signal(SIGPIPE, SIG_IGN);
    if (algorithm_load(o.algorithm) < 0) {
        fprintf(stderr, "%s: %s is not offered by this system's libcrypto\n", persona->program,
                o.algorithm->tag);
        return EXIT_FAILURE;
    }
    status = run(&o);
    algorithm_unload();
    return halt_signal() ? die_of(halt_signal()) : status;
}
