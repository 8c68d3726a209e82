/* select.h: the steps of a select, from which each kind of party puts its own together. */
#ifndef LT_CHAN_SELECT_H
#define LT_CHAN_SELECT_H

#include "chan/chan.h"

#include <leat/select.h>

enum { LT_SELECT_FEW = 8 };

/* What a stackless party has to do under all locks, before it can be claimed: `inside` its worker, if it has an alarm to set. */
struct lt_beginning {
    void (*begin)(struct lt_beginning *beginning);
    bool inside;
};

struct lt_selection {
    leat_case *cases;
    uint32_t n;
    uint32_t stride; /* bytes from one of `turns` to the next */
    bool ordered;
    const leat_scope
        *scope; /* a stackless party's: its party's word for it is the alarm's by now */
    struct lt_beginning *beginning; /* or NULL */
    bool any;                       /* some case has a channel, */
    bool ready;                     /* and some channel looked ready */
    char
        *turns; /* the channels by rising address: in `few`, or in the cases, when those are more */
    leat_chan *few[LT_SELECT_FEW];
    bool ended; /* the party found its scope cancelled when it had queued, and is out again */
};

/* Before anything else: what lt_select_check does not find out. */
static inline void lt_select_begin(struct lt_selection *s, leat_case *cases, bool ordered)
{
    s->cases = cases;
    s->ordered = ordered;
    s->scope = NULL;
    s->beginning = NULL;
}

/* Checks the cases and fills in the rest; 0 or -EINVAL. */
int lt_select_check(struct lt_selection *s, size_t n, int64_t deadline);

/* A try without all the locks: enough, mostly, when something is ready. The index of the case that was
 * done, or n; *woken as for lt_chan_now. */
uint32_t lt_select_try(struct lt_selection *s, struct lt_party **woken);

/* With all locks: does a case that can be done and returns its index; if none can, returns n, and with
 * `waits` has put a waiter for each into its queue. From then on somebody may claim that party, and the selection
 * alone may be looked at. */
uint32_t lt_select_enter(struct lt_selection *s, struct lt_party *waits, struct lt_party **woken);

/* Leaves the number of cases in the first of them, for a party that will have only their address. */
void lt_select_remember(const struct lt_selection *s);
uint32_t lt_select_recall(leat_case *cases);

/* The result of a select whose case `i` has happened: i, or, in a cancelled scope, -ECANCELED, if all that happened is
 * that a channel is closed. */
int lt_select_failed(leat_case *cases, uint32_t i, const struct lt_party *self);

static inline int lt_select_told(leat_case *cases, uint32_t i, const struct lt_party *self)
{
    return LT_LIKELY(!cases[i].status) ? (int)i : lt_select_failed(cases, i, self);
}

/* After the wait: takes all waiters out; returns the index of the case that was claimed, or n. */
uint32_t lt_select_take_out(leat_case *cases, uint32_t n);

#endif
