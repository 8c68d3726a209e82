/* leat/process.h: other programs: starting, waiting for, and ending them.
 *
 *     const char *argv[] = { "sort", "-u", NULL };
 *     leat_spawn_options options = { .flags = LEAT_PIPE_IN | LEAT_PIPE_OUT };
 *     leat_process *sort;
 *     leat_spawn(scope, argv, &options, &sort);
 *     leat_write(leat_process_in(sort), text, size);
 *     leat_io_close(leat_process_in(sort));
 *     while ((n = leat_read(leat_process_out(sort), buffer, sizeof buffer)) > 0)
 *         …
 *     leat_exit how;
 *     leat_wait(sort, &how, LEAT_NEVER);
 *
 * A process belongs to a scope as a task does: closing the scope waits until the process has ended.
 * When the scope is cancelled, leat sends SIGTERM and SIGCONT to the process and its group, and
 * `grace` later SIGKILL to what is left of them. leat_scope_close returns when the process and its
 * group have ended or got SIGKILL. So no process outlives a scope that is cancelled while it runs,
 * and none stays as a zombie. When the process itself has ended, what it has left in its group goes
 * on, even if the scope is cancelled later. A child of it that leaves the group (setsid) is out of
 * reach. leat finds the group in /proc. Without /proc, what is left of it gets SIGKILL as soon as
 * the process itself has ended.
 *
 * The end of a process and the end of its output are two events: its child processes may keep the
 * pipe open. leat_wait reports the end of the process, leat_read reports the end of its output, and
 * leat_capture waits for both.
 *
 * leat waits for each of its processes by a pidfd. It has no handler for SIGCHLD, and never takes
 * the status of another process. A program that waits for every child (waitpid with -1) or ignores
 * SIGCHLD may take the status of leat's processes: then leat_wait returns -ECHILD when the process
 * has ended. Such a program must not use leat_kill_all, nor cancel a scope with processes that have
 * a group: the number of a group whose leader is gone may belong to others.
 *
 * What a process inherits. Its signal mask is empty, and all signals have their default
 * dispositions. It has only the descriptors 0, 1 and 2, unless LEAT_INHERIT is given. The limits,
 * the user and the controlling terminal are those of this process. A process in a group of its own
 * is not in the terminal's foreground: it is stopped when it reads from the terminal, and Ctrl-C
 * does not reach it.
 *
 * Where Go has os/exec, leat has this header; `grace` is Go's WaitDelay. */
#ifndef LEAT_PROCESS_H
#define LEAT_PROCESS_H

#include <leat/base.h>
#include <leat/chan.h>
#include <leat/io.h>
#include <leat/scope.h>

#include <sys/resource.h>
#include <sys/types.h>

typedef struct leat_process leat_process;

/* How a process is started. A field that is 0 has its default. */
typedef struct leat_spawn_options {
    /* Strings NAME=value, then NULL. Default: this process's own. */
    const char *const *environment;
    /* The folder in which the program starts. Default: this process's own. */
    const char *folder;
    /* The descriptors that become 0, 1 and 2 of the process. They stay the caller's. Default: the
     * 0, 1 and 2 of this process. Do not give a non-blocking descriptor, such as
     * leat_process_out's: most programs do not expect one. */
    int in, out, err;
    unsigned flags; /* LEAT_PIPE_IN and so on */
    /* A time in nanoseconds: from SIGTERM to SIGKILL in a cancelled scope; for leat_capture also
     * from the end of the process to the end of its output. Default: 5 s. */
    int64_t grace;
} leat_spawn_options;

/* Flags for leat_spawn_options. */
enum {
    LEAT_PIPE_IN = 1,    /* leat makes a pipe to the process's 0, see leat_process_in */
    LEAT_PIPE_OUT = 2,   /* leat makes a pipe from its 1, see leat_process_out */
    LEAT_PIPE_ERR = 4,   /* leat makes a pipe from its 2, see leat_process_err */
    LEAT_ERR_TO_OUT = 8, /* its 2 is the same as its 1 */
    LEAT_NULL_IN = 16,   /* its 0 is /dev/null */
    LEAT_NO_GROUP = 32,  /* it stays in the group of this process */
    LEAT_INHERIT = 64,   /* it has every descriptor of the program without FD_CLOEXEC */
    LEAT_ATTENDED = 128  /* the thread that starts it attends to it, see leat_attend */
};

