/* remote.h: the near end of a stage.
 *
 *     in ──▶ pack ──▶ packed ──▶ publish ──▶ engine ──▶ deliver ──▶ out
 *              ▲                     │ ▲                   │
 *              └────── window ───────┘ └───── progress ────┘
 *
 * Three tasks in the caller's scope. One packs: it takes items from `in` with a permit of the
 * window. One publishes, on a connection of its own: all that was packed while the request before
 * was under way goes into the next. It also confirms, that is, tells the engine what is delivered.
 * One delivers, on another connection, since it waits for results in the engine.
 *
 * The ring has a slot for every item in flight. A slot's `packed` belongs to the packer until
 * `packed_to` has passed it, and then to the publisher. The publisher gives the permit back when
 * the item is both published and delivered: only then may the packer use the slot again. A slot's
 * `result` belongs to the deliverer.
 *
 * The run in the engine is ahead of a near end that is started again: `skip` of the first inputs
 * are there already. What of these was not delivered is in flight from the beginning. */
#ifndef LK_REMOTE_H
#define LK_REMOTE_H

#include "bytes.h"
#include "engine.h"

#include <leat/leat.h>

#include <pthread.h>
#include <stdatomic.h>

struct lk_packed {
    leat_bytes bytes;
    int status;
};

struct lk_result {
    char *data; /* NULL: there is none yet */
    size_t size;
    int status;
};

struct lk_slot {
    struct lk_packed packed;
    struct lk_result result;
};

/* An entry of the stream of results: it can go when `after` items are confirmed. */
struct lk_entry {
    char id[48];
    uint64_t after;
};

struct lk_remote {
    leat_remote_spec spec;
    leat_scope *scope;
    leat_chan *in, *out;
    struct lk_keys keys;
    leat_semaphore *window;

    /* Set when the run is open in the engine; `opened` closes then. */
    leat_chan *opened;
    char epoch[24];
    uint64_t skip;
    struct lk_slot *slots;
    uint64_t ring; /* how many slots there are */
    void *item;    /* of the packer */

    /* Release by the packer, acquire by the publisher: the slots below it are packed. */
    _Atomic uint64_t packed_to;
    /* How many inputs there are in all; UINT64_MAX as long as nobody knows. Release by the packer,
     * after packed_to; acquire by the others. */
    _Atomic uint64_t total;
    _Atomic bool cut; /* the input was cut short; relaxed: set before `total` */
    leat_chan *bell;  /* capacity 1: something of this has changed */
    leat_chan *quit;  /* closed: `out` was closed by another party */

    struct lk_engine publisher, deliverer;

    /* Of the deliverer. */
    uint64_t delivered, told;
    uint64_t gone; /* unordered: how many results were in entries that may go */
    struct lk_entry *entries;
    unsigned entries_most; /* in the next reply */
    size_t entry_first, entry_count, entry_room;
    void *output;
    int verdict; /* the status of the item that cancels the scope */

    /* What the deliverer tells the publisher; guarded by `lock`. */
    pthread_mutex_t lock;
    struct lk_progress {
        uint64_t delivered;
        uint64_t confirmed; /* how many of these the engine need not know any more */
        char entry[48];     /* the first that must stay; empty: all must */
    } progress;
};

static inline struct lk_slot *lk_slot(struct lk_remote *remote, uint64_t index)
{
    return &remote->slots[index % remote->ring];
}

/* Whether `delivered` items are all. */
static inline bool lk_is_all(const struct lk_remote *remote, uint64_t delivered)
{
    /* Acquire: with the total comes `cut`. */
    return delivered == atomic_load_explicit(&remote->total, memory_order_acquire);
}

static inline void lk_ring(struct lk_remote *remote)
{
    leat_try_send(remote->bell, NULL);
}

/* The three tasks. */
int lk_pack(void *remote);
int lk_publish(void *remote);
int lk_deliver(void *remote);

#endif
