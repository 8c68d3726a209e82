#include "watch/ask.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/world.h"
#include "block/machine.h"

#include <leat/task.h>

#include <errno.h>

/* The worker changes ASKED to ANSWERING, or the asker changes it to ABANDONED. Then the worker does
 * not touch the look. */
enum { ASKED, ANSWERING, ABANDONED };

struct ask {
    struct lt_job job;
    _Atomic int state;
    unsigned worker;
    struct lt_asks *asks;
};

/* All asks of a look. They exist until the asker and all workers have dropped them. */
struct lt_asks {
    _Atomic unsigned users;
    struct lt_look *look;
    struct ask each[];
};

static void drop(struct lt_asks *asks)
{
    /* Release: each user's part comes before the end. Acquire: for the last user. */
    if (atomic_fetch_sub_explicit(&asks->users, 1, memory_order_acq_rel) == 1)
        lt_free(asks);
}

/* ---- on the worker: inside, so no party at home here runs or moves meanwhile ---- */

/* Sets what the next walk may record; does nothing without a bound. All that a worker passes in one
 * answer comes out of one allowance. */
static void allow(struct lt_pad *pad, size_t parties)
{
    if (pad->bounded)
        pad->left.parties = parties;
}

static void record_ready(struct lt_pad *pad, const struct lt_worker *worker,
                         const struct lt_party *party, enum lt_state state)
{
    if (party->kind == LT_JOB)
        return;
    if (party->kind == LT_TASK && state != LT_IS_QUEUED) {
        lt_record_task_at_home(pad, LT_CONTAINER(party, const struct lt_task, party), state);
        return;
    }
    struct lt_record *record = lt_record_party(pad, party, state);
    if (record)
        record->worker = (int)worker->index;
}

static void record_queues(struct lt_pad *pad, struct lt_worker *worker, struct lt_worker_record *to)
{
    struct lt_task *running = lt_worker_running(worker);
    struct lt_party *party = worker->ready_head;
    if (running)
        record_ready(pad, worker, &running->party, LT_IS_RUNNING);
    if (worker->pending)
        record_ready(pad, worker, worker->pending, LT_IS_QUEUED);
    for (; party && lt_pad_step(pad, LT_A_TASK); party = party->next) {
        record_ready(pad, worker, party, LT_IS_READY);
        to->ready += party->kind != LT_JOB;
    }
    to->queued = lt_local_queue_length(&worker->local_queue) + (worker->pending != NULL);
}

/* In a bounded look: the first tasks, at least as many as the asker takes (watch/find.c). */
static void record_tasks(struct lt_pad *pad, const struct lt_worker *worker,
                         const struct lt_scope_record *in)
{
    struct lt_node *tasks = &in->scope->tasks;
    size_t room = in->room;
    if (!room)
        return;
    allow(pad, room);
    lt_lock(&in->scope->lock);
    for (struct lt_node *node = tasks->next;
         node != tasks && room > 0 && lt_pad_step(pad, LT_A_TASK); node = node->next, room--) {
        struct lt_task *task = LT_CONTAINER(node, struct lt_task, member);
        if (lt_task_home(task) == worker && task != lt_worker_running(worker))
            lt_record_task_at_home(pad, task, LT_IS_WAITING);
    }
    lt_unlock(&in->scope->lock);
}

/* In a bounded look: timers passed for each block that may be recorded. The wheel has the timers of
 * tasks, too. */
enum { TIMERS = 4 };

