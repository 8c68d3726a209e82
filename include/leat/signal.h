/* leat/signal.h: signals of the system, as items of a channel.
 *
 *     const int signals[] = { SIGINT, SIGTERM };
 *     leat_chan *stop;
 *     leat_signals(scope, signals, 2, &stop);
 *     leat_signal got;
 *     leat_recv(stop, &got);
 *     leat_scope_cancel(scope);
 *
 * leat has a handler for these signals as long as the channel is open. The handler only counts. The
 * program acts in a party that receives, which may call any function.
 *
 * If a signal comes while an item of the same signal waits in the channel, it is added to that
 * item. So a channel holds at most one item of each signal, and no signal is lost, however many
 * come. (The system itself keeps only one of each standard signal that is pending.)
 *
 * Workers block signals, so a thread of the program runs the handler: the thread that is in
 * leat_main does, while it waits there. A signal that every thread of the program blocks does not
 * come. A system call that the handler interrupts continues (SA_RESTART).
 *
 * Where Go has signal.Notify, leat has leat_signals. */
#ifndef LEAT_SIGNAL_H
#define LEAT_SIGNAL_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/scope.h>

#include <sys/types.h>

/* An item of the channel. */
typedef struct leat_signal {
    int signal;
    pid_t pid;      /* the process that sent it last; 0: the kernel */
    int value;      /* the value that came with the last one (sigqueue(3)), or 0 */
    unsigned times; /* how often it came since the previous item, 1 or more */
} leat_signal;

/* Makes a channel of leat_signal items for the `n` signals, 1 or more, at `signals`. `scope` owns
 * it. When the scope closes, or when leat_close closes the channel, the signals get back the
 * dispositions that they had before the call. Only leat sends to the channel. The channel is
 * written to *chan.
 * Returns 0; -EBUSY when one of the signals is given twice, or has a channel already; -EINVAL for a
 * NULL argument, an n of 0, or a signal that no program can handle or that shows a fault: SIGKILL,
 * SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS; -ENOTSUP in a seeded world
 * (leat/sim.h); -EMFILE, -ENFILE, -ENOMEM, -ENOSPC. Unless it returns 0, nothing has changed. */
LEAT_API int leat_signals(leat_scope *scope, const int *signals, size_t n, leat_chan **chan);

#endif
