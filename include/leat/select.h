/* leat/select.h: one of several sends and receives, whichever can happen first.
 *
 *     leat_case cases[] = { LEAT_RECV(quotes, &q), LEAT_SEND(log, &line), LEAT_RECV(quit, NULL) };
 *     switch (leat_select(cases, 3, leat_after(50 * LEAT_MS))) {
 *     case 0: …  case 1: …  case 2: …  case -ETIMEDOUT: …  case -ECANCELED: …
 *     }
 *
 * Exactly one case happens. Among several that can, one is chosen at random, each as likely, or,
 * with leat_select_ordered, the first. A case on a closed channel can always happen: its status then
 * says -EPIPE, or -ECANCELED where the channel was cut short. (In a cancelled scope that is the select's -ECANCELED.) A case whose channel is NULL never can. The array is the caller's and holds the
 * waiting, so nothing is allocated and any number of cases will do (n log n work for n of them); it
 * may be used again, or gone, once the call returns. */
#ifndef LEAT_SELECT_H
#define LEAT_SELECT_H

#include <leat/base.h>
#include <leat/chan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a case does. */
enum { LEAT_CASE_RECV = 1, LEAT_CASE_SEND = 2 };

/* One of the operations. LEAT_RECV and LEAT_SEND fill it in. */
typedef struct leat_case {
    leat_chan *ch; /* NULL: this case never happens */
    void *item;    /* where the item goes, or where it is; as for leat_recv and leat_send */
    int op;        /* LEAT_CASE_RECV or LEAT_CASE_SEND */
    int status; /* of the case that happened: 0, -EPIPE, -ECANCELED from a channel that was cut short, or
                   what a transform said; 0 in the others */
    void *leat_private[7]; /* leat's, while the call lasts */
} leat_case;

/* Initialise a leat_case: to receive from `chan` into `to`, and to send what is at `from`; NULL as for leat_recv and
 * leat_send. */
/* clang-format off */
#define LEAT_RECV(chan, to) { (chan), (to), LEAT_CASE_RECV, 0, { NULL } }
#define LEAT_SEND(chan, from) { (chan), (void *)(uintptr_t)(const void *)(from), LEAT_CASE_SEND, 0, { NULL } }
/* clang-format on */

/* Waits until one of the n cases happens, or until the deadline; with LEAT_NOW it does not wait (a
 * select with a default). Two cases may name the same channel.
 * Returns the index of the case that happened; -EAGAIN with LEAT_NOW when none could at that moment;
 * -ETIMEDOUT; -ECANCELED; -EINVAL for wrong arguments (n above INT_MAX, a wrong op, an item that is NULL where
 * leat_send or leat_recv would not have it, a negative deadline); -EDEADLK where the caller cannot wait, and when
 * nothing could ever end the wait: every channel NULL, no deadline, no scope. */
LEAT_API int leat_select(leat_case *cases, size_t n, int64_t deadline);
LEAT_API int leat_select_ordered(leat_case *cases, size_t n, int64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
