/* ask.c: what only a worker itself can record: its tasks, its ready queue, its wheel. */
#include "watch/ask.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/world.h"
#include "block/machine.h"

#include <errno.h>

enum { ASKED, ANSWERING, ABANDONED };

struct lt_ask {
    struct lt_job job;
    /* The worker changes ASKED to ANSWERING, or the asker changes it to ABANDONED: then the worker
     * frees the ask. */
    _Atomic int state;
    struct lt_look *look;
    struct lt_worker *worker;
    struct lt_pad pad;
    int error;
    bool at_home; /* the asker is this worker, and does not wait */
    struct lt_worker_record record;
};

/* ---- on the worker ---- */

static void record_ready(struct lt_pad *pad, struct lt_ask *ask, struct lt_party *party,
                         enum lt_state state)
{
    if (party->kind == LT_JOB)
        return;
    if (party->kind == LT_TASK && state != LT_IS_QUEUED) {
        lt_record_task_at_home(pad, LT_CONTAINER(party, struct lt_task, party), state);
        return;
    }
    struct lt_record *record = lt_record_party(pad, party, state);
    if (record)
        record->worker = (int)ask->worker->index;
}

static void take_queues(struct lt_pad *pad, void *arg)
{
    struct lt_ask *ask = arg;
    struct lt_worker *worker = ask->worker;
    struct lt_task *running = lt_worker_running(worker);
    ask->record.ready = ask->record.queued = 0;
    ask->record.more = false;
    if (running)
        record_ready(pad, ask, &running->party, LT_IS_RUNNING);
    if (worker->pending)
        record_ready(pad, ask, worker->pending, LT_IS_QUEUED);
    struct lt_party *party = worker->ready_head;
    for (; party && lt_pad_step(pad, LT_A_TASK); party = party->next) {
        record_ready(pad, ask, party, LT_IS_READY);
        ask->record.ready += party->kind != LT_JOB;
    }
    ask->record.more = party != NULL;
}

struct visit {
    struct lt_worker *worker;
    leat_scope *scope;
    size_t room;
};

/* In a bounded look: the first tasks, as many as the asker takes (watch/around.c) or more. */
static void take_tasks(struct lt_pad *pad, void *arg)
{
    struct visit *visit = arg;
    struct lt_node *tasks = &visit->scope->tasks;
    size_t room = visit->room;
    lt_lock(&visit->scope->lock);
    for (struct lt_node *node = tasks->next;
         node != tasks && room > 0 && lt_pad_step(pad, LT_A_TASK); node = node->next, room--) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (lt_task_home(task) == visit->worker && task != lt_worker_running(visit->worker))
            lt_record_task_at_home(pad, task, LT_IS_WAITING);
    }
    lt_unlock(&visit->scope->lock);
}

/* In a bounded look, timers passed for each block that may be recorded: those of tasks are in the
 * wheel as well. */
enum { TIMERS = 4 };

/* A block with an alarm here cannot resume on another worker meanwhile. */
static void take_alarms(struct lt_pad *pad, void *arg)
{
    struct lt_wheel *wheel = &((struct lt_worker *)arg)->wheel;
    size_t most = pad->bounded ? TIMERS * pad->left.parties : SIZE_MAX;
    for (unsigned i = 0; i < sizeof wheel->slots / sizeof *wheel->slots; i++) {
        struct lt_node *slot = &wheel->slots[i];
        for (struct lt_node *node = slot->next; node != slot && lt_pad_step(pad, LT_A_BLOCK);
             node = node->next) {
            if (most-- == 0) {
                pad->cut = true;
                return;
            }
            struct lt_timer *timer = LT_CONTAINER(node, struct lt_timer, node);
            const struct lt_machine *machine = lt_alarm_machine(timer);
            struct lt_record *record =
                machine ? lt_record_party(pad, &machine->stackless.party, LT_IS_WAITING) : NULL;
            if (!record)
                continue;
            record->line = ((const leat_block *)(const void *)machine)->line;
            record->until = timer->deadline;
        }
    }
}

/* The tasks on the pad are still where they were. */
static void take_frames(struct lt_pad *pad, void *arg)
{
    const struct lt_ask *ask = arg;
    struct lt_frames frames;
    size_t most = pad->bounded ? LT_LOOK_STACKS : SIZE_MAX;
    for (struct lt_record *record = pad->first; record && !pad->full && most;
         record = record->next) {
        if (record->thing != LT_A_TASK || !record->complete)
            continue;
        const struct lt_task *task = LT_CONTAINER(record->self, const struct lt_task, party);
        frames.count = 0;
        if (record->state != LT_IS_RUNNING)
            lt_frames_of_task(&frames, task);
        else if (task == lt_task_self())
            lt_frames_here(&frames, ask->look->caller);
        record->frames = lt_pad_frames(pad, &frames);
        most--;
    }
}

/* Sets what the next walk may record; without a bound, nothing. */
static void allow(struct lt_ask *ask, size_t parties)
{
    if (ask->pad.bounded)
        ask->pad.left.parties = parties;
}

static int answer_for_scopes(struct lt_ask *ask)
{
    int error = 0;
    for (size_t i = 0; !error && i < ask->look->scope_count; i++) {
        const struct lt_scope_record *scope = &ask->look->scopes[i];
        if (!scope->room)
            continue;
        allow(ask, scope->room);
        error = lt_pad_take(&ask->pad, take_tasks,
                            &(struct visit){ ask->worker, scope->scope, scope->room });
    }
    return error;
}

