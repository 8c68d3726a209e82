#include "start/start.h"

#include "block/block.h"
#include "block/callback.h"
#include "block/machine.h"
#include "scope/scope.h"
#include "time/time.h"

/* A row of the table. */
#define KIND(kind, when_ready, when_moved, to_end) \
    .run[kind] = when_ready, .moves[kind] = when_moved, .end[kind] = to_end

const struct lt_kinds lt_start_kinds = {
    KIND(LT_TASK, NULL, lt_scope_task_moves, NULL),
    KIND(LT_THREAD, NULL, NULL, NULL),
    KIND(LT_JOB, lt_job_run, NULL, NULL),
    KIND(LT_BLOCK, lt_block_run, lt_machine_moves, lt_machine_end),
    KIND(LT_CALLBACK, lt_callback_run, NULL, lt_machine_end),
    KIND(LT_TIMER, lt_user_timer_run, NULL, lt_user_timer_end),
    .task_ended = lt_scope_task_ended,
    .task_look = lt_scope_look,
    .units_return = lt_scope_return_units,
    .runtime_ended = lt_timeout_close_all,
};
