/* leat/watch.h: dumps, counts and traces: what exists in a running program, and what each party
 * waits for.
 *
 * Dumps and counts may be requested at any time. Reports of deadlocks, a watchdog, traces, call
 * stacks and how long each party has waited are requested when the runtime starts, by leat_options
 * or the environment (docs/watch.md has a table). What is not requested costs one branch for each
 * event, and no thread.
 *
 * A trace. With leat_options.trace, or LEAT_TRACE=file in the environment, events are kept in
 * memory (32 bytes each, at most 128 MiB for each worker) and written to the file when the
 * runtime stops. ui.perfetto.dev and chrome://tracing show it: when each worker ran which task,
 * block or callback; scopes; and an arrow for each item from its sender to its receiver, where
 * both ran on workers. Each runtime of a process overwrites the file.
 *
 * `leat look` takes a trace of some seconds of a program that runs already. Such a trace has no
 * arrows. It is kept in at most 16 MiB for each worker: 12 MiB of events and 4 MiB of names. This
 * memory is kept for the next such trace until the runtime stops; writing the trace takes about as
 * much again, for a moment. When the memory is full, further events are lost, and the trace's
 * metadata says how many. */
#ifndef LEAT_WATCH_H
#define LEAT_WATCH_H

#include <leat/base.h>
#include <leat/scope.h>

#include <stdio.h>

/* Flags for leat_options.watch. */
enum {
    /* Dumps say since when each party has waited. LEAT_WATCH=waits in the environment does the
     * same; in a seeded world dumps always say so, by the world's clock. Tasks and threads then
     * read the clock at each wait. For blocks and callbacks the time is kept in a table of 64 parts
     * with a lock each: some 160 instructions a wait, with the clock. The table grows to 64 bytes
     * for each block and callback that waits at the same time, and is freed when the runtime stops.
     * If memory for it runs out, the time is not shown. */
    LEAT_WATCH_WAITS = 1,
    /* A deadlock is reported once on standard error, with a dump; with LEAT_WATCH_DEADLOCK_ABORT
     * the program is then aborted. The environment's LEAT_DEADLOCK=report and LEAT_DEADLOCK=abort
     * do the same. It is a deadlock when all tasks wait, no deadline, timer or tick is set, no call
     * blocks, and every thread of the process waits in leat without a deadline: then nothing can
     * end a wait.
     * While the process has even one thread that leat does not know, there is no report, since this
     * thread may call leat. leat counts the threads in /proc. There is no report either while leat
     * watches a descriptor (leat/io.h), since input may come there. */
    LEAT_WATCH_DEADLOCK = 2,
    LEAT_WATCH_DEADLOCK_ABORT = 4,
    /* Dumps show the call stack of each task that has started and stands still, of the task that
     * makes the dump, and of the task, block or callback on a worker that does not answer.
     * LEAT_WATCH=stacks in the environment does the same; LEAT_WATCH=waits,stacks does that and
     * LEAT_WATCH_WAITS. Each call is a line `at file+0x…`, a place for `addr2line -fe file`, and
     * the name of the function if the dynamic linker knows it: that of an exported function or, in
     * a program linked with -rdynamic, of any that is not static. A stack is shown down to the 64th
     * call, and ends early at code without unwind tables (-fno-asynchronous-unwind-tables).
     *
     * It costs nothing until a dump is made, and then a few microseconds for each call. The C
     * library loads libgcc_s.so.1 for it when the runtime starts; where that is missing, no stack
     * is shown. While the runtime runs, leat has a handler for SIGPROF, which reads the stack of a
     * worker that does not answer. If that worker blocks in a system call, the call may return
     * EINTR. The handler passes on all signals but leat's own. If a program installs its own
     * handler meanwhile, dumps show no stack of such a worker from then on. In a seeded world there
     * are no call stacks. */
    LEAT_WATCH_STACKS = 8
};

/* Writes a dump to `to`: all that exists in the running program. These are the workers and what
 * they run; the tree of scopes with their openers; in each scope its tasks, threads, blocks and
 * waiting callbacks, by name, with what each waits for (a channel to receive from or send to, the
 * cases of a select, a time, the end of a scope or block, a call that blocks) and, with
 * LEAT_WATCH_WAITS, since when; with LEAT_WATCH_STACKS the call stacks of tasks; and every channel
 * with its items and waiters. docs/watch.md reads a dump.
 *
 * A task's stack is shown as the bytes of it that are in memory: pages that this task, or one
 * before it on the same stack, has touched. Things with the same name have numbers, in the order in
 * which one thread made them.
 *
 * Any task or thread may call it at any time, also when all others are stuck. It waits until no
 * other dump is being made, and then until the other workers answer, 100 ms at most; during the
 * latter wait a calling task keeps its worker. If a worker does not answer, which is likely in an
 * endless loop, the dump shows less of it, and says so. With LEAT_WATCH_STACKS it waits for the
 * stack of each such worker, 100 ms at most. Nothing is stopped: each line is true at some moment
 * during the call. Must not be called from a signal handler: see leat_dump_on_signal. `to` is
 * flushed, and stays the caller's.
 * Returns 0; -EINVAL for NULL, or when no runtime runs; -ENOMEM; -EIO when it could not be
 * written. */