/* Inside: so no party at home here runs meanwhile, or moves to another worker. */
static int answer(struct lt_ask *ask)
{
    struct lt_worker *worker = ask->worker;
    lt_worker_drain(worker);
    ask->record.answered = true;
    ask->record.timers = worker->wheel.count;
    allow(ask, lt_look_extra(ask->look, 2 * ask->look->worker_count));
    int error = lt_pad_take(&ask->pad, take_queues, ask);
    ask->record.queued = lt_local_queue_length(&worker->local_queue) + (worker->pending != NULL);
    if (!error)
        error = answer_for_scopes(ask);
    allow(ask, lt_look_extra(ask->look, 2 * ask->look->worker_count));
    if (!error)
        error = lt_pad_take(&ask->pad, take_alarms, worker);
    /* Last, with no lock held: a walk may take one of the dynamic linker's. */
    return error || !ask->look->caller ? error : lt_pad_take(&ask->pad, take_frames, ask);
}

static void run(struct lt_job *job)
{
    struct lt_ask *ask = LT_CONTAINER(job, struct lt_ask, job);
    int asked = ASKED;
    if (!atomic_compare_exchange_strong_explicit(&ask->state, &asked, ANSWERING,
                                                 memory_order_acquire, memory_order_acquire)) {
        lt_ask_free(ask);
        return;
    }
    ask->error = answer(ask);
    if (ask->at_home) {
        atomic_fetch_add_explicit(&ask->look->answers, 1, memory_order_relaxed);
        return;
    }
    /* Release: the asker sees the records. After this, `ask` and `look` may be gone. */
    _Atomic uint32_t *answers = &ask->look->answers;
    atomic_fetch_add_explicit(answers, 1, memory_order_release);
    lt_futex_wake(answers);
}

/* ---- the asker ---- */

/* All that a worker passes in an answer comes out of one allowance. */
size_t lt_ask_steps(const struct lt_ask *ask)
{
    return ask->pad.bounded ? lt_look_steps(&ask->look->bound) - ask->pad.left.steps : 0;
}

struct lt_pad *lt_ask_pad(struct lt_ask *ask)
{
    return &ask->pad;
}

void lt_ask_free(struct lt_ask *ask)
{
    if (ask)
        lt_pad_free(&ask->pad);
    lt_free(ask);
}

static struct lt_ask *make(struct lt_look *look, struct lt_worker *worker)
{
    struct lt_ask *ask = lt_alloc(sizeof *ask);
    if (!ask)
        return NULL;
    ask->job = (struct lt_job){ .party.kind = LT_JOB, .run = run, .place = LT_AT_HOME };
    ask->look = look;
    ask->worker = worker;
    lt_pad_init(&ask->pad);
    ask->pad.hasty = true;
    if (!look->bounded)
        return ask;
    ask->pad.left.steps = lt_look_steps(&look->bound);
    /* So that a worker hardly ever has to allocate. */
    if (lt_pad_bound(&ask->pad, 2 * look->bound.parties / look->worker_count + 100))
        return ask;
    lt_ask_free(ask);
    return NULL;
}

/* In a seeded world the caller is all workers, even while it is a simulated thread. */
static bool is_mine(const struct lt_ask *ask)
{
    return lt_world() || ask->worker == lt_worker_self();
}

static void answer_myself(struct lt_ask *ask)
{
    ask->at_home = true;
    bool before = lt_worker_enter(ask->worker);
    run(&ask->job);
    lt_worker_leave(ask->worker, before);
}

int lt_ask_all(struct lt_look *look)
{
    for (unsigned i = 0; i < look->worker_count; i++)
        if (!(look->asks[i] = make(look, lt_runtime.workers[i])))
            return -ENOMEM;
    for (unsigned i = 0; i < look->worker_count; i++)
        if (!is_mine(look->asks[i]))
            lt_worker_post(lt_runtime.workers[i], &look->asks[i]->job.party);
    for (unsigned i = 0; i < look->worker_count; i++)
        if (is_mine(look->asks[i]))
            answer_myself(look->asks[i]);
    return 0;
}

/* Leaves an ask that the worker has not begun to answer to the worker. */
static void abandon(struct lt_look *look, unsigned i)
{
    int asked = ASKED;
    /* Release: the worker frees the ask after this. */
    if (atomic_compare_exchange_strong_explicit(&look->asks[i]->state, &asked, ABANDONED,
                                                memory_order_release, memory_order_relaxed))
        look->asks[i] = NULL;
}

static unsigned asked(const struct lt_look *look)
{
    unsigned n = 0;
    for (unsigned i = 0; i < look->worker_count; i++)
        n += look->asks[i] != NULL;
    return n;
}

/* Whether all workers that were asked, and not abandoned, have answered by the deadline. */
static bool wait_until(struct lt_look *look, int64_t deadline)
{
    for (;;) {
        uint32_t n = atomic_load_explicit(&look->answers, memory_order_acquire);
        if (n == asked(look))
            return true;
        if (lt_clock_now() >= deadline)
            return false;
        lt_futex_wait(&look->answers, n, deadline);
    }
}

int lt_ask_wait(struct lt_look *look)
{
    int error = 0;
    if (!wait_until(look, look->now + look->answer_ms * LEAT_MS)) {
        for (unsigned i = 0; i < look->worker_count; i++)
            abandon(look, i);
        wait_until(look, LEAT_NEVER); /* workers that have begun to answer are soon done */
    }
    for (unsigned i = 0; i < look->worker_count; i++) {
        if (!look->asks[i])
            continue;
        look->workers[i] = look->asks[i]->record;
        error = error ? error : look->asks[i]->error;
    }
    return error;
}
