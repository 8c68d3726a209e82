#include "watch/tracer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "sched/runtime.h"

#include <errno.h>
#include <string.h>

#ifdef LEAT_HARSH
enum { CHUNK = 64, MOST_CHUNKS = 4096, LATE_CHUNKS = 64, LATE_NAMES = 2 };
#else
/* 128 MiB of events; 12 MiB and 4 MiB of names. */
enum { CHUNK = 8192, MOST_CHUNKS = 512, LATE_CHUNKS = 48, LATE_NAMES = 256 };
#endif
enum { NAMES = 256, NAME_CHUNK = 16 * 1024, LONGEST_NAME = 200 };

struct lt_event_chunk {
    struct lt_event_chunk *next; /* written once, before `count` tells of an event there */
    struct lt_event events[CHUNK];
};

/* Copies of names. */
struct names {
    struct names *next;
    char bytes[NAME_CHUNK];
};

/* The name of a type of block, copied once. */
struct known {
    const void *type;
    const char *name;
};

/* How much a tracer may grow. */
struct limits {
    size_t chunks, names;
};

static const struct limits of_whole = { MOST_CHUNKS, SIZE_MAX },
                           of_late = { LATE_CHUNKS, LATE_NAMES };

struct lt_tracer {
    _Atomic uint64_t generation;
    _Atomic size_t count; /* of events */
    _Atomic uint64_t lost;
    bool stale; /* lt_tracer_is_fresh has been called */
    struct limits left;
    /* What an earlier generation has made stays in these lists behind `last` and `names`. */
    struct lt_event_chunk *first, *last;
    struct names *first_names, *names;
    size_t names_used; /* bytes of `names` */
    struct known known[NAMES];
};

static struct {
    _Atomic uint64_t generation;
    unsigned workers;              /* written while there are no tracers */
    struct lt_tracer **_Atomic of; /* each worker's, and one for all threads; or NULL */
    struct lt_lock lock;           /* guards the threads' tracer, and the end of `of` */
} tracers;

/* ---- tracers ---- */

static bool add_chunk(struct lt_tracer *t)
{
    struct lt_event_chunk *chunk = t->left.chunks ? lt_alloc_unset(sizeof *chunk) : NULL;
    if (!chunk)
        return false;
    chunk->next = NULL;
    if (t->last)
        t->last->next = chunk;
    else
        t->first = chunk;
    t->last = chunk;
    t->left.chunks--;
    return true;
}

static bool next_chunk(struct lt_tracer *t)
{
    if (!t->last->next)
        return add_chunk(t);
    t->last = t->last->next;
    return true;
}

static bool next_names(struct lt_tracer *t)
{
    struct names *more = t->names ? t->names->next : t->first_names;
    if (!more) {
        more = t->left.names ? lt_alloc_unset(sizeof *more) : NULL;
        if (!more)
            return false;
        more->next = NULL;
        t->left.names--;
        *(t->names ? &t->names->next : &t->first_names) = more;
    }
    t->names = more;
    t->names_used = 0;
    return true;
}

/* By the owner: nobody reads events of the former generation any more. */
LT_COLD static void restart(struct lt_tracer *t, uint64_t generation)
{
    t->last = t->first;
    t->names = NULL;
    t->stale = false;
    memset(t->known, 0, sizeof t->known);
    atomic_store_explicit(&t->count, 0, memory_order_relaxed);
    atomic_store_explicit(&t->lost, 0, memory_order_relaxed);
    /* Release: a reader that finds this generation finds its counts. */
    atomic_store_explicit(&t->generation, generation, memory_order_release);
}

/* Also for the threads' tracer, with its lock held: `worker` is NULL. */
struct lt_tracer *lt_tracer_of(const struct lt_worker *worker)
{
    /* Acquire: the tracers are complete. The flag that led here does not order that. */
    struct lt_tracer **of = atomic_load_explicit(&tracers.of, memory_order_acquire);
    struct lt_tracer *t = of ? of[worker ? worker->index : tracers.workers] : NULL;
    /* Acquire: the reading of the former generation came before. */
    uint64_t generation = atomic_load_explicit(&tracers.generation, memory_order_acquire);
    /* Relaxed: only the owner writes it. */
    if (t && atomic_load_explicit(&t->generation, memory_order_relaxed) != generation)
        restart(t, generation);
    return t;
}

/* ---- collecting ---- */

bool lt_tracer_is_fresh(struct lt_tracer *t)
{
    bool fresh = !t->stale;
    t->stale = true;
    return fresh;
}

/* May allocate under a channel's lock: there is no bound on the events between two places without a
 * lock, and the allocator takes no lock of leat's. */
void lt_tracer_append(struct lt_tracer *t, struct lt_event event)
{
    /* Relaxed, these two: only the owner writes them. */
    size_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    if (count && count % CHUNK == 0 && !next_chunk(t)) {
        uint64_t lost = atomic_load_explicit(&t->lost, memory_order_relaxed);
        atomic_store_explicit(&t->lost, lost + 1, memory_order_relaxed);
        return;
    }
    t->last->events[count % CHUNK] = event;
    /* Release: a reader that counts the event finds it, its text and its chunk. */
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
}

