/* far.h: a far end.
 *
 *     engine ──▶ take ──▶ items, a task each ──▶ ended ──▶ done ──▶ engine
 *                              ▲ renew
 *
 * The caller's task is the loop: it alone sends the scripts' calls, and it owns all lists. A
 * request has all that is due: results, a take for the free places, renewals. Results that come
 * during a request go into the next. A second task listens, on a connection of its own, for runs
 * that have items, and for lone items (publish.lua). It ends when it has passed on what has come,
 * and the loop starts it again. So both are on the same worker, even after a thief has taken one,
 * and no item has to wake another worker. A third task ends the wait for an engine that does not
 * answer after the grace.
 *
 * Two scopes, as in leat_serve. `around` lies in the caller's scope and is cancelled with it; then
 * `stop` closes. `crowd` is opened under a shield. So items go on until the grace has passed.
 *
 * Locking. `lock` guards each item's `scope` and `lost`. All else belongs to the loop; an item
 * belongs to its task until the task has sent it to `ended`. */
#pragma once

#include "bytes.h"
#include "engine.h"

#include <leat/leat.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

enum { LK_FAR_ID = 72 };

struct lk_far;

/* What a far end knows of a run. */
struct lk_run {
    struct lk_run *next;
    struct lk_keys keys;
    struct lk_item *held;  /* being worked on */
    struct lk_item *ended; /* with a result that is not stored yet */
    bool ready;            /* a take may find items */
    bool woken;            /* perhaps alone: it must take, or wake another far end */
    uint64_t received;     /* lone items, since the last renewal that lists all items */
    bool look;             /* the next take looks for leases that have ended */
    bool over;
};

struct lk_item {
    struct lk_item *next, **before; /* in a list of its run */
    struct lk_far *far;
    struct lk_run *run;
    leat_far_item argument; /* of the function */
    leat_bytes result;
    int status;
    bool stored;       /* in the request under way */
    leat_scope *scope; /* NULL: the function does not run */
    bool lost;         /* the lease is another's, or the grace has passed */
    char key[LEAT_KEY_MAX];
    const char *index; /* within the key */
    _Alignas(max_align_t) char data[];
};

/* A call in a request of the loop. */
struct lk_step {
    enum lk_script script;
    struct lk_run *run;
    uint64_t asked; /* take: places */
};

struct lk_far {
    leat_link *link;
    leat_serve_stage_spec spec;
    char id[LK_FAR_ID + 1]; /* see common.lua */
    struct lk_keys keys;    /* of no run: for the names that belong to the stage */
    leat_scope *around, *crowd;
    leat_chan *stop, *never, *bell, *ended;
    leat_chan *over;            /* closes when the loop needs the engine no more */
    _Atomic unsigned exchanges; /* begins and ends: odd during one. Relaxed: it guards nothing */
    leat_op watch;
    struct lk_engine engine, listener;
    struct lk_run *runs;
    unsigned run_count;
    unsigned running, free; /* places */
    struct lk_step *steps;  /* of the request under way */
    size_t step_count, step_room;
    int64_t renew_at, look_at;
    /* Changes with each renewal that lists all items. An item that comes with an older number is
     * not the far end's: the renewal has given it back. */
    unsigned number;
    bool all;     /* the next renewal lists all items */
    bool ask_all; /* there may be runs that it does not know */
    bool listens; /* the task that listens was started, and has not reported its end */
    bool stopping;
    int64_t stop_at; /* when the grace is over */
    int deaf;        /* why it cannot listen any more, or 0 */
    pthread_mutex_t lock;
};

enum { LK_INDEX = 20 };

/* What the listening task sends to the bell: a run that has items, perhaps with one of them; or an
 * error, and then the far end fails. */
struct lk_news {
    char run[LK_NAME + 1];    /* empty: all runs may have items, and there may be new runs */
    char index[LK_INDEX + 1]; /* of the item; empty: there is none */
    unsigned number;          /* see struct lk_far */
    char *data;               /* `size` bytes, which the receiver frees; or NULL */
    size_t size;
    bool is_own;  /* sent to this far end alone */
    bool is_last; /* the task that listens ends */
    int error;
};

/* ---- item.c ---- */

/* Starts the work on an item. 0; or an error, and then there is no item. */
int lk_item_start(struct lk_far *far, struct lk_run *run, const char *index, unsigned again,
                  const void *data, size_t size);
void lk_item_free(struct lk_item *item);

void lk_item_link(struct lk_item **list, struct lk_item *item);
void lk_item_unlink(struct lk_item *item);

/* Finds the item with that index that is not lost, in a list from `item` on. NULL: none. */
struct lk_item *lk_item_find(struct lk_item *item, const char *index);

/* Cancels the work on an item, whose result will not count. */
void lk_item_lose(struct lk_item *item);

/* ---- runs.c ---- */

/* Finds a run, or adds it. NULL: no memory, a wrong name, or too many runs. A run that was given up
 * before its end counts too, until leat_link_forget removes it. */
struct lk_run *lk_run_find(struct lk_far *far, const char *name);

/* Forgets the runs that are over and have no items here. */
void lk_runs_clean(struct lk_far *far);
void lk_runs_free(struct lk_far *far);

/* Asks the engine for the names of the runs. */
int lk_runs_ask(struct lk_far *far);

/* ---- listen.c: the task that listens for items ---- */

/* Ends when it has passed on some news. */
int lk_listen(void *far);

/* ---- hurry.c: the task that ends a wait for the engine after the grace ---- */

int lk_hurry(void *far);

/* ---- exchange.c: requests of the loop ---- */

/* Makes the request of all that is due: far->step_count calls. 0 or -ENOMEM. */
int lk_far_plan(struct lk_far *far);

/* Sends the request, and does what the replies say. After an error the next plan has it again. */
int lk_far_exchange(struct lk_far *far);

/* Gives back all items that the far end owns in the engine. */
int lk_far_give_back(struct lk_far *far);
