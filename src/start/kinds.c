#include "start/start.h"

#include "block/block.h"
#include "block/callback.h"
#include "block/machine.h"
#include "io/io.h"
#include "process/process.h"
#include "process/signals.h"
#include "scope/scope.h"
#include "time/time.h"

static void runtime_ended(void)
{
    lt_timeout_close_all();
    lt_process_close_bells();
}

const struct lt_kinds lt_start_kinds = {
    .run = { [LT_JOB] = lt_job_run,
             [LT_BLOCK] = lt_block_run,
             [LT_CALLBACK] = lt_callback_run,
             [LT_TIMER] = lt_user_timer_run },
    .moves = { [LT_TASK] = lt_scope_task_moves, [LT_BLOCK] = lt_machine_moves },
    .end = { [LT_BLOCK] = lt_machine_end,
             [LT_CALLBACK] = lt_machine_end,
             [LT_TIMER] = lt_user_timer_end },
    .task_ended = lt_scope_task_ended,
    .task_look = lt_scope_look,
    .events = { [LT_SOURCE_IO] = lt_io_events, [LT_SOURCE_SIGNALS] = lt_signals_events },
    .units_return = lt_scope_return_units,
    .runtime_ended = runtime_ended,
};
