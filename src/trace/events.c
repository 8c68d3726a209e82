#include "trace/events.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "sched/current.h"
#include "sched/runtime.h"

#include <errno.h>
#include <string.h>

#ifdef LEAT_HARSH
enum { CHUNK = 64, MOST_CHUNKS = 4096, LATE_CHUNKS = 64, LATE_NAMES = 2 };
#else
/* 128 MiB of events; for a late trace 12 MiB, and 4 MiB of names. */
enum { CHUNK = 8192, MOST_CHUNKS = 512, LATE_CHUNKS = 48, LATE_NAMES = 256 };
#endif
enum { TYPES = 256, NAME_CHUNK = 16 * 1024, LONGEST_NAME = 200 };

struct lt_trace_chunk {
    struct lt_trace_chunk *next; /* written once, before the owner goes on to the next */
    _Alignas(16) char bytes[];   /* events, or names */
};

/* Chunks. Those made for an earlier generation stay in the list after `last`. */
struct chunks {
    struct lt_trace_chunk *first, *last; /* last: NULL at the beginning */
    size_t size, left;                   /* bytes of each chunk; how many more may be made */
};

/* The name of a type of block, copied once. */
struct known {
    const void *type;
    const char *name;
};

struct lt_tracer {
    _Atomic uint64_t generation;
    _Atomic size_t count; /* of events */
    _Atomic uint64_t lost;
    bool stale; /* lt_tracer_is_fresh has been called */
    struct chunks events, names;
    size_t names_used; /* bytes of the last chunk */
    struct known known[TYPES];
};

static struct {
    _Atomic uint64_t generation;
    struct lt_tracer **_Atomic of; /* one for each worker, and one for all threads; or NULL */
    struct lt_lock lock;           /* guards the threads' tracer, and the end of `of` */
} tracers;

static bool next_chunk(struct chunks *in)
{
    struct lt_trace_chunk **next = in->last ? &in->last->next : &in->first;
    if (!*next) {
        *next = in->left ? lt_alloc_unset(sizeof **next + in->size) : NULL;
        if (!*next)
            return false;
        (*next)->next = NULL;
        in->left--;
    }
    in->last = *next;
    return true;
}

/* Called by the owner: no events of the former generation are read any more. */
LT_COLD static void restart(struct lt_tracer *t, uint64_t generation)
{
    t->events.last = t->names.last = NULL;
    t->stale = false;
    memset(t->known, 0, sizeof t->known);
    atomic_store_explicit(&t->count, 0, memory_order_relaxed);
    atomic_store_explicit(&t->lost, 0, memory_order_relaxed);
    /* Release: a reader that finds this generation finds its counts. */
    atomic_store_explicit(&t->generation, generation, memory_order_release);
}

