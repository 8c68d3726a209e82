/* select.h: the steps of a select. Each kind of party combines its own select from them. */
#pragma once

#include "chan/chan.h"

#include <leat/select.h>

enum { LT_SELECT_FEW = 8 };

/* What a stackless party must do under all locks, before it can be claimed. */
struct lt_beginning {
    void (*begin)(struct lt_beginning *beginning);
    bool inside; /* to be called inside the worker: it sets an alarm */
};

struct lt_selection {
    leat_case *cases;
    uint32_t n;
    uint32_t stride; /* bytes from one element of `sorted` to the next */
    bool ordered;
    const leat_scope *scope;        /* of a stackless party, whose `scope` field may be the alarm by
                                     * now */
    struct lt_beginning *beginning; /* or NULL */
    bool any;                       /* some case has a channel, */
    bool ready;                     /* and some channel looked ready */
    char *sorted; /* the channels in order of address, in `few`, or if there are more, in the
                   * cases */
    leat_chan *few[LT_SELECT_FEW];
    bool ended; /* the party found its scope cancelled, and has queued no waiter */
};

/* The first step: sets what lt_select_check does not. */
static inline void lt_select_begin(struct lt_selection *s, leat_case *cases, bool ordered)
{
    s->cases = cases;
    s->ordered = ordered;
    s->scope = NULL;
    s->beginning = NULL;
}

/* Checks the cases and fills in the rest; 0 or -EINVAL. */
int lt_select_check(struct lt_selection *s, size_t n, int64_t deadline);

/* Tries a case without taking all locks: mostly that is enough when some case is ready. Returns the
 * index of the case that was done, or n; *woken as for lt_chan_now. */
uint32_t lt_select_try(struct lt_selection *s, struct lt_party **woken);

/* With all locks: does a case that can be done and returns its index. If none can, returns n, and
 * if `waits` is not NULL queues a waiter of that party for each case. From then on the party may be
 * claimed, and the caller may look only at the selection. */
uint32_t lt_select_enter(struct lt_selection *s, struct lt_party *waits, struct lt_party **woken);

/* Stores the number of cases in the first case, for a party that will have only their address. */
void lt_select_remember(const struct lt_selection *s);
uint32_t lt_select_recall(leat_case *cases);

/* The result of a select whose case `i` was done with a status other than 0: i; or -ECANCELED if
 * the scope is cancelled and the case only found its channel closed. */
int lt_select_failed(leat_case *cases, uint32_t i, const struct lt_party *self);

static inline int lt_select_outcome(leat_case *cases, uint32_t i, const struct lt_party *self)
{
    return LT_LIKELY(!cases[i].status) ? (int)i : lt_select_failed(cases, i, self);
}

/* After the wait: takes all waiters out. Returns the index of the case that was claimed, or n. */
uint32_t lt_select_take_out(leat_case *cases, uint32_t n);
