#include "sim/sim.h"

#include "base/alloc.h"
#include "base/util.h"
#include "sched/current.h"
#include "sched/guard.h"
#include "sched/host.h"

#include <errno.h>

/* A thread's calls may nest deeper than a task's. Only touched pages cost memory. */
enum { THREAD_STACK = 1024 * 1024 };

/* From here on the running party is the thread; after become_carrier, its carrier again. */
static void become(struct lt_sim_thread *thread)
{
    lt_set_current_worker(NULL);
    lt_set_current_party(&thread->thread.party);
    lt_guard_lend(thread->carrier->stack);
}

static void become_carrier(struct lt_sim_thread *thread)
{
    lt_set_current_worker(lt_task_home(thread->carrier));
    lt_set_current_party(&thread->carrier->party);
    lt_guard_lend(NULL);
}

static int carry(void *argument)
{
    struct lt_sim_thread *thread = argument;
    become(thread);
    thread->work->run(thread->work);
    become_carrier(thread);
    lt_list_remove(&thread->node);
    lt_free(thread);
    return 0;
}

struct lt_sim_thread *lt_sim_carried(const struct lt_task *task)
{
    return task->fn == carry ? task->arg : NULL;
}

int lt_sim_start(struct lt_work *work)
{
    struct lt_sim *sim = lt_sim_current();
    struct lt_sim_thread *thread = lt_alloc(sizeof *thread);
    if (!thread)
        return -ENOMEM;
    thread->carrier = lt_task_new(carry, thread, NULL, THREAD_STACK);
    if (!thread->carrier) {
        lt_free(thread);
        return -ENOMEM;
    }
    thread->carrier->stays = true; /* its worker's wheel has the timer of a sleep */
    thread->thread.party.kind = LT_THREAD;
    thread->thread.party.enlisted = true; /* as in lt_current_introduce */
    thread->work = work;
    lt_list_append(&sim->threads, &thread->node);
    lt_launch(&thread->carrier->party);
    return 0;
}

/* ---- sleeping ---- */

static void wake_up(struct lt_sim_thread *thread)
{
    thread->sleeps_on = NULL;
    lt_worker_append_inside(lt_task_home(thread->carrier), &thread->carrier->party);
}

static void time_is_up(struct lt_timer *timer)
{
    struct lt_sim_thread *thread = LT_CONTAINER(timer, struct lt_sim_thread, timer);
    if (thread->sleeps_on)
        wake_up(thread);
}

bool lt_sim_sleep(_Atomic uint32_t *word, uint32_t expected, int64_t deadline)
{
    struct lt_party *self = lt_current_party();
    if (self->kind != LT_THREAD)
        return false;
    if (atomic_load_explicit(word, memory_order_relaxed) != expected || deadline <= lt_world()->now)
        return true;
    struct lt_sim_thread *thread = LT_CONTAINER(self, struct lt_sim_thread, thread.party);
    become_carrier(thread);
    struct lt_wheel *wheel = &lt_current_worker()->wheel;
    thread->sleeps_on = word;
    thread->timer.deadline = deadline;
    thread->timer.fire = time_is_up;
    if (deadline != LEAT_NEVER)
        lt_wheel_add(wheel, &thread->timer);
    lt_task_park(thread->carrier);
    if (deadline != LEAT_NEVER)
        lt_wheel_remove(wheel, &thread->timer);
    become(thread);
    return true;
}

bool lt_sim_wake(_Atomic uint32_t *word)
{
    struct lt_sim *sim = lt_sim_current();
    for (struct lt_node *node = sim->threads.next; node != &sim->threads; node = node->next) {
        struct lt_sim_thread *thread = LT_CONTAINER(node, struct lt_sim_thread, node);
        if (thread->sleeps_on == word)
            wake_up(thread);
        else if (&thread->thread.word != word)
            continue;
        return true;
    }
    return false;
}

void lt_sim_thread_yield(struct lt_sim_thread *thread)
{
    become_carrier(thread);
    lt_task_yield(lt_current_worker(), thread->carrier);
    become(thread);
}
