/* shortage.h: jobs that cannot start now, since the system lacks something that other jobs give
 * back when they end: threads, processes, descriptors or memory.
 *
 * A job has one try, and then waits for the turn: only the job that has the turn tries again. A try
 * takes a thread and a process. Several jobs that try at once could take from each other what each
 * of them lacks, again and again. */
#pragma once

#include <leat/leat.h>

#include <stdbool.h>

/* The pause before another try, and the number of tries: a second in all. */
enum { SHORTAGE_PAUSE = 10 * LEAT_MS, SHORTAGE_TRIES = 100 };

/* Whether the error says that the system lacks something which jobs give back when they end. */
bool shortage_is(int error);

/* Whether the error of a pipe or a terminal says that the system cannot watch one more descriptor.
 * Then its user looks at it now and then. */
bool shortage_of_watches(int error);

/* How long one job waits; zeroed at first. */
struct patience {
    bool has_turn;
    unsigned left; /* tries in a row while no job is about to end */
};

/* Waits before another try: first for the turn, later for a moment. `alone`: no job runs that could
 * give something back. `ends`: if it is closed, the job waits no longer; or NULL.
 * False: there is nothing left to wait for, or the caller is cancelled. */
bool shortage_wait(leat_mutex *turn, struct patience *patience, bool alone, leat_chan *ends);

/* The job waits no longer: the turn is for the next job. */
void shortage_over(leat_mutex *turn, const struct patience *patience);