/* A block with an alarm here cannot resume on another worker meanwhile. */
static void record_alarms(struct lt_pad *pad, struct lt_wheel *wheel)
{
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

/* In a bounded look: the call stacks that a worker walks. */
enum { STACKS = 32 };

/* The tasks on the pad are still where they were recorded. */
static void record_frames(struct lt_pad *pad, const void *caller)
{
    struct lt_frames frames;
    size_t most = pad->bounded ? STACKS : SIZE_MAX;
    for (struct lt_record *record = pad->first; record && !pad->failed && most;
         record = record->next) {
        if (record->thing != LT_A_TASK || !record->complete)
            continue;
        const struct lt_task *task = LT_CONTAINER(record->self, const struct lt_task, party);
        frames.count = 0;
        if (record->state != LT_IS_RUNNING)
            lt_frames_of_task(&frames, task);
        else if (task == lt_task_self())
            lt_frames_here(&frames, caller);
        record->frames = lt_pad_frames(pad, &frames);
        most--;
    }
}

static void answer(struct lt_look *look, unsigned i)
{
    struct lt_worker *worker = lt_runtime.workers[i];
    struct lt_worker_record *to = &look->workers[i];
    struct lt_pad *pad = &look->pads[1 + i];
    lt_worker_drain(worker);
    to->answered = true;
    to->timers = worker->wheel.count;
    allow(pad, lt_look_extra(look, 2 * look->worker_count));
    record_queues(pad, worker, to);
    for (size_t k = 0; k < look->scope_count; k++)
        record_tasks(pad, worker, &look->scopes[k]);
    allow(pad, lt_look_extra(look, 2 * look->worker_count));
    record_alarms(pad, &worker->wheel);
    /* Last, with no lock held: a walk may take one of the dynamic linker's locks. */
    if (look->caller)
        record_frames(pad, look->caller);
}

static void run(struct lt_job *job)
{
    struct ask *ask = LT_CONTAINER(job, struct ask, job);
    struct lt_asks *asks = ask->asks;
    int asked = ASKED;
    if (atomic_compare_exchange_strong_explicit(&ask->state, &asked, ANSWERING,
                                                memory_order_acquire, memory_order_acquire)) {
        _Atomic uint32_t *answers = &asks->look->answers;
        answer(asks->look, ask->worker);
        /* Release: the asker sees the records. After this, the look may be gone. */
        atomic_fetch_add_explicit(answers, 1, memory_order_release);
        lt_futex_wake(answers);
    }
    drop(asks);
}

/* ---- the asker ---- */

/* In a seeded world the caller is all workers, even while it is a simulated thread. */
static bool is_mine(unsigned i)
{
    return lt_world() || lt_runtime.workers[i] == lt_current_worker();
}

static void answer_myself(struct ask *ask)
{
    struct lt_worker *worker = lt_runtime.workers[ask->worker];
    bool before = lt_worker_enter(worker);
    run(&ask->job);
    lt_worker_leave(worker, before);
}

int lt_look_ask(struct lt_look *look)
{
    unsigned n = look->worker_count;
    struct lt_asks *asks = look->asks = lt_alloc(sizeof *asks + n * sizeof *asks->each);
    if (!asks)
        return -ENOMEM;
    asks->look = look;
    /* Relaxed: posting publishes it. */
    atomic_store_explicit(&asks->users, n + 1, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        asks->each[i].job = (struct lt_job){ .party.kind = LT_JOB, .run = run, .inside = true };
        asks->each[i].worker = i;
        asks->each[i].asks = asks;
        if (!is_mine(i))
            lt_worker_post(lt_runtime.workers[i], &asks->each[i].job.party);
    }
    for (unsigned i = 0; i < n; i++)
        if (is_mine(i))
            answer_myself(&asks->each[i]);
    return 0;
}

/* Leaves an ask that the worker has not begun to answer. */
static bool abandon(struct ask *ask)
{
    int asked = ASKED;
    /* Release: the worker may free the asks after this. */
    return atomic_compare_exchange_strong_explicit(&ask->state, &asked, ABANDONED,
                                                   memory_order_release, memory_order_relaxed);
}

/* Whether n workers have answered by the deadline. */
static bool wait_until(struct lt_look *look, unsigned n, int64_t deadline)
{
    for (;;) {
        uint32_t answers = atomic_load_explicit(&look->answers, memory_order_acquire);
        if (answers == n)
            return true;
        if (lt_clock_now() >= deadline)
            return false;
        lt_futex_wait(&look->answers, answers, deadline);
    }
}

void lt_look_hear(struct lt_look *look)
{
    unsigned n = look->worker_count;
    if (!wait_until(look, n, look->now + look->answer_ms * LEAT_MS)) {
        for (unsigned i = 0; i < look->worker_count; i++)
            n -= abandon(&look->asks->each[i]);
        wait_until(look, n, LEAT_NEVER); /* workers that have begun to answer finish soon */
    }
    drop(look->asks);
}

int lt_look_turn(void)
{
    int error;
    while ((error = lt_runtime_look()) == -EBUSY) {
        leat_yield();
        lt_nap(50 * LEAT_US);
    }
    return error;
}
