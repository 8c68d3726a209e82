/* current.h: what the running thread knows of itself: a few words of thread-local storage. A task may find itself in
 * another thread after each wait, so these words are read anew each time (base/fresh.h): a pointer that lt_current
 * returns is not kept over a wait. */
#ifndef LT_SCHED_CURRENT_H
#define LT_SCHED_CURRENT_H

#include "base/fresh.h"
#include "base/util.h"
#include "base/world.h"
#include "sched/party.h"
#include "sched/worker.h"

struct lt_current {
    struct lt_party *self;    /* who runs: a task, or this thread; NULL before the first question */
    struct lt_worker *worker; /* NULL in threads that are none */
    uint64_t chance;
    uint32_t number; /* the last one given out here: see lt_number */
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

/* Fills lt_current in for a thread that was not seen before. */
void lt_current_introduce(void);

/* The party that is running here. */
static inline struct lt_party *lt_current_party(void)
{
    if (LT_UNLIKELY(!lt_current_party_or_null()))
        lt_current_introduce();
    return lt_current_party_or_null();
}

/* A number for something new, by which people tell it from others: never 0, and growing for what one
 * thread makes. Threads take them a batch at a time. (After four thousand million they come again.) */
uint32_t lt_number_batch(void);

static inline uint32_t lt_number(void)
{
    struct lt_current *here = lt_current();
    uint32_t last = here->number;
    if (LT_UNLIKELY(last % LT_NUMBER_BATCH == 0))
        last = lt_number_batch();
    return here->number = last + 1;
}

/* Whether it goes on with worker `here`, which may be NULL: a task that has its home there, or a block that none has.
 * So do nearly all that are handed something. */
static inline bool lt_is_at_home(const struct lt_worker *here, const struct lt_party *party)
{
    if (party->kind == LT_TASK)
        return here && lt_task_home(LT_CONTAINER(party, const struct lt_task, party)) == here;
    return party->kind == LT_BLOCK && here && !party->timer_home;
}

/* Makes a party that waits go on; from any thread, which is worker `here` or, NULL, none. */
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

/* After an operation that others may take notice of, with no lock held: in a seeded world they may now go
 * first. */
static inline void lt_point(void)
{
    if (LT_UNLIKELY(lt_world() != NULL))
        lt_world()->point();
}

/* After an operation that did not have to wait. Every so often a task then yields, so that one whose partners always
 * keep up does not keep its worker for itself; but never where it was told not to wait: it may hold a mutex that the
 * next task of this worker wants. `here` as above. */
static inline void lt_task_spend(struct lt_worker *here, struct lt_party *self, int64_t deadline)
{
    if (LT_UNLIKELY(!here || deadline == LEAT_NOW)) {
        lt_point();
        return;
    }
    if (LT_UNLIKELY(--here->budget == 0))
        lt_budget_renew(here, self);
}

#endif
