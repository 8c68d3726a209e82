/* remote.h: the near end of a stage.
 *
 *     in ──▶ pack ──▶ packed ──▶ publish ──▶ engine ──▶ deliver ──▶ out
 *              ▲                     │ ▲                   │
 *              └────── window ───────┘ └───── progress ────┘
 *
 * Three tasks in the caller's scope. The packer takes items from `in`, each with a permit of the
 * window. The publisher has a connection of its own: items packed during a request go into the
 * next. It also confirms, that is, reports to the engine what is delivered. The deliverer has
 * another connection, on which it waits for results.
 *
 * The ring has a slot for every item in flight. A slot's `packed` belongs to the packer until
 * `packed_to` has passed it, and then to the publisher. The publisher gives the permit back when
 * the item is both published and delivered: only then may the packer use the slot again. A slot's
 * `result` belongs to the deliverer.
 *
 * When a near end is started again, the engine has the first `skip` inputs already. Those of them
 * that are not delivered are in flight from the beginning. */
#pragma once

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

/* An entry of the stream of results, which the engine may remove when `after` items are
 * confirmed. */
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
    uint64_t ring; /* the number of slots */
    void *item;    /* of the packer */

    /* Release by the packer, acquire by the publisher: the slots below it are packed. */
    _Atomic uint64_t packed_to;
    /* The number of all inputs; UINT64_MAX until it is known. Release by the packer, after
     * packed_to; acquire by the others. */
    _Atomic uint64_t total;
    _Atomic bool cut; /* the input was cut short; relaxed: set before `total` */
    leat_chan *bell;  /* capacity 1: packed_to, total or progress has changed */
    leat_chan *quit;  /* closed: the stage ends before all is delivered */

    struct lk_engine publisher, deliverer;

    /* Of the deliverer. */
    uint64_t delivered, reported;
    int64_t report_at; /* when what is delivered and not reported is to be reported */
    uint64_t sent;     /* outputs */
    /* With LEAT_FAIL_DROPS, of each dropped failure that may not count as used: how many outputs
     * were sent before it. A ring of `window`. */
    uint64_t *failed;
    unsigned failed_first, failed_count;
    uint64_t gone; /* unordered: how many results were in entries that may be removed */
    struct lk_entry *entries;
    unsigned entries_most; /* in the next reply */
    size_t entry_first, entry_count, entry_room;
    void *output;
    int verdict; /* the status of the item that cancels the scope */

    /* What the deliverer reports to the publisher; guarded by `lock`. */
    pthread_mutex_t lock;
    struct lk_progress {
        uint64_t delivered;
        uint64_t confirmed; /* how many of these the engine may forget */
        char entry[48];     /* the first entry that must stay; empty: all must */
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
