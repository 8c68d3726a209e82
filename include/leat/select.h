/* leat/select.h: one of several sends and receives, whichever can happen first.
 *
 *     leat_case cases[] = { LEAT_RECV(quotes, &q), LEAT_SEND(log, &line), LEAT_RECV(quit, NULL) };
 *     switch (leat_select(cases, 3, leat_after(50 * LEAT_MS))) {
 *     case 0: …  case 1: …  case 2: …  case -ETIMEDOUT: …  case -ECANCELED: …
 *     }
 *
 * Exactly one case happens. If several can happen, leat_select chooses one of them at random, with
 * equal chances, and leat_select_ordered chooses the first. A case on a closed channel can always
 * happen: its status then is -EPIPE, or -ECANCELED where the channel was cut short. (In a cancelled
 * scope the select itself returns -ECANCELED.) A case with a NULL channel never happens.
 *
 * The array of cases belongs to the caller. leat uses it only during the call, and allocates
 * nothing. The array may be used again. A select over n cases takes time in O(n log n).
 */
#ifndef LEAT_SELECT_H
#define LEAT_SELECT_H

#include <leat/base.h>
#include <leat/chan.h>

/* What a case does. */
enum { LEAT_CASE_RECV = 1, LEAT_CASE_SEND = 2 };

/* One send or receive of a select. LEAT_RECV and LEAT_SEND initialise it. */
typedef struct leat_case {
    leat_chan *ch; /* NULL: this case never happens */
    void *item;    /* as for leat_recv or leat_send */
    int op;        /* LEAT_CASE_RECV or LEAT_CASE_SEND */
    /* The result of the case that happened: 0; -EPIPE; or -ECANCELED from a channel that was cut
     * short. 0 in the other cases. */
    int status;
    void *leat_private[7];
} leat_case;

/* Initialise a leat_case: LEAT_RECV to receive from `chan` into `to`, LEAT_SEND to send the item at
 * `from` on `chan`. Where leat_recv and leat_send allow a NULL item, `to` and `from` may be
 * NULL. */
/* clang-format off */
#define LEAT_RECV(chan, to) { (chan), (to), LEAT_CASE_RECV, 0, { NULL } }
#define LEAT_SEND(chan, from) { (chan), LEAT_ITEM_(from), LEAT_CASE_SEND, 0, { NULL } }
/* clang-format on */

/* Waits until one of the `n` cases happens, or until the deadline; n is at most INT_MAX. With
 * LEAT_NOW it does not wait, like Go's select with a default. Two cases may name the same channel.
 * Returns the index of the case that happened, also when its status is an error; -EAGAIN when none
 * could happen, with LEAT_NOW; -ETIMEDOUT; -ECANCELED; -EINVAL for an n out of range, a wrong op, a
 * NULL item that leat_send or leat_recv would refuse, or a negative deadline; -EDEADLK where the
 * caller must not wait, or when nothing could end the wait: every channel is NULL, and the caller
 * has no deadline and no scope. */
LEAT_API int leat_select(leat_case *cases, size_t n, int64_t deadline);
LEAT_API int leat_select_ordered(leat_case *cases, size_t n, int64_t deadline);

#endif
