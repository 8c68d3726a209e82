#include "watch/trace.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "sched/probe.h"
#include "sched/runtime.h"
#include "watch/text.h"
#include "watch/trace_write.h"

#include <leat/block.h>

#include <errno.h>
#include <string.h>

#ifdef LEAT_HARSH
enum { CHUNK = 64, MOST_CHUNKS = 4096 };
#else
enum { CHUNK = 8192, MOST_CHUNKS = 512 };
#endif
enum { NAMES = 256, NAME_CHUNK = 16 * 1024, LONGEST_NAME = 200 };

/* Copies of names. */
struct names {
    struct names *next;
    size_t used;
    char bytes[NAME_CHUNK];
};

/* The name of a type of block, copied once. */
struct known {
    const void *type;
    const char *name;
};

struct tracer {
    struct lt_event_chunk *first, *last;
    unsigned chunks;
    uint64_t lost;
    struct names *names;
    struct known known[NAMES];
};

static struct {
    FILE *file;
    unsigned workers;
    struct tracer **of;  /* each worker's, and one for all threads; set while no worker reads it */
    struct lt_lock lock; /* guards the threads' tracer, and the end of `of` */
} trace;

/* ---- collecting ---- */

static bool add_chunk(struct tracer *t)
{
    struct lt_event_chunk *chunk =
        t->chunks < MOST_CHUNKS ? lt_alloc(sizeof *chunk + CHUNK * sizeof(struct lt_event)) : NULL;
    if (!chunk)
        return false;
    if (t->last)
        t->last->next = chunk;
    else
        t->first = chunk;
    t->last = chunk;
    t->chunks++;
    return true;
}

/* May allocate under a channel's lock: there is no bound on the events between two places without a
 * lock, and the allocator takes no lock of leat's. */
static void append(struct tracer *t, struct lt_event event)
{
    event.at = lt_clock_now();
    if (t->last->count == CHUNK && !add_chunk(t))
        t->lost++;
    else
        t->last->events[t->last->count++] = event;
}

static struct tracer *tracer_of(const struct lt_worker *worker)
{
    return trace.of[worker ? worker->index : trace.workers];
}

/* From any thread. */
static void add_event(struct lt_event event)
{
    const struct lt_worker *worker = lt_worker_self();
    if (worker) {
        append(tracer_of(worker), event);
        return;
    }
    lt_lock(&trace.lock);
    if (trace.of) /* the trace may have ended meanwhile */
        append(tracer_of(NULL), event);
    lt_unlock(&trace.lock);
}

/* A copy that lasts until the trace ends; NULL when there is no memory, or no name. */
static const char *copy(struct tracer *t, const char *name)
{
    if (!name)
        return NULL;
    size_t length = strnlen(name, LONGEST_NAME);
    if (!t->names || t->names->used + length + 1 > NAME_CHUNK) {
        struct names *more = lt_alloc(sizeof *more);
        if (!more)
            return NULL;
        more->next = t->names;
        t->names = more;
    }
    char *to = t->names->bytes + t->names->used;
    memcpy(to, name, length);
    to[length] = '\0';
    t->names->used += length + 1;
    return to;
}

static const char *name_of_type(struct tracer *t, const leat_block_type *type)
{
    size_t at = (uintptr_t)type / sizeof *type % NAMES;
    for (unsigned tries = 0; tries < NAMES; tries++, at = (at + 1) % NAMES) {
        struct known *known = &t->known[at];
        if (!known->type)
            *known = (struct known){ type, copy(t, type->name) };
        if (known->type == type)
            return known->name;
    }
    return NULL;
}

static uint64_t identity(const struct lt_party *party)
{
    if (!party)
        return 0;
    return party->kind == LT_TASK ? LT_CONTAINER(party, struct lt_task, party)->number
                                  : (uint64_t)(uintptr_t)party;
}

/* ---- the probes ---- */

void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to)
{
    unsigned probing = lt_probing();
    if (probing & LT_PROBE_WAITS && from)
        from->left = lt_clock_now();
    if (!(probing & LT_PROBE_TRACE))
        return;
    struct tracer *t = tracer_of(worker);
    if (to && !to->sp) /* its first time */
        append(t, (struct lt_event){
                      .kind = LT_EV_TASK, .number = to->number, .text = copy(t, to->name) });
    append(t, (struct lt_event){ .kind = LT_EV_RUNS, .party = to ? to->number : 0 });
}

void lt_trace_step(struct lt_worker *worker, const struct lt_party *party)
{
    struct tracer *t = tracer_of(worker);
    const char *name = NULL;
    if (party && party->kind == LT_JOB) /* leat's own work */
        party = NULL;
    if (party && party->kind == LT_BLOCK)
        name = name_of_type(t, ((const leat_block *)(const void *)party)->type);
    append(t, (struct lt_event){ .kind = LT_EV_RUNS, .party = identity(party), .text = name });
}

void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner)
{
    add_event((struct lt_event){ .kind = sent ? LT_EV_SENT : LT_EV_RECEIVED,
                                 .number = channel,
                                 .count = n,
                                 .party = identity(partner) });
}

void lt_trace_new_channel(uint32_t channel, const char *name)
{
    struct lt_worker *worker = lt_worker_self();
    /* The name of a thread's channel is not kept: to copy it would take the threads' lock. */
    add_event((struct lt_event){ .kind = LT_EV_CHANNEL,
                                 .number = channel,
                                 .text = worker ? copy(tracer_of(worker), name) : NULL });
}

void lt_trace_scope(uint32_t scope, bool opened)
{
    add_event((struct lt_event){ .kind = opened ? LT_EV_OPENED : LT_EV_CLOSED, .number = scope });
}

/* ---- beginning and end ---- */

const struct lt_event_chunk *lt_trace_chunks(unsigned i)
{
    return trace.of[i]->first;
}

static void tracer_free(struct tracer *t)
{
    while (t && t->first) {
        struct lt_event_chunk *next = t->first->next;
        lt_free(t->first);
        t->first = next;
    }
    while (t && t->names) {
        struct names *next = t->names->next;
        lt_free(t->names);
        t->names = next;
    }
    lt_free(t);
}

static void free_all(void)
{
    lt_lock(&trace.lock);
    struct tracer **of = trace.of;
    trace.of = NULL;
    lt_unlock(&trace.lock);
    for (unsigned i = 0; of && i <= trace.workers; i++)
        tracer_free(of[i]);
    lt_free(of);
}

int lt_trace_begin(const char *file)
{
    int saved = errno;
    trace.workers = lt_runtime.worker_count;
    trace.of = lt_alloc((trace.workers + 1) * sizeof(struct tracer *));
    bool made = trace.of != NULL;
    for (unsigned i = 0; made && i <= trace.workers; i++) {
        trace.of[i] = lt_alloc(sizeof(struct tracer));
        made = trace.of[i] && add_chunk(trace.of[i]);
    }
    trace.file = made ? fopen(file, "we") : NULL;
    int error = !made ? -ENOMEM : !trace.file ? -errno : 0;
    if (error)
        free_all();
    errno = saved;
    return error;
}

void lt_trace_end(void)
{
    if (!trace.of)
        return;
    uint64_t lost = 0;
    for (unsigned i = 0; i <= trace.workers; i++)
        lost += trace.of[i]->lost;
    int saved = errno, error = lt_trace_write(trace.file, trace.workers, lost > 0);
    if (fclose(trace.file) != 0 && !error)
        error = -EIO;
    errno = saved;
    if (error)
        lt_say("leat: the trace could not be written");
    free_all();
}
