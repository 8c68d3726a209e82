#include "trace/trace.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/lock.h"
#include "sched/probe.h"
#include "sched/runtime.h"

#include <leat/block.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- tracers: what a trace collects, and how it is read while others still write ----
 *
 * Each worker has a tracer: a list of events that only this worker writes, without a lock. Threads
 * that are no workers share one tracer, under a lock. A full list grows. Events for which there is
 * no memory are lost, and counted.
 *
 * Generations. Each trace has a number, its generation. The owner of a tracer finds at its next
 * event that the tracer's generation is old, and only then starts the list anew. So nothing is
 * taken from an owner that still appends an event when the trace has ended, and the end waits for
 * no worker:
 *  - A reader reads a tracer only if the tracer has the present generation, and then as many events
 *    as the tracer's count tells. The owner only appends until the next generation begins, which is
 *    after the reading.
 *  - A tracer with an older generation has no event of the present one.
 * Tracers and their memory stay until the runtime ends, for the next trace. */
#ifdef LEAT_HARSH
enum { CHUNK = 64, MOST_CHUNKS = 4096, LATE_CHUNKS = 64, LATE_NAMES = 2 };
#else
/* 128 MiB of events; 12 MiB and 4 MiB of names. */
enum { CHUNK = 8192, MOST_CHUNKS = 512, LATE_CHUNKS = 48, LATE_NAMES = 256 };
#endif
enum { TYPES = 256, NAME_CHUNK = 16 * 1024, LONGEST_NAME = 200 };

struct lt_trace_chunk {
    struct lt_trace_chunk *next; /* written once, before the owner goes on to the next */
    _Alignas(16) char bytes[];   /* events, or names */
};

/* Chunks. What an earlier generation has made stays in the list behind `last`. */
struct chunks {
    struct lt_trace_chunk *first, *last; /* last: NULL at the beginning */
    size_t size, left;                   /* of each one's bytes; how many more may be made */
};

/* The name of a type of block, copied once. */
struct known {
    const void *type;
    const char *name;
};

struct tracer {
    _Atomic uint64_t generation;
    _Atomic size_t count; /* of events */
    _Atomic uint64_t lost;
    bool stale; /* is_fresh has been called */
    struct chunks events, names;
    size_t names_used; /* bytes of the last chunk */
    struct known known[TYPES];
};

