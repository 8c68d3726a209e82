/* leat/timeout.h: time as channels: one that closes when a time has passed, and one that ticks.
 *
 *     leat_chan *late = leat_timeout(500 * LEAT_MS);
 *     leat_case cases[] = { LEAT_RECV(late, NULL), LEAT_RECV(answers, &a) };
 *     while (leat_select_ordered(cases, 2, LEAT_NEVER) == 1 && cases[1].status == 0)
 *         use(&a);                                            // one limit for many waits
 *     leat_chan_unref(late);
 *
 * To limit one wait, use the deadline that every wait takes: it is exact and costs less. Use a
 * timeout for a limit on several waits, or one that several parties share.
 *
 * Every party can receive from these channels, also in a select. Only leat sends to them: if the
 * program sends, every form of sending returns -EPERM, and so do leat_chan_senders and
 * leat_chan_done. In a select a send case on such a channel can always happen, with -EPERM as its
 * status.
 */
#ifndef LEAT_TIMEOUT_H
#define LEAT_TIMEOUT_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

/* Makes a channel that closes when `ns` nanoseconds have passed, and no sooner. No items pass
 * through it; its item size is 0. If `ns` is 0 or less, it closes soon; with LEAT_NEVER, it never
 * closes.
 *
 * Shared. The time is rounded up to a multiple of the resolution, which is 10 ms by default, and
 * all calls for the same multiple return the same channel. So a thousand timeouts of 500 ms, made
 * at about the same time, share one channel and one timer, and close up to one resolution late.
 * leat_close returns -EPERM for a timeout, so no party can close it for the others.
 *
 * Owning. Each call returns one reference. Its caller gives it back by leat_chan_unref, before or
 * after the channel has closed. When the last reference is given back, the channel and its timer
 * are freed at once. leat_chan_ref adds a reference for another party. If a reference is never
 * given back, the timeout costs only its memory once it has closed.
 *
 * leat_stop closes all timeouts that are still held, even before their time, so that no thread
 * waits for ever. Their references must still be given back.
 *
 * Returns the channel; NULL when memory has run out or no runtime is running. */
LEAT_API leat_chan *leat_timeout(int64_t ns);

/* The default resolution of leat_timeout, in nanoseconds. */
#define LEAT_TIMEOUT_RESOLUTION (10 * LEAT_MS)

/* Sets the resolution to `ns` nanoseconds, for all later calls of leat_timeout in the process. With
 * 0 the times are exact, and no channel is shared.
 * Returns 0; -EINVAL for a negative `ns`. */
LEAT_API int leat_timeout_resolution(int64_t ns);

/* Makes a channel to which leat sends a tick every `ns` nanoseconds, 1 or more; the first one after
 * `ns`. A tick is an int64_t: the time at which it was due, on the clock of leat_now. That is a
 * multiple of `ns` after the call. The channel holds one tick, and drops later ticks until that
 * tick is received: a slow receiver misses ticks, and ticks do not pile up. If several ticks have
 * become due while the worker was busy, leat sends only the first of them.
 *
 * The channel belongs to `scope`. It does not keep the scope open: when the scope closes, the ticks
 * stop and the channel is freed. leat_close stops them earlier: then receives return -EPIPE, and a
 * tick that the channel still holds is dropped.
 *
 * Returns the channel; NULL when memory has run out, `scope` is NULL, or `ns` is not positive. */
LEAT_API leat_chan *leat_tick(leat_scope *scope, int64_t ns);

#endif
