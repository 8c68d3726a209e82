/* flow.h: one producer, a bounded number of digesters, and a collector that keeps the order.
 *
 *            spare slots (chains)
 *        +---------------------------------------------------+
 *        v                                                   |
 *     producer --- jobs (slots) ---> digesters --- done ---> collector ---> output
 *        |                                       (chains)    ^
 *        +---------------------------------------------------+
 *            things to say in their place
 *
 * The slots are a fixed number, so memory is bounded, and every channel has room for all of them, so
 * sending never waits: only the producer waits for spare slots, digesters for jobs, and the collector
 * for results, and it gives back what it has before it waits. So they cannot wait in a circle.
 *
 * The producer numbers the slots. At most FLOW_WINDOW are under way, so the collector sorts them with
 * a ring of that size. */
#ifndef LEAT_CMD_FLOW_H
#define LEAT_CMD_FLOW_H

#include "emit.h"
#include "goal.h"
#include "selection.h"
#include "slot.h"

#include <leat/leat.h>
#include <stdatomic.h>

enum {
    FLOW_WINDOW = 32 * 1024,
    FLOW_LONG_NAME = 256,      /* bytes; the memory of longer ones is not kept, */
    FLOW_LONG_TOTAL = 8 << 20, /* and they are held to this together */
};

struct flow;
struct cache;

/* Takes slots, fills and submits them until there are no more. 0, -ECANCELED or -ENOMEM. */
typedef int flow_produce_fn(struct flow *f, void *arg);

struct flow {
    /* set by whoever runs it */
    const struct selection *selection;
    size_t size; /* of a digest that may have any number of bytes, in a walk */
    size_t room; /* for the digests of a file; in a check, twice DIGEST_MAX */
    const struct lane_way
        *way;                  /* in lanes, for the first digest, where that is faster; else NULL */
    unsigned jobs;             /* digesters at most, */
    unsigned files;            /* and what each may have open; with `way`, in so many lanes */
    unsigned readers;          /* of a device: device.h */
    bool follow;               /* links met in a walk */
    const struct cache *cache; /* NULL: there is none, */
    bool paranoid;             /* or it is not believed */
    flow_produce_fn *produce;
    void *producer;
    struct emitter *emitter;

    leat_scope *scope;
    atomic_int failure; /* the first of a task, or 0 */
    leat_chan *spare, *todo, *done;
    leat_chan *bell;        /* for the producer: something it waits for may have come */
    struct slot *slots;     /* FLOW_WINDOW; */
    unsigned char *digests; /* as many times `room`; */
    struct stamp *stamps;   /* as many where there is a cache, else NULL */

    /* the producer's */
    size_t slots_used; /* so many have been out; the others' memory is untouched */
    struct chain at_hand;
    uint64_t next_seq;
    unsigned digesters;
    bool threads_spent; /* the system has no more to give */

    struct goal goal;
    atomic_size_t long_names;      /* bytes of long names under way */
    atomic_uint_fast64_t digested; /* bytes */
};

/* Runs it all to its end. 0, also when halted (halt.h); or what it failed of: -EAGAIN when a thread
 * could not be started. */
int flow_run(struct flow *f);

/* For the producer. A slot to fill, with this name; everything else in it is zero.
 * NULL with *err set when cancelled or out of memory. */
struct slot *flow_take(struct flow *f, const char *name, size_t len, int *err);

/* Sends the slot on its way: a SLOT_FILE to the digesters, others straight to the collector.
 * 0, -ECANCELED, -ENOMEM, or -EAGAIN: there is no thread for the first digester. */
int flow_submit(struct flow *f, struct slot *s);

/* Waits until `enough` says so, or nothing is under way any more: how the producer bounds whatever
 * the slots under way keep alive. NULL: until nothing is under way. Not while the producer has a slot
 * in hand. 0 or -ECANCELED. */
int flow_settle(struct flow *f, bool (*enough)(const void *arg), const void *arg);

/* For the collector: ends what the slot refers to, and its memory if it is large. */
void flow_wipe(struct flow *f, struct slot *s);

/* The tasks that flow_run starts; the argument is the flow. */
int digest_task(void *flow);
int collect_task(void *flow);

#endif