static struct {
    _Atomic uint64_t generation;
    unsigned workers;           /* written while there are no tracers */
    struct tracer **_Atomic of; /* each worker's, and one for all threads; or NULL */
    struct lt_lock lock;        /* guards the threads' tracer, and the end of `of` */
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

/* By the owner: nobody reads events of the former generation any more. */
LT_COLD static void restart(struct tracer *t, uint64_t generation)
{
    t->events.last = t->names.last = NULL;
    t->stale = false;
    memset(t->known, 0, sizeof t->known);
    atomic_store_explicit(&t->count, 0, memory_order_relaxed);
    atomic_store_explicit(&t->lost, 0, memory_order_relaxed);
    /* Release: a reader that finds this generation finds its counts. */
    atomic_store_explicit(&t->generation, generation, memory_order_release);
}

/* The tracer of the calling worker, in the present generation; NULL: there are no tracers. Also for
 * the threads' tracer, with its lock held: `worker` is NULL. */
static struct tracer *tracer_of(const struct lt_worker *worker)
{
    /* Acquire: the tracers are complete. The flag that led here does not order that. */
    struct tracer **of = atomic_load_explicit(&tracers.of, memory_order_acquire);
    struct tracer *t = of ? of[worker ? worker->index : tracers.workers] : NULL;
    /* Acquire: the reading of the former generation came before. */
    uint64_t generation = atomic_load_explicit(&tracers.generation, memory_order_acquire);
    /* Relaxed: only the owner writes it. */
    if (t && atomic_load_explicit(&t->generation, memory_order_relaxed) != generation)
        restart(t, generation);
    return t;
}

/* ---- collecting, by owners ---- */

/* True for the first call in this generation. */
static bool is_fresh(struct tracer *t)
{
    bool fresh = !t->stale;
    t->stale = true;
    return fresh;
}

/* May allocate under a channel's lock: there is no bound on the events between two places without a
 * lock, and the allocator takes no lock of leat's. */
static void put(struct tracer *t, struct lt_event event)
{
    /* Relaxed, these two: only the owner writes them. */
    size_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
    if (count % CHUNK == 0 && !next_chunk(&t->events)) {
        uint64_t lost = atomic_load_explicit(&t->lost, memory_order_relaxed);
        atomic_store_explicit(&t->lost, lost + 1, memory_order_relaxed);
        return;
    }
    ((struct lt_event *)(void *)t->events.last->bytes)[count % CHUNK] = event;
    /* Release: a reader that counts the event finds it, its text and its chunk. */
    atomic_store_explicit(&t->count, count + 1, memory_order_release);
}

static void put_now(struct tracer *t, struct lt_event event)
{
    event.at = lt_clock_now();
    put(t, event);
}

/* From any thread. */
static void put_from_anywhere(struct lt_event event)
{
    const struct lt_worker *worker = lt_current_worker();
    if (!worker)
        lt_lock(&tracers.lock);
    struct tracer *t = tracer_of(worker);
    if (t)
        put_now(t, event);
    if (!worker)
        lt_unlock(&tracers.lock);
}

/* A copy that lasts for this generation; NULL when there is no memory, or no name. */
static const char *copy_name(struct tracer *t, const char *name)
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

/* The copy of a type's name, which is made once. */
static const char *name_of_type(struct tracer *t, const leat_block_type *type)
{
    size_t at = (uintptr_t)type / sizeof *type % TYPES;
    for (unsigned tries = 0; tries < TYPES; tries++, at = (at + 1) % TYPES) {
        struct known *known = &t->known[at];
        if (!known->type)
            *known = (struct known){ type, copy_name(t, type->name) };
        if (known->type == type)
            return known->name;
    }
    return NULL;
}

/* ---- reading ---- */

/* The tracer, if it has events of the present generation. */
static struct tracer *tracer_to_read(unsigned i)
{
    struct tracer *t = atomic_load_explicit(&tracers.of, memory_order_relaxed)[i];
    uint64_t now = atomic_load_explicit(&tracers.generation, memory_order_relaxed);
    /* Acquire: see restart. The present generation is the reader's own. */
    return atomic_load_explicit(&t->generation, memory_order_acquire) == now ? t : NULL;
}

struct lt_track lt_trace_track(unsigned i)
{
    struct tracer *t = tracer_to_read(i);
    /* Acquire: see put. */
    size_t count = t ? atomic_load_explicit(&t->count, memory_order_acquire) : 0;
    return (struct lt_track){ .chunk = count ? t->events.first : NULL, .left = count };
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

/* How many events of this generation were lost. */
static uint64_t count_lost(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i <= tracers.workers; i++) {
        struct tracer *t = tracer_to_read(i);
        /* Relaxed: how many of the last ones it counts does not matter. */
        sum += t ? atomic_load_explicit(&t->lost, memory_order_relaxed) : 0;
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

static void free_tracers(struct tracer **of, unsigned workers)
{
    for (unsigned i = 0; of && i <= workers && of[i]; i++) {
        free_chunks(of[i]->events.first);
        free_chunks(of[i]->names.first);
        lt_free(of[i]);
    }
    lt_free(of);
}

static struct tracer *make_tracer(bool late)
{
    struct tracer *t = lt_alloc(sizeof *t);
    if (!t)
        return NULL;
    t->events = (struct chunks){ .size = CHUNK * sizeof(struct lt_event),
                                 .left = late ? LATE_CHUNKS : MOST_CHUNKS };
    t->names = (struct chunks){ .size = NAME_CHUNK, .left = late ? LATE_NAMES : SIZE_MAX };
    return t;
}

/* Makes the tracers, unless they are there: each with room for a trace of a whole run, or for a
 * late one. 0 or -ENOMEM. */
static int make_tracers(bool late)
{
    if (atomic_load_explicit(&tracers.of, memory_order_relaxed))
        return 0;
    unsigned workers = lt_runtime.worker_count;
    struct tracer **of = lt_alloc((workers + 1) * sizeof(struct tracer *));
    bool made = of != NULL;
    for (unsigned i = 0; made && i <= workers; i++)
        made = (of[i] = make_tracer(late)) != NULL;
    if (!made) {
        free_tracers(of, workers);
        return -ENOMEM;
    }
    tracers.workers = workers;
    atomic_store_explicit(&tracers.of, of, memory_order_release); /* see tracer_of */
    return 0;
}

/* When all workers have ended. */
static void free_all(void)
{
    lt_lock(&tracers.lock);
    /* Relaxed, these two: threads use it under the lock, and workers have ended. */
    struct tracer **of = atomic_load_explicit(&tracers.of, memory_order_relaxed);
    atomic_store_explicit(&tracers.of, NULL, memory_order_relaxed);
    lt_unlock(&tracers.lock);
    free_tracers(of, tracers.workers);
}

/* ---- the probes ---- */

static struct {
    _Atomic bool taken; /* a trace is being taken: its taker uses `file` and `now` */
    FILE *file;         /* of a whole trace */
    struct lt_recording now;
    _Atomic int64_t begin; /* of this generation's late trace; 0: not known yet, or a whole trace */
} trace;

static uint64_t identity(const struct lt_party *party)
{
    if (!party)
        return 0;
    return party->kind == LT_TASK ? LT_CONTAINER(party, struct lt_task, party)->number
                                  : (uint64_t)(uintptr_t)party;
}

static void name_task(struct tracer *t, const struct lt_task *task)
{
    put_now(t, (struct lt_event){
                   .kind = LT_EV_TASK, .number = task->number, .text = copy_name(t, task->name) });
}

/* The worker leaves `task`, and has not told of any other since the late trace began: so it has run
 * this task since then. */
static void ran_before(struct tracer *t, const struct lt_task *task)
{
    /* Relaxed: 0, or the beginning of this generation. If it is that of a later one, nobody reads
     * this tracer before its owner restarts it. */
    int64_t begin = atomic_load_explicit(&trace.begin, memory_order_relaxed);
    if (!begin)
        return;
    name_task(t, task);
    put(t,
        (struct lt_event){ .at = begin, .kind = LT_EV_RUNS, .party = task->number, .number = 1 });
}

void lt_trace_switch(struct lt_worker *worker, struct lt_task *from, struct lt_task *to)
{
    unsigned probing = lt_probing();
    if (probing & LT_PROBE_WAITS && from)
        from->left = lt_clock_now();
    struct tracer *t = probing & LT_PROBE_TRACE ? tracer_of(worker) : NULL;
    if (!t)
        return;
    if (is_fresh(t) && from)
        ran_before(t, from);
    if (to && !to->sp) /* its first time */
        name_task(t, to);
    put_now(t, (struct lt_event){
                   .kind = LT_EV_RUNS, .party = to ? to->number : 0, .number = to != NULL });
}

void lt_trace_step(struct lt_worker *worker, const struct lt_party *party)
{
    struct tracer *t = tracer_of(worker);
    const char *name = NULL;
    if (!t)
        return;
    is_fresh(t);                        /* from now on it is not */
    if (party && party->kind == LT_JOB) /* leat's own work */
        party = NULL;
    if (party && party->kind == LT_BLOCK)
        name = name_of_type(t, ((const leat_block *)(const void *)party)->type);
    put_now(t, (struct lt_event){ .kind = LT_EV_RUNS, .party = identity(party), .text = name });
}

void lt_trace_items(uint32_t channel, bool sent, uint64_t n, const struct lt_party *partner)
{
    put_from_anywhere((struct lt_event){ .kind = sent ? LT_EV_SENT : LT_EV_RECEIVED,
                                         .number = channel,
                                         .count = n,
                                         .party = identity(partner) });
}

void lt_trace_new_channel(uint32_t channel, const char *name)
{
    struct lt_worker *worker = lt_current_worker();
    /* The name of a thread's channel is not kept: to copy it would take the threads' lock. */
    struct tracer *t = worker ? tracer_of(worker) : NULL;
    put_from_anywhere((struct lt_event){
        .kind = LT_EV_CHANNEL, .number = channel, .text = t ? copy_name(t, name) : NULL });
}

void lt_trace_scope(uint32_t scope, bool opened)
{
    put_from_anywhere(
        (struct lt_event){ .kind = opened ? LT_EV_OPENED : LT_EV_CLOSED, .number = scope });
}

/* ---- beginning and end ---- */

static bool take(void)
{
    /* Acquire: the former trace is over. */
    return !atomic_exchange_explicit(&trace.taken, true, memory_order_acquire);
}

static void give_up(void)
{
    lt_look_end(&trace.now.look);
    trace.now = (struct lt_recording){ 0 };
    atomic_store_explicit(&trace.taken, false, memory_order_release); /* see take */
}

/* Begins a generation. Until the next one, or free_all, this one can be read. */
static int begin(bool late)
{
    int error = make_tracers(late);
    if (error)
        return error;
    /* Until the beginning is known: then all workers see the flag. */
    atomic_store_explicit(&trace.begin, 0, memory_order_relaxed);
    trace.now.late = late;
    trace.now.workers = lt_runtime.worker_count;
    /* Release: an owner that finds the generation restarts after the reading of the former one, and
     * sees what the caller has set for this one. */
    atomic_fetch_add_explicit(&tracers.generation, 1, memory_order_release);
    return 0;
}

int lt_trace_begin(const char *file)
{
    int saved = errno;
    if (!take())
        return -EBUSY;
    int error = begin(false);
    if (!error && !(trace.file = fopen(file, "we")))
        error = -errno;
    if (error)
        lt_trace_end();
    errno = saved;
    return error;
}

static void end_file(void)
{
    trace.now.lost = count_lost();
    int saved = errno, error = lt_trace_write(trace.file, &trace.now);
    if (fclose(trace.file) != 0 && !error)
        error = -EIO;
    trace.file = NULL;
    if (error)
        dprintf(STDERR_FILENO, "leat: the trace could not be written\n");
    errno = saved;
}

void lt_trace_end(void)
{
    if (trace.file)
        end_file();
    free_all();
    give_up();
}

static void show_switches(bool on)
{
    /* Acquire: what the caller does next, such as reading the clock, comes after it. Release: what
     * the caller has done came before. Other bits keep. */
    if (on)
        atomic_fetch_or_explicit(&lt_probe_flags, LT_PROBE_TRACE, memory_order_acq_rel);
    else
        atomic_fetch_and_explicit(&lt_probe_flags, ~(unsigned)LT_PROBE_TRACE, memory_order_acq_rel);
}

/* Switches on before the look: each task has started before, and the look finds it, or the switch
 * to it tells its name. */
static int look_on(struct lt_recording *now)
{
    show_switches(true);
    now->begin = lt_clock_now();
    atomic_store_explicit(&trace.begin, now->begin, memory_order_relaxed);
    int error = lt_look_begin(&now->look, NULL, LT_LOOK_USUAL);
    now->looked = lt_clock_now();
    if (error)
        now->look = (struct lt_look){ 0 };
    return error == -EINVAL ? 0 : error; /* -EINVAL: the runtime stops, and nothing is left */
}

int lt_trace_record(void)
{
    if (!take())
        return -EBUSY;
    int error = begin(true);
    if (!error)
        error = look_on(&trace.now);
    if (error) {
        show_switches(false);
        give_up();
    }
    return error;
}

int lt_trace_end_record(FILE *to)
{
    int saved = errno;
    show_switches(false);
    trace.now.end = lt_clock_now();
    trace.now.lost = count_lost();
    int error = to ? lt_trace_write(to, &trace.now) : 0;
    if (to && fflush(to) != 0 && !error)
        error = -EIO;
    give_up();
    errno = saved;
    return error;
}
