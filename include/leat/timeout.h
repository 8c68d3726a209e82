/* leat/timeout.h: time as channels: one that closes when a time has passed, and one that ticks.
 *
 *     leat_chan *late = leat_timeout(500 * LEAT_MS);
 *     leat_case cases[] = { LEAT_RECV(answers, &a), LEAT_RECV(late, NULL) };
 *     while (leat_select(cases, 2, LEAT_NEVER) == 0)          // one limit for many waits
 *         use(&a);
 *     leat_chan_unref(late);
 *
 * For a limit on one wait there is the deadline that every wait takes: it is private, exact and costs less. A
 * timeout is for one that spans several waits, or that several parties share.
 *
 * Both are channels to receive from, by tasks, blocks, callbacks and threads, in selects too. Only time
 * sends to them: for everybody else sending, in all its forms, is -EPERM (a select's send case on one can
 * always happen, with that status), and so are leat_chan_senders and leat_chan_done. */
#ifndef LEAT_TIMEOUT_H
#define LEAT_TIMEOUT_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a channel of items without bytes that closes when `ns` nanoseconds have passed, and no sooner. With 0 or
 * less it closes soon; with LEAT_NEVER it does not.
 *
 * Shared. The time is rounded up to a multiple of the resolution, 10 ms unless that is changed, and calls
 * for the same multiple, by whomever, return the same channel: a thousand timeouts of 500 ms, asked for at
 * about the same time, are one channel and one timer. So it closes up to one resolution late. Nobody
 * can spoil it for the others: leat_close on it is -EPERM.
 *
 * Owning. Each call returns one reference, which its caller gives back with leat_chan_unref, before or
 * after the channel has closed; the last to do so frees it. (leat_chan_ref adds one for somebody else.) A
 * timeout that everybody has given back early is gone at once, with its timer. One that is never given
 * back stays, closed, as memory that was not freed does, and costs nothing else.
 *
 * leat_stop closes the timeouts that are still held, early, so that no thread waits for ever; they are
 * given back after that as usual.
 *
 * Returns NULL when memory has run out or the runtime is not running. */
LEAT_API leat_chan *leat_timeout(int64_t ns);

/* The resolution, in nanoseconds, unless it is changed. */
#define LEAT_TIMEOUT_RESOLUTION (10 * LEAT_MS)

/* Changes the resolution to `ns` nanoseconds for the calls of leat_timeout that follow, of the whole process; 0: each
 * time is exact, and each channel its caller's alone.
 * Returns 0, or -EINVAL for a negative one. */
LEAT_API int leat_timeout_resolution(int64_t ns);

/* Makes a channel that gets a tick every `ns` nanoseconds, 1 or more, for the first time after `ns`. A tick is an
 * int64_t: the time it was due, on leat_now's clock; always a whole number of `ns` after the call. A tick
 * waits in the channel until it is taken, and those that come meanwhile fall: a slow receiver misses ticks,
 * and none pile up. Times that passed while the worker was busy are left out.
 *
 * It belongs to `scope`, whose end stops and frees it. leat_close stops it before that: its receivers get
 * -EPIPE and no tick any more, also not one that was waiting. It does not keep the scope from closing.
 *
 * Returns NULL when memory has run out, `scope` is NULL or `ns` is not positive. */
LEAT_API leat_chan *leat_tick(leat_scope *scope, int64_t ns);

#ifdef __cplusplus
}
#endif

#endif