void lt_tracers_append(struct lt_event event)
{
    const struct lt_worker *worker = lt_worker_self();
    if (!worker)
        lt_lock(&tracers.lock);
    struct lt_tracer *t = lt_tracer_of(worker);
    if (t) {
        event.at = lt_clock_now();
        lt_tracer_append(t, event);
    }
    if (!worker)
        lt_unlock(&tracers.lock);
}

const char *lt_tracer_copy(struct lt_tracer *t, const char *name)
{
    if (!name)
        return NULL;
    size_t length = strnlen(name, LONGEST_NAME);
    if ((!t->names || t->names_used + length + 1 > NAME_CHUNK) && !next_names(t))
        return NULL;
    char *to = t->names->bytes + t->names_used;
    memcpy(to, name, length);
    to[length] = '\0';
    t->names_used += length + 1;
    return to;
}

const char *lt_tracer_name_of(struct lt_tracer *t, const leat_block_type *type)
{
    size_t at = (uintptr_t)type / sizeof *type % NAMES;
    for (unsigned tries = 0; tries < NAMES; tries++, at = (at + 1) % NAMES) {
        struct known *known = &t->known[at];
        if (!known->type)
            *known = (struct known){ type, lt_tracer_copy(t, type->name) };
        if (known->type == type)
            return known->name;
    }
    return NULL;
}

/* ---- reading ---- */

/* The tracer, if it has events of the present generation. */
static struct lt_tracer *tracer_to_read(unsigned i)
{
    struct lt_tracer *t = atomic_load_explicit(&tracers.of, memory_order_relaxed)[i];
    /* Acquire: see restart. The present generation is the reader's own. */
    return atomic_load_explicit(&t->generation, memory_order_acquire) ==
                   atomic_load_explicit(&tracers.generation, memory_order_relaxed)
               ? t
               : NULL;
}

struct lt_track lt_trace_track(unsigned i)
{
    struct lt_tracer *t = tracer_to_read(i);
    if (!t)
        return (struct lt_track){ 0 };
    /* Acquire: see lt_tracer_append. */
    return (struct lt_track){ .chunk = t->first,
                              .left = atomic_load_explicit(&t->count, memory_order_acquire) };
}

const struct lt_event *lt_track_next(struct lt_track *track)
{
    if (!track->left)
        return NULL;
    if (track->at == CHUNK) {
        track->chunk = track->chunk->next;
        track->at = 0;
    }
    track->left--;
    return &track->chunk->events[track->at++];
}

uint64_t lt_tracers_lost(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= tracers.workers; i++) {
        struct lt_tracer *t = tracer_to_read(i);
        /* Relaxed: how many of the last ones it counts does not matter. */
        sum += t ? atomic_load_explicit(&t->lost, memory_order_relaxed) : 0;
    }
    return sum;
}

/* ---- beginning and end ---- */

static void free_tracers(struct lt_tracer **of, unsigned workers)
{
    for (unsigned i = 0; of && i <= workers && of[i]; i++) {
        for (struct lt_event_chunk *chunk = of[i]->first, *next; chunk; chunk = next) {
            next = chunk->next;
            lt_free(chunk);
        }
        for (struct names *names = of[i]->first_names, *next; names; names = next) {
            next = names->next;
            lt_free(names);
        }
        lt_free(of[i]);
    }
    lt_free(of);
}

int lt_tracers_make(bool late)
{
    if (atomic_load_explicit(&tracers.of, memory_order_relaxed))
        return 0;
    unsigned workers = lt_runtime.worker_count;
    struct lt_tracer **of = lt_alloc((workers + 1) * sizeof(struct lt_tracer *));
    bool made = of != NULL;
    for (unsigned i = 0; made && i <= workers; i++) {
        made = (of[i] = lt_alloc(sizeof(struct lt_tracer))) != NULL;
        if (made) {
            of[i]->left = late ? of_late : of_whole;
            made = add_chunk(of[i]);
        }
    }
    if (!made) {
        free_tracers(of, workers);
        return -ENOMEM;
    }
    tracers.workers = workers;
    atomic_store_explicit(&tracers.of, of, memory_order_release); /* see tracer_of */
    return 0;
}

void lt_tracers_renew(void)
{
    /* Release: an owner that finds the generation restarts after the reading of the former one, and
     * sees what the caller has set for this one. */
    atomic_fetch_add_explicit(&tracers.generation, 1, memory_order_release);
}

void lt_tracers_free(void)
{
    lt_lock(&tracers.lock);
    /* Relaxed, these two: threads use it under the lock, and workers have ended. */
    struct lt_tracer **of = atomic_load_explicit(&tracers.of, memory_order_relaxed);
    atomic_store_explicit(&tracers.of, NULL, memory_order_relaxed);
    lt_unlock(&tracers.lock);
    free_tracers(of, tracers.workers);
}