/* With NULL also the threads' tracer, whose lock the caller holds. */
struct lt_tracer *lt_tracer_of(const struct lt_worker *worker)
{
    /* Acquire: the tracers are complete. The probe flag does not order that. */
    struct lt_tracer **of = atomic_load_explicit(&tracers.of, memory_order_acquire);
    struct lt_tracer *t = of ? of[worker ? worker->index : lt_runtime.worker_count] : NULL;
    /* Acquire: the former generation was read before. */
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

void lt_tracer_put(struct lt_tracer *t, struct lt_event event)
{
    /* Relaxed: only the owner writes it. */
    size_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    if (count % CHUNK == 0 && !next_chunk(&t->events)) {
        lt_tally_add(&t->lost, 1);
        return;
    }
    ((struct lt_event *)(void *)t->events.last->bytes)[count % CHUNK] = event;
    /* Release: a reader that counts the event finds it, its text and its chunk. */
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
}

void lt_tracer_put_now(struct lt_tracer *t, struct lt_event event)
{
    event.at = lt_clock_now();
    lt_tracer_put(t, event);
}

void lt_trace_put(struct lt_event event)
{
    const struct lt_worker *worker = lt_current_worker();
    if (!worker)
        lt_lock(&tracers.lock);
    struct lt_tracer *t = lt_tracer_of(worker);
    if (t)
        lt_tracer_put_now(t, event);
    if (!worker)
        lt_unlock(&tracers.lock);
}

const char *lt_tracer_copy_name(struct lt_tracer *t, const char *name)
{
    if (!name)
        return NULL;
    size_t length = strnlen(name, LONGEST_NAME);
    if (!t->names.last || t->names_used + length + 1 > NAME_CHUNK) {
        if (!next_chunk(&t->names))
            return NULL;
        t->names_used = 0;
    }
    char *to = t->names.last->bytes + t->names_used;
    memcpy(to, name, length);
    to[length] = '\0';
    t->names_used += length + 1;
    return to;
}

const char *lt_tracer_name_of_type(struct lt_tracer *t, const leat_block_type *type)
{
    size_t at = (uintptr_t)type / sizeof *type % TYPES;
    for (unsigned tries = 0; tries < TYPES; tries++, at = (at + 1) % TYPES) {
        struct known *known = &t->known[at];
        if (!known->type)
            *known = (struct known){ type, lt_tracer_copy_name(t, type->name) };
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
    uint64_t now = atomic_load_explicit(&tracers.generation, memory_order_relaxed);
    /* Acquire: see restart. The present generation is the reader's own. */
    return atomic_load_explicit(&t->generation, memory_order_acquire) == now ? t : NULL;
}

static uint64_t lost_by(const struct lt_tracer *t)
{
    /* Relaxed: it may miss some of the last ones. */
    return atomic_load_explicit(&t->lost, memory_order_relaxed);
}

struct lt_track lt_trace_track(unsigned i)
{
    struct lt_tracer *t = tracer_to_read(i);
    /* Acquire: see put. */
    size_t count = t ? atomic_load_explicit(&t->count, memory_order_acquire) : 0;
    return (struct lt_track){ .chunk = count ? t->events.first : NULL,
                              .left = count,
                              .lost = t && lost_by(t) };
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
    return (struct lt_event *)(void *)track->chunk->bytes + track->at++;
}

uint64_t lt_tracers_lost(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= lt_runtime.worker_count; i++) {
        struct lt_tracer *t = tracer_to_read(i);
        sum += t ? lost_by(t) : 0;
    }
    return sum;
}

static void free_chunks(struct lt_trace_chunk *chunk)
{
    for (struct lt_trace_chunk *next; chunk; chunk = next) {
        next = chunk->next;
        lt_free(chunk);
    }
}

static void free_tracers(struct lt_tracer **of)
{
    for (unsigned i = 0; of && i <= lt_runtime.worker_count && of[i]; i++) {
        free_chunks(of[i]->events.first);
        free_chunks(of[i]->names.first);
        lt_free(of[i]);
    }
    lt_free(of);
}

static struct lt_tracer *make_tracer(bool late)
{
    struct lt_tracer *t = lt_alloc(sizeof *t);
    if (!t)
        return NULL;
    t->events = (struct chunks){ .size = CHUNK * sizeof(struct lt_event),
                                 .left = late ? LATE_CHUNKS : MOST_CHUNKS };
    t->names = (struct chunks){ .size = NAME_CHUNK, .left = late ? LATE_NAMES : SIZE_MAX };
    return t;
}

int lt_tracers_make(bool late)
{
    if (atomic_load_explicit(&tracers.of, memory_order_relaxed))
        return 0;
    struct lt_tracer **of = lt_alloc((lt_runtime.worker_count + 1) * sizeof(struct lt_tracer *));
    bool made = of != NULL;
    for (unsigned i = 0; made && i <= lt_runtime.worker_count; i++)
        made = (of[i] = make_tracer(late)) != NULL;
    if (!made) {
        free_tracers(of);
        return -ENOMEM;
    }
    atomic_store_explicit(&tracers.of, of, memory_order_release); /* see tracer_of */
    return 0;
}

void lt_tracers_begin(void)
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
    free_tracers(of);
}
