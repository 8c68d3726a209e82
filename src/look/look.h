/* look.h: the thread that serves looks.
 *
 * It uses poll(2) and its own sockets, and nothing of the runtime but the looks. A task would not
 * do, though the library has I/O: it would need a worker, and when all workers are held, which is
 * when an answer is needed most, it would not get one. The thread answers even then. It is no party
 * and opens no scope, so the program stays as it is; and reports of deadlocks do not take it for a
 * thread of the program (lt_monitor_bystander).
 *
 * Locking: none. Each server belongs to its thread, except `stop`, which wakes the thread. */
#pragma once

/* LEAT_LOOK and LEAT_LOOK_TOKEN: serves from the start of the runtime to its end. 0, or -EINVAL for
 * values that leat does not understand. If the address is not available, a line on standard error
 * says so, and the program goes on: another program that inherited the variable may use it. */
int lt_look_serve(void);
void lt_look_serve_end(void);
