/* leat/leat.h: tasks, channels, select and scopes for C, on every core.
 *
 * This header includes all the others. Read leat/runtime.h first. */
#ifndef LEAT_LEAT_H
#define LEAT_LEAT_H

#include <leat/base.h>
#include <leat/batch.h>
#include <leat/block.h>
#include <leat/callback.h>
#include <leat/chan.h>
#include <leat/flow.h>
#include <leat/io.h>
#include <leat/lines.h>
#include <leat/net.h>
#include <leat/pace.h>
#include <leat/parallel.h>
#include <leat/pipeline.h>
#include <leat/process.h>
#include <leat/runtime.h>
#include <leat/scope.h>
#include <leat/select.h>
#include <leat/signal.h>
#include <leat/sim.h>
#include <leat/sync.h>
#include <leat/task.h>
#include <leat/time.h>
#include <leat/timeout.h>
#include <leat/timer.h>
#include <leat/transform.h>
#include <leat/watch.h>

#endif
