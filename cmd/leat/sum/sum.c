#define _GNU_SOURCE
#include "sum.h"

#include "cache.h"
#include "descriptors.h"
#include "emit.h"
#include "halt.h"
#include "later.h"
#include "shared/finish.h"
#include "shared/stop.h"
#include "sources.h"
#include "update.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Chooses the vectors for lanes: those that LEAT_LANES names, or NULL if it is "none"; if it is not
 * set, the fastest, or NULL if none pays. False if there are none of that name. */
static bool choose_way(const struct lane_digest *d, const struct lane_way **way)
{
    const char *name = getenv("LEAT_LANES");
    *way = d && !name ? lane_way_best(d) : NULL;
    if (!d || !name || strcmp(name, "none") == 0)
        return true;
    size_t i = 0;
    do
        *way = lane_way_at(d, i++);
    while (*way && strcmp((*way)->name, name) != 0);
    return *way;
}

/* The bytes for all digests of one file. In a check there are the digest of a line and that of its
 * file; a file that no list names may have them all. */
static size_t room_for_digests(const struct options *o)
{
    size_t all = 0, two = 2 * (size_t)DIGEST_MAX;
    for (unsigned i = 0; i < o->selection.count; i++)
        all += digest_size(o->selection.at[i], o->size);
    return !o->check || ((o->update || o->moved) && all > two) ? all : two;
}

static void report_failure(struct emitter *e, int err)
{
    if (err == -ENOMEM || e->out.error == -ENOMEM)
        emit_complaint(e, "memory exhausted", 0);
    else if (e->out.error)
        emit_complaint(e, "write error", e->out.error);
    else if (err == -EAGAIN)
        emit_complaint(e, "cannot start a thread", err);
    else if (err)
        emit_complaint(e, "cannot continue", err);
}

/* If it was, main.c has opened another file in its place, with O_PATH. */
static bool stdin_was_closed(void)
{
    int flags = fcntl(STDIN_FILENO, F_GETFL);
    return flags < 0 || flags & O_PATH;
}

/* The cache only saves time, so an error with it is no failure. */
static void load_cache(struct emitter *e, const struct options *o)
{
    const char *remark;
    int error;
    bool of_use = cache_load(e->cache, o->cache, &o->selection, &remark, &error);
    if (remark || error)
        emit_note(e, o->cache, remark, error);
    if (!of_use)
        e->cache = NULL;
}

/* Writes the updated list, unless the run has ended early. */
static void write_update(struct emitter *e)
{
    struct update *u = e->update;
    if (!u->complete || e->out.error)
        return;
    int err = update_write(u);
    const char *remark = err == -ESTALE   ? "has been changed meanwhile, and is left alone"
                         : err == -E2BIG  ? "has a line of more than 1 MiB, and is left alone"
                         : err == -EILSEQ ? "would be read in another way, and is left alone"
                         : err            ? "cannot be written"
                                          : NULL;
    bool says_all = err == -ESTALE || err == -E2BIG || err == -EILSEQ;
    if (remark)
        emit_failure(e, u->path, remark, says_all ? 0 : err);
}

/* ---- the work, in leat's runtime ---- */

enum { RUNTIME_DESCRIPTORS = 4 }; /* with the halt's */

struct work {
    struct flow *flow;
    leat_scope *scope;
    int signal; /* the signal that has ended it early, or 0 */
    int err, unsaved;
};

/* Called for each signal. If the first one does not end the program, the next one does. */
static void halt(void *arg, int number)
{
    struct work *w = arg;
    if (w->signal)
        finish_by_signal(number);
    w->signal = number;
    halt_now();
    leat_scope_cancel(w->scope);
}

/* Called even after a halt, since all digests of the cache are right. */
static int save(void *arg)
{
    struct work *w = arg;
    struct emitter *e = w->flow->emitter;
    if (e->cache)
        w->unsaved = cache_save(e->cache);
    if (e->update && !w->err)
        write_update(e);
    return 0;
}

static int work(void *arg)
{
    struct work *w = arg;
    struct stop stop;
    w->scope = leat_scope_open(LEAT_NEVER);
    w->err = w->scope ? halt_open() : -ENOMEM;
    if (!w->err)
        w->err = stop_open(&stop, w->scope, false, halt, w);
    if (!w->err) {
        w->err = flow_run(w->flow);
        halt_close();
        leat_shield();
        if (leat_blocking(save, w) != 0)
            save(w);
        leat_unshield();
        stop_close(&stop);
    }
    leat_scope_close(w->scope);
    return w->err;
}

/* Returns the exit status. *fatal: the signal that must end the program, or 0. A closed pipe means
 * SIGPIPE if `pipes_end_it`, else a write error. */