/* Starts a program. `argv` is its name and its arguments, then NULL. If the name has no slash, leat
 * looks for it in the folders of the PATH in the new process's environment. A text file without
 * "#!" does not count as a program. `options` may be NULL. leat uses `argv` and `options` only
 * during the call. `scope` owns the process; a party that may call leat_go for the scope may call
 * this. The process is written to *process, and is valid until the scope closes. The call takes 0.1
 * to 4 ms: a task waits meanwhile, as for leat_blocking, and a thread blocks. Cancelling does not
 * cut it short.
 * Returns 0 when the program runs. Else nothing runs, *process is unchanged, and the result is the
 * error of execve(2) or chdir(2), such as -ENOENT, -EACCES, -E2BIG or -ENOEXEC; -EINVAL for a NULL
 * scope, argv, argv[0] or process, flags that contradict each other or a descriptor, or a negative
 * grace or descriptor; -EBADF when a descriptor is not open; -ECANCELED when the caller's scope or
 * `scope` is cancelled; -EDEADLK in a block or callback; -EAGAIN when the system allows no more
 * processes; -EMFILE, -ENFILE, -ENOMEM; -ENOTSUP in a seeded world (leat/sim.h). */
LEAT_API int leat_spawn(leat_scope *scope, const char *const *argv,
                        const leat_spawn_options *options, leat_process **process);

/* How a process has ended. */
typedef struct leat_exit {
    int code;   /* what it returned or passed to exit, 0 to 255; -1 when a signal ended it */
    int signal; /* the signal that ended it, or 0 */
    int core;   /* not 0: it left a core dump */
    struct rusage usage; /* what it used, including children that it has waited for */
} leat_exit;

/* Waits until the process has ended, or until the deadline. `how` may be NULL. Any number of
 * parties may wait, any number of times; all get the same result. A process that is stopped has not
 * ended.
 * Returns 0; -ECHILD when it has ended and its status is lost, see the top; -EAGAIN with LEAT_NOW;
 * -ETIMEDOUT; -ECANCELED; -EDEADLK in a block or callback that would have to wait; -EINVAL for a
 * NULL process or a negative deadline. Unless it returns 0, *how is unchanged. */
LEAT_API int leat_wait(leat_process *process, leat_exit *how, int64_t deadline);

/* Waits until a process has ended, or one of the pipes in `pipes` can be read or written, or until
 * the deadline. `pipes` is a sum of LEAT_PIPE_IN, LEAT_PIPE_OUT and LEAT_PIPE_ERR; pipes that the
 * process does not have are ignored. A pipe whose stream has ended counts as readable: leave it out
 * afterwards.
 *
 * LEAT_ATTENDED is for a thread that runs programs, such as one of leat_go_blocking. With it, no
 * task of leat waits for the process, and no worker wakes for it. In return the thread that starts
 * the process must wait in leat_attend or leat_wait until the process has ended. While the thread
 * does something else, leat does not notice the end of the process; but if leat has begun to end
 * the process, SIGKILL still follows after the grace. No other party may read the pipes, and their
 * end is reported only when the process has ended. If the thread's scope is cancelled, leat_attend
 * and leat_wait end the process as the scope would, and return 0 when it has ended. If the scope is
 * closed before the process has ended, the close ends the process in the same way, and blocks the
 * thread meanwhile. For a task the flag has no effect.
 * Returns 0 when the process has ended, whether or not its pipes hold something; else those pipes
 * that can be read or written; -EAGAIN with LEAT_NOW; -ETIMEDOUT; -ECANCELED; -EDEADLK in a block
 * or callback that would have to wait; -EINVAL for a NULL process, other pipes or a negative
 * deadline. */
