/* process.h: a process from the inside.
 *
 * A task of the scope, the warden, waits for the process's pidfd and takes its status. In a
 * cancelled scope it first orders the end of the process. The warden is started before the process,
 * since starting it could fail. Its orders come by the channel `orders`: an item when the process
 * has started, and the end of the channel when there is no process or the process must end.
 *
 * With LEAT_ATTENDED a thread is the warden of its process, while it is in leat_attend or leat_wait
 * (attend.c). If it does not come back, the scope ends the process when it closes: on a worker,
 * whose timers then stand still.
 *
 * When the process must end, a timer sends SIGKILL after the grace; while an attendant attends, it
 * does if the timer is late. Such a process takes its group with it: its status is taken when no
 * other process of the group is left (group.c), or when the rest has got SIGKILL.
 *
 * The status is taken under the lock, and signals are sent under it: no other process or group gets
 * its number until its status is taken. Then the party that took it raises `ended`, the channel
 * from which parties that wait for the process receive.
 *
 * A leat_process is one piece of memory with the channel `ended`, and ends with it. The scope and
 * the warden have a reference each. */
#pragma once

#include "base/lock.h"
#include "chan/chan.h"
#include "sched/shared_timer.h"

#include <leat/process.h>

#include <stdbool.h>

struct leat_process {
    struct lt_lock lock;
    bool taken;     /* the status has been taken; under the lock */
    bool has_group; /* it has its own group */
    bool ending;    /* it must end, and the rest of its group; under the lock */
    bool spared;    /* it is ending, and the grace is not over; under the lock */
    bool cancelled; /* lt_process_cancel has been called */
    pid_t pid;
    leat_io *pidfd;
    leat_io *pipes[3];
    leat_chan *orders;             /* NULL with an attendant */
    struct lt_thread *attendant;   /* or NULL; only compared */
    int kept[3];                   /* with an attendant: the write ends; -1: none */
    struct lt_shared_timer killer; /* set while it is spared */
    int64_t grace, spared_until;
    int error; /* 0, or -ECHILD if there was no status; this and `exit` do not change once raised */
    leat_exit exit;
    struct lt_owned owned;
};

/* Makes a process that has not been started, with one reference. `attendant` may be NULL. NULL when
 * memory has run out. */
leat_process *lt_process_new(struct lt_thread *attendant);
void lt_process_unref(leat_process *process);

/* The warden's task. */
int lt_process_attend(void *process);

/* The process's scope is cancelled or closes: the process must end, by one SIGTERM. */
void lt_process_cancel(leat_process *process);

/* Whether the process has ended, or another thread has its status. */
bool lt_process_has_ended(leat_process *process);

/* The process has ended: takes its status. False: not yet, since the grace of its group is not over
 * or a debugger still has it. */
bool lt_process_finish(leat_process *process);

/* As leat_attend for a party that does not attend to the process. Without `ends` it waits for the
 * pipes only. */
int lt_process_select(leat_process *process, bool ends, unsigned pipes, int64_t deadline);

/* Whether another process of its group is left; called while the process has not ended or its
 * status is not taken. Also false without /proc, and true if there is no descriptor to read it. */
bool lt_process_has_followers(const leat_process *process);

/* How long a wait lets pass between two looks at what the system cannot watch. */
#define LT_PROCESS_LOOK (10 * LEAT_MS)

/* ---- with an attendant ---- */

/* Whether the caller is the process's attendant. */
bool lt_process_is_mine(const leat_process *process);

/* leat_attend, for the attendant. */
int lt_process_attend_here(leat_process *process, unsigned pipes, int64_t deadline);

/* Sends SIGKILL if the grace is over, unless the timer does. Returns when it will be over;
 * LEAT_NEVER if it is, or if there is none. */
int64_t lt_process_kill_in_time(leat_process *process);

/* Closes the bells. Called when the runtime ends: no scope is open. */
void lt_process_close_bells(void);