LEAT_API int leat_dump(FILE *to);

/* The same, without call stacks, as a graph in the language of Graphviz (dot -Tsvg): scopes are
 * frames, parties and channels are nodes, and an edge leads from each waiting party to what it
 * waits for; the edges of a select are dashed.
 * Returns what leat_dump does. */
LEAT_API int leat_dump_graph(FILE *to);

/* Makes the signal write a dump to standard error, from now on until the runtime stops.
 * LEAT_DUMP=SIGQUIT (or SIGUSR1, SIGUSR2, SIGHUP) in the environment does so from the beginning. It
 * replaces the signal's handler for that time. The new handler only wakes a thread, which exists
 * from then on and works even when all workers are stuck.
 * Returns 0; -EINVAL when no runtime runs, for a signal that no program can handle or that shows a
 * fault (SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS), and for
 * SIGPROF, which leat uses; -ENOTSUP in a seeded world; -ENOMEM. */
LEAT_API int leat_dump_on_signal(int signal);

/* Serves a page about the running program at `address`, for a browser and for `leat look`,
 * until `scope` closes: the graph of scopes, parties and channels, the workers and their load, what
 * each party waits for, and downloads of a dump, a graph and a trace. docs/watch.md describes the
 * page and the JSON behind it. LEAT_LOOK=ADDRESS in the environment does the same from the start of
 * the runtime to its end.
 *
 * `address` is an address of a stream as in leat/net.h, with numbers: "127.0.0.1:8080",
 * "[::1]:8080", "unix:/run/mill.look". At port 0 the system chooses a port, and leat says which on
 * standard error. A UNIX socket answers only its own user and root. leat removes the socket's file
 * at the end, and replaces a file that a killed program has left. A TCP port on this machine
 * (127.0.0.1, [::1]) answers every user of this machine. With a `token`, LEAT_LOOK_TOKEN in the
 * environment, each request needs the token ("http://127.0.0.1:8080/?token=…"), and any address is
 * allowed: without encryption, so for networks that are trusted. `token` may be NULL; both texts
 * are copied.
 *
 * A thread of leat serves the page. It makes a look only on request, so it costs nothing otherwise,
 * and it answers even while all workers are stuck. A look records 4,000 parties at most. The page
 * changes nothing in the program.
 *
 * Any task or thread may call it, for a scope that stays open during the call. Closing the scope
 * waits for a look that is being made, some 100 ms at most, or for a dump that is being written
 * for a client. It does not wait for clients: an answer that they have not read may be cut off.
 * Returns 0; -EINVAL for a NULL scope, a wrong address, an empty token, or when no runtime runs;
 * -EPERM for an address that other machines can reach, without a token; -ENOTSUP in a seeded world;
 * -ENOMEM; or the error of listening: -EADDRINUSE, -EACCES and the like. */
LEAT_API int leat_look(leat_scope *scope, const char *address, const char *token);

/* Counts since the runtime started, and numbers of what exists now. A worker adds up its counts
 * only now and then, in its scheduler, so a number may be some switches behind; counting costs
 * nothing in a switch. */
typedef struct leat_counts {
    uint64_t switches;     /* times a task, block or callback began to run or ran again */
    uint64_t started;      /* tasks that have started; the other switches resumed one */
    uint64_t received;     /* tasks, blocks and callbacks that another thread made ready here */
    uint64_t stolen;       /* tasks and blocks that had not started, stolen from other workers */
    uint64_t moved;        /* tasks, blocks and callbacks that had started, taken when ready */
    uint64_t sleeps;       /* times a worker found nothing to do */
    uint64_t timers;       /* deadlines that have not passed yet */
    uint64_t stacks;       /* of the default size, in use; for one worker: 0 */
    uint64_t stacks_free;  /* mapped and not in use; for one worker: those it has at hand */
    uint64_t threads;      /* in the pool for calls that block; for one worker: 0 */
    uint64_t threads_free; /* of these, without work; for one worker: 0 */
} leat_counts;

/* Write the counts of all workers together, or of one, to `counts`. Workers are numbered from 0. If
 * a dump is being made meanwhile, waits for it, as leat_dump does.
 * Returns 0; -EINVAL for NULL, for a worker that does not exist, or when no runtime runs. */
LEAT_API int leat_count(leat_counts *counts);
LEAT_API int leat_count_worker(leat_counts *counts, unsigned worker);

#endif