LEAT_API int leat_attend(leat_process *process, unsigned pipes, int64_t deadline);

/* Finds a channel for the end of the process: once the process has ended, every receive succeeds.
 * The items have no bytes. For selects and blocks, which then call leat_wait with LEAT_NOW. The
 * channel belongs to the process and is never closed.
 * Returns the channel; NULL for NULL. */
LEAT_API leat_chan *leat_process_ended(leat_process *process);

/* Send a signal: leat_kill to the process, leat_kill_all to every process of its group. With signal
 * 0 they only check that it exists. Without a group of its own, leat_kill_all is leat_kill. Never
 * wait.
 * Returns 0; -ESRCH when the process has ended and leat has taken its status, also for a group
 * whose other processes still run; -EPERM; -EINVAL for NULL or an unknown signal. */
LEAT_API int leat_kill(leat_process *process, int signal);
LEAT_API int leat_kill_all(leat_process *process, int signal);

/* Ends a process as a cancelled scope does, but begins with `signal`: sends it and SIGCONT to the
 * process and its group, and `grace` later SIGKILL to what is left of them. After this call,
 * leat_wait and the other functions count the process as ended only when its group has ended, too,
 * or has got SIGKILL. Never waits: leat_wait does. Further calls send their signals, too.
 * Returns 0; -ESRCH when the process has ended; -EPERM; -EINVAL for NULL, 0 or an unknown signal.
 * Unless it returns 0, the process goes on. */
LEAT_API int leat_process_end(leat_process *process, int signal);

/* Find leat's ends of the pipes: to the process's 0, from its 1, and from its 2. They belong to the
 * process and are closed with its scope, unless leat_io_close closes them earlier: the process
 * reads the end of its input when leat_process_in has been closed.
 * Returns the leat_io; NULL for NULL, and when leat_spawn was not asked for this pipe. */
LEAT_API leat_io *leat_process_in(leat_process *process);
LEAT_API leat_io *leat_process_out(leat_process *process);
LEAT_API leat_io *leat_process_err(leat_process *process);

/* Tells the process's number, for messages. When the process has ended, another may get the same
 * number: use leat_kill, not kill(2).
 * Returns it; -EINVAL for NULL. */
LEAT_API pid_t leat_process_id(const leat_process *process);

/* What leat_capture has collected. A 0 follows the bytes of `out` and `err`. */
typedef struct leat_captured {
    char *out, *err; /* the bytes of 1 and of 2 */
    size_t out_size, err_size;
    int partial;    /* not 0: there was more than `most`, the pipe was not closed in time, or the
                     * call ended early */
    leat_exit exit; /* how the program has ended */
} leat_captured;

/* Runs a program to its end and collects what it writes to 1 and 2: up to `most` bytes of each; the
 * rest is read and discarded. `argv` and `options` are as for leat_spawn; with LEAT_ERR_TO_OUT
 * `out` has both. When the program has ended and another process keeps the pipe open, the call
 * reads on for options->grace at most. When `deadline` passes or the caller's scope is cancelled,
 * the program is ended as in a cancelled scope: the call returns up to options->grace later, and
 * *captured has what the program has written. If the caller is a thread, it attends to the program
 * (leat_attend), with LEAT_ATTENDED or without: it blocks, and no worker wakes.
 * Returns 0 when the program has ended, however it ended; -ETIMEDOUT or -ECANCELED when the call
 * ended early; -EAGAIN with LEAT_NOW, which starts nothing; -ECHILD as for leat_wait; or an error
 * of leat_spawn, -EINVAL also for a NULL `captured`, a negative deadline, or LEAT_PIPE_IN. If the
 * program has not started, or after another error, all of *captured is 0. In any case the caller
 * frees *captured with leat_captured_free. */
LEAT_API int leat_capture(const char *const *argv, const leat_spawn_options *options,
                          leat_captured *captured, size_t most, int64_t deadline);

/* Frees what leat_capture has collected.
 * Returns 0; -EINVAL for NULL. */
LEAT_API int leat_captured_free(leat_captured *captured);

#endif
