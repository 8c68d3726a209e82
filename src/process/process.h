/* process.h: a process from the inside.
 *
 * A task of the scope, the warden, waits for the process's pidfd and takes its status. In a
 * cancelled scope, or when told to, it first ends the process, under a shield. The warden is
 * started before the process, since it could fail to start. Its orders come by the channel
 * `orders`: an item when the process has started, and the end of the channel when there is no
 * process or the process is to end.
 *
 * The status is taken under the lock, and signals are sent under it: the process's number and its
 * group's are its own until its status is taken. Afterwards the warden raises `ended`, the channel
 * from which parties receive that wait for the process.
 *
 * A leat_process is one piece of memory with the channel `ended`, and ends with it. The scope and
 * the warden have a reference each. */
#ifndef LT_PROCESS_PROCESS_H
#define LT_PROCESS_PROCESS_H

#include "base/lock.h"
#include "chan/chan.h"

#include <leat/process.h>

#include <stdbool.h>

struct leat_process {
    struct lt_lock lock;
    bool taken;     /* the status has been taken; under the lock */
    bool has_group; /* of its own */
    pid_t pid;
    leat_io *pidfd;
    leat_io *pipes[3];
    leat_chan *orders;
    int64_t grace;
    int error; /* of taking the status: 0 or -ECHILD; this and `exit` do not change once raised */
    leat_exit exit;
    struct lt_owned owned;
};

enum { LT_GRACE_S = 5 };

/* Makes a process that has not been started, with one reference. NULL: no memory. */
leat_process *lt_process_new(void);
void lt_process_unref(leat_process *process);

/* The warden. */
int lt_process_attend(void *process);

#endif
