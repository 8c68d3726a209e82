/* here.h: what the running thread knows of itself: a few words of thread-local storage. Tasks never
 * change their thread once started, so the compiler may keep these addresses over a wait. */
#ifndef LT_SCHED_HERE_H
#define LT_SCHED_HERE_H

#include "base/util.h"
#include "base/world.h"
#include "sched/party.h"
#include "sched/worker.h"

struct lt_here {
    struct lt_party *self;    /* who runs: a task, or this thread; NULL before the first question */
    struct lt_worker *worker; /* NULL in threads that are none */
    uint64_t chance;
    uint32_t number; /* the last one given out here: see lt_number */
    struct lt_thread thread;
};

/* initial-exec: one load and no call, also in a shared library. */
extern _Thread_local struct lt_here lt_here __attribute__((tls_model("initial-exec")));

/* Fills lt_here in for a thread that was not seen before. */
void lt_here_introduce(void);

/* The party that is running here. */
static inline struct lt_party *lt_self(void)
{
    if (LT_UNLIKELY(!lt_here.self))
        lt_here_introduce();
    return lt_here.self;
}

/* A number for something new, by which people tell it from others: never 0, and growing for what one
 * thread makes. Threads take them a batch at a time. (After four thousand million they come again.) */
uint32_t lt_number_batch(void);

static inline uint32_t lt_number(void)
{
    uint32_t last = lt_here.number;
    if (LT_UNLIKELY(last % LT_NUMBER_BATCH == 0))
        last = lt_number_batch();
    return lt_here.number = last + 1;
}

/* Whether it is a task of worker `here`, which may be NULL: what nearly all are that are handed something. */
static inline bool lt_is_at_home(const struct lt_worker *here, const struct lt_party *party)
{
    return party->kind == LT_TASK && here &&
           LT_CONTAINER(party, const struct lt_task, party)->home == here;
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
    lt_ready_from(lt_here.worker, party);
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
    if (LT_UNLIKELY(lt_world != NULL))
        lt_world->point();
}

/* Counts an operation that did not have to wait; every so often a task then yields, so that one whose
 * partners always keep up does not keep its worker for itself. `here` as above. */
static inline void lt_task_spend(struct lt_worker *here, struct lt_party *self)
{
    if (LT_UNLIKELY(!here)) {
        lt_point();
        return;
    }
    if (LT_UNLIKELY(--here->budget == 0))
        lt_budget_renew(here, self);
}

#endif