static int run_flow(struct options *o, const struct lane_way *way, bool pipes_end_it, int *fatal)
{
    struct source source = { .options = o };
    struct emitter emitter;
    struct cache cache = { 0 };
    emit_open(&emitter, o, o->cache ? &cache : NULL);
    struct update update = { 0 };
    if (o->update) {
        update_open(&update, o->update, &o->selection, o->first_digests, o->size);
        update.any_digest = o->any_digest;
        emitter.update = source.update = &update;
    }
    if (o->cache)
        load_cache(&emitter, o);
    struct flow flow = {
        .selection = &o->selection,
        .size = o->size,
        .room = room_for_digests(o),
        .way = way,
        .jobs = o->jobs,
        .files = way ? way->lanes : 1 + LATER_MOST,
        .readers = o->readers,
        .follow = o->follow,
        .cache = emitter.cache,
        .paranoid = o->paranoid,
        .produce = o->check ? produce_lists : produce_paths,
        .producer = &source,
        .emitter = &emitter,
        .goal = { .wanted = emitter.progress.on },
    };
    size_t others = RUNTIME_DESCRIPTORS;
    if (o->check || o->files0_from)
        others++; /* a list */
    if (!o->persona->classic)
        others++; /* a folder */
    struct work w = { .flow = &flow };
    int err = descriptors_share(&flow, others, &source.descriptors);
    /* All tasks block in the system, on their own threads: one worker is enough. */
    if (!err)
        err = leat_main_with(work, &w, &(leat_options){ .workers = 1 });
    /* leat's -ENOMEM does not say what the system lacked; here it is nearly always threads. */
    if (err == -ENOMEM && !w.scope)
        err = -EAGAIN;
    if (w.unsaved)
        emit_note(&emitter, o->cache, "cannot be written", w.unsaved);
    *fatal = w.signal;
    if (!*fatal && pipes_end_it && emitter.out.error == -EPIPE)
        *fatal = SIGPIPE;
    if (!*fatal) {
        if (!emitter.out.error)
            emitter.out.error = finish_output();
        report_failure(&emitter, err);
        /* As in coreutils, whose programs report that they cannot close it. */
        if (source.stdin_used && stdin_was_closed())
            emit_complaint(&emitter, "standard input", -EBADF);
    }
    emit_close(&emitter);
    cache_free(&cache);
    update_close(&update);
    return emitter.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* In a check without --algorithm, leaves out the algorithms that this system does not have. 0 or
 * -ENOTSUP. */
static int load_digests(struct options *o)
{
    struct selection wanted = o->selection;
    o->selection.count = 0;
    for (unsigned i = 0; i < wanted.count; i++) {
        if (algorithm_load(wanted.at[i]) == 0) {
            selection_add(&o->selection, wanted.at[i]);
        } else if (i == 0 || !o->any_digest) {
            fprintf(stderr, "%s: %s is not offered by this system's libcrypto\n",
                    o->persona->program, wanted.at[i]->tag);
            return -ENOTSUP;
        }
    }
    return 0;
}

/* Returns the exit status; *fatal as in `run_flow`. */
static int load_and_run(struct options *o, bool pipes_end_it, int *fatal)
{
    if (load_digests(o) < 0)
        return EXIT_FAILURE;
    /* Lanes compute only one digest of each file. */
    const struct algorithm *first = o->selection.at[0];
    const struct lane_digest *lanes = o->check || o->selection.count == 1 ? first->lanes : NULL;
    const struct lane_way *way;
    if (!choose_way(lanes, &way)) {
        fprintf(stderr, "%s: LEAT_LANES: this processor has no '%s' for %s\n", o->persona->program,
                getenv("LEAT_LANES"), first->tag);
        return EXIT_FAILURE;
    }
    return run_flow(o, way, pipes_end_it, fatal);
}

int sum_main(const struct persona *persona, int argc, char **argv)
{
    struct options o;
    int fatal = 0, status = options_read(&o, persona, argc, argv);
    if (status < 0) {
        /* A closed pipe ends the program by SIGPIPE, as usual, but only after the cache has been
         * written. */
        bool pipes_end_it = signal(SIGPIPE, SIG_IGN) != SIG_IGN;
        /* A file that grows too large is an error of the write, as a full disk is: so a file that
         * would replace a list or the cache is removed. */
        if (!persona->classic)
            signal(SIGXFSZ, SIG_IGN);
        status = load_and_run(&o, pipes_end_it, &fatal);
        algorithms_unload();
    } else {
        status = finish_stdio(persona->program, status, EXIT_FAILURE);
    }
    options_free(&o);
    return fatal ? finish_by_signal(fatal) : status;
}
