/* look.h: the thread that serves looks.
 *
 * It uses poll(2) and sockets of its own, and nothing of the runtime but the looks. That is
 * deliberate, though the library has I/O of its own: a task that served would wait for a worker,
 * and when all workers are held, which is when an answer is wanted most, it would not get one. As a
 * thread it answers then. It is no party and opens no scope, so the program that is looked at stays
 * as it is; and reports of deadlocks do not take it for a thread of the program
 * (lt_monitor_bystander).
 *
 * Locking: none. Each server is its thread's alone, but for `stop`, which wakes the thread. */
#ifndef LT_LOOK_LOOK_H
#define LT_LOOK_LOOK_H

/* LEAT_LOOK and LEAT_LOOK_TOKEN: serves from the start of the runtime to its end. 0, or -EINVAL for
 * values that leat does not understand. If the address cannot be had, a line on standard error says
 * so, and the program goes on: another one that inherited the variable may have it. */
int lt_look_serve(void);
void lt_look_serve_end(void);

#endif
