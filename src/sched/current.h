/* current.h: the current worker and party, and other thread-local words.
 *
 * After each wait a task may run in another thread. So these words are read anew each time
 * (base/fresh.h), and no pointer from lt_current is kept across a wait. */
#pragma once

#include "base/fresh.h"
#include "base/util.h"
#include "base/world.h"
#include "sched/party.h"
#include "sched/worker.h"

struct lt_current {
    struct lt_party *self; /* the running party, a task or this thread; NULL until it is first asked
                            * for */
    struct lt_worker *worker; /* NULL if the thread is no worker */
    uint64_t chance;
    uint32_t number; /* the last one given to this thread: see lt_number */
    struct lt_thread thread;
};

LT_FRESH(struct lt_current, lt_current, lt_current_of_thread)

/* lt_current()->worker and lt_current()->self. */
LT_FRESH_PART(struct lt_worker *, lt_current_worker, lt_current_of_thread,
              offsetof(struct lt_current, worker))
LT_FRESH_PART(struct lt_party *, lt_current_party_or_null, lt_current_of_thread,
              offsetof(struct lt_current, self))
LT_FRESH_SET(struct lt_worker *, lt_set_current_worker, lt_current_of_thread,
             offsetof(struct lt_current, worker))
LT_FRESH_SET(struct lt_party *, lt_set_current_party, lt_current_of_thread,
             offsetof(struct lt_current, self))

/* Fills in lt_current at a thread's first use of it. */
void lt_current_introduce(void);

/* The running party. */
static inline struct lt_party *lt_current_party(void)
{
    if (LT_UNLIKELY(!lt_current_party_or_null()))
        lt_current_introduce();
    return lt_current_party_or_null();
}

/* For lt_number: begins another batch. Returns the number before its first. */
uint32_t lt_number_batch(void);

/* A number that names a new task, scope or channel to the user: never 0, and larger than the last
 * one that this thread got. Threads take them a batch at a time. (They repeat after 2^32.) */
static inline uint32_t lt_number(void)
{
    struct lt_current *current = lt_current();
    uint32_t last = current->number;
    if (LT_UNLIKELY(last % LT_NUMBER_BATCH == 0))
        last = lt_number_batch();
    return current->number = last + 1;
}

/* Whether a party continues on worker `here`, which may be NULL: a task whose home it is, or a
 * block with no timer in a wheel. Nearly all parties that become ready do. */
static inline bool lt_is_at_home(const struct lt_worker *here, const struct lt_party *party)
{
    if (party->kind == LT_TASK)
        return here && lt_task_home(LT_CONTAINER(party, const struct lt_task, party)) == here;
    return party->kind == LT_BLOCK && here && !party->timer_home;
}

/* Makes a waiting party ready, from any thread. `here` is the calling worker, or NULL in other
 * threads. */
static inline void lt_ready_from(struct lt_worker *here, struct lt_party *party)
{
    if (LT_LIKELY(lt_is_at_home(here, party)))
        lt_worker_append(here, party);
    else
        lt_ready_elsewhere(party);
}

static inline void lt_ready(struct lt_party *party)
{
    lt_ready_from(lt_current_worker(), party);
}

/* The same for a chain linked by `next`; NULL is an empty chain. */
static inline void lt_ready_all(struct lt_party *chain)
{
    while (chain) {
        struct lt_party *next = chain->next;
        lt_ready(chain);
        chain = next;
    }
}

/* Called with no lock held, after an operation that others can observe: a seeded world may run them
 * now. */
static inline void lt_point(void)
{
    if (LT_UNLIKELY(lt_world() != NULL))
        lt_world()->point();
}

/* After an operation that did not wait. After LT_OP_BUDGET of them a task yields: else a task whose
 * partners always keep up would keep its worker for itself. It does not yield where the deadline
 * was LEAT_NOW, since it may hold a mutex that the worker's next task wants. `here` as above. */
static inline void lt_task_spend(struct lt_worker *here, int64_t deadline)
{
    if (LT_UNLIKELY(!here || deadline == LEAT_NOW)) {
        lt_point();
        return;
    }
    if (LT_UNLIKELY(--here->budget == 0))
        lt_budget_renew(here);
}
