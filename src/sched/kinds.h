/* kinds.h: the functions of higher rooms that the scheduler calls: a row for each kind of party,
 * one for each kind of source, and some for scopes and timeouts.
 *
 * src/start assembles the table (start/kinds.c) and hands it over when a runtime starts. No party
 * is made ready, moved or ended while no runtime runs, so the functions are always there. This is a
 * copy, with one array for each column: a call costs one load. */
#pragma once

#include "sched/party.h"
#include "sched/reactor.h"

struct lt_task;
struct lt_worker;

struct lt_kinds {
    /* Runs a ready party, unless it is a task or a thread. */
    void (*run[LT_KINDS])(struct lt_party *party);
    /* Called inside both workers when a ready party moves from one to the other. NULL: nothing to
     * do. */
    void (*moves[LT_KINDS])(struct lt_party *party, struct lt_worker *from, struct lt_worker *to);
    /* Ends the wait of a stackless party for `reason`. True if it was waiting: the caller then
     * makes it ready. */
    bool (*end[LT_KINDS])(struct lt_party *party, int reason);
    /* A task's last act, on its stack. False: the descriptor must not be given back. */
    bool (*task_ended)(struct lt_task *task, int result);
    /* Inside the home of a task that was nudged, while the task does not run. */
    void (*task_look)(struct lt_task *task);
    /* Gives back the units of a scope that a worker has, before it runs a party outside of that
     * scope. */
    void (*units_return)(struct lt_worker *worker);
    /* Called with the lock of the source's slot held: records events, EPOLLIN and so on. Returns
     * the chain of parties that the caller must make ready. */
    struct lt_party *(*events[LT_SOURCE_KINDS])(struct lt_source *source, uint32_t events);
    /* Called when the workers have ended, before they are freed. */
    void (*runtime_ended)(void);
};

/* Set while no runtime exists. */
extern struct lt_kinds lt_kinds;
