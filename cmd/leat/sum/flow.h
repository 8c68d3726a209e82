/* flow.h: one producer, a bounded number of digesters, and a collector that keeps the order.
 *
 *            spare slots (chains)
 *        +---------------------------------------------------+
 *        v                                                   |
 *     producer --- jobs (slots) ---> digesters --- done ---> collector ---> output
 *        |                                       (chains)    ^
 *        +---------------------------------------------------+
 *            messages, in their order among the files
 *
 * The number of slots is fixed, so memory is bounded. Each channel has room for all slots, so
 * sending never waits. There are three waits: the producer waits for spare slots, a digester for
 * jobs, the collector for results. A digester and the collector hand over their slots before they
 * wait, so the waits form no circle.
 *
 * The producer numbers the slots. At most FLOW_WINDOW are under way, so the collector sorts them
 * with a ring of that size. */
#pragma once

#include "emit.h"
#include "goal.h"
#include "selection.h"
#include "slot.h"

#include <leat/leat.h>
#include <stdatomic.h>

enum {
    FLOW_WINDOW = 32 * 1024,
    FLOW_IN_HAND = 16,         /* files being digested that the progress knows */
    FLOW_LONG_NAME = 256,      /* bytes; the memory of a longer name is not reused */
    FLOW_LONG_TOTAL = 8 << 20, /* bytes of long names under way; with more, the producer waits */
};

struct flow;
struct cache;

/* Takes, fills and submits slots until there are no more. 0 or a negative errno value. */
typedef int flow_produce_fn(struct flow *f, void *arg);

struct flow {
    /* set before flow_run */
    const struct selection *selection;
    size_t size;                /* bytes of a digest whose algorithm has several sizes, in a walk */
    size_t room;                /* bytes for the digests of a file; in a check, 2 * DIGEST_MAX */
    const struct lane_way *way; /* for the first digest, if it is computed in lanes; else NULL */
    unsigned jobs;              /* digesters, at most */
    unsigned files;             /* each digester's open files, at most; with `way`, its lanes */
    unsigned readers;           /* of a device at a time (device.h) */
    bool follow;                /* links met in a walk */
    const struct cache *cache;  /* or NULL */
    bool paranoid;              /* do not believe the cache */
    flow_produce_fn *produce;
    void *producer;
    struct emitter *emitter;

    leat_scope *scope;
    atomic_int failure; /* of the first task that failed, or 0 */
    leat_chan *spare, *todo, *done;
    leat_chan *wakeup;      /* an item wakes the producer in flow_settle */
    struct slot *slots;     /* FLOW_WINDOW of them */
    unsigned char *digests; /* `room` bytes for each slot */
    struct stamp *stamps;   /* one for each slot if there is a cache, else NULL */

    /* used by the producer */
    size_t slots_used; /* slots that have been used; the memory of the others is untouched */
    struct chain at_hand;
    uint64_t next_seq;
    unsigned digesters;
    bool threads_spent; /* the system has refused a thread */

    struct goal goal;
    atomic_size_t long_names;                   /* bytes of long names under way */
    atomic_uint_fast64_t digested;              /* bytes */
    atomic_uint busy;                           /* digesters with a file, helpers (split.h) */
    struct slot *_Atomic in_hand[FLOW_IN_HAND]; /* if progress is shown: those being digested */
};

/* Runs the flow to its end, in a task. 0, also if the caller's scope is cancelled, or a negative
 * errno value: -EAGAIN if a thread could not be started. */
int flow_run(struct flow *f);

/* For the producer: a slot to fill, with this name and with memory for digests and stamp; the rest
 * of it is zero. NULL with *err set if cancelled or out of memory. */
struct slot *flow_take(struct flow *f, const char *name, size_t len, int *err);

/* For the producer: sends a SLOT_FILE to the digesters, any other slot to the collector.
 * 0, -ECANCELED, -ENOMEM, or -EAGAIN if there is no thread for the first digester. */
int flow_submit(struct flow *f, struct slot *s);

/* For the producer: submits a message about a name in the folder `dir`; with NULL, about a path, or
 * about nothing. As flow_submit. */
int flow_tell(struct flow *f, struct dir *dir, const char *name, enum slot_kind kind, int error,
              const char *remark);

/* For the producer, to bound the memory and descriptors that slots under way hold: waits until
 * `enough` returns true, or no slot is under way; with NULL, until no slot is under way. The
 * producer must have no slot in hand. 0 or -ECANCELED. */
int flow_settle(struct flow *f, bool (*enough)(const void *arg), const void *arg);

/* For the collector: drops the slot's references, and frees its name if that is long. */
void flow_wipe(struct flow *f, struct slot *s);

/* flow_show: for a digester, before each read of a file: lets the progress show the file, if there
 * is room. flow_unshow: when it is done with the file, before it hands the slot over. */
static inline void flow_show(struct flow *f, struct slot *s)
{
    for (uint8_t i = 0; f->goal.wanted && !s->shown && i < FLOW_IN_HAND; i++) {
        struct slot *none = NULL;
        if (!atomic_load_explicit(&f->in_hand[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&f->in_hand[i], &none, s, memory_order_release,
                                                    memory_order_relaxed))
            s->shown = i + 1;
    }
}

static inline void flow_unshow(struct flow *f, struct slot *s)
{
    if (s->shown)
        atomic_store_explicit(&f->in_hand[s->shown - 1], NULL, memory_order_release);
    s->shown = 0;
}

/* The tasks that flow_run starts; the argument is the flow. */
int digest_task(void *flow);
int collect_task(void *flow);
