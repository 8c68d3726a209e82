/* begin.c: what is to be looked after, by the options and the environment. */
#include "sched/runtime.h"

#include <leat/watch.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int lt_watch_begin(const leat_options *options)
{
    unsigned watch = options->watch;
    const char *text = getenv("LEAT_WATCH");
    if (text && strcmp(text, "waits") == 0)
        watch |= LEAT_WATCH_WAITS;
    else if (text && *text)
        return -EINVAL;
    if (watch & ~(unsigned)LEAT_WATCH_WAITS)
        return -EINVAL;
    atomic_store_explicit(&lt_note_flags, watch & LEAT_WATCH_WAITS ? LT_NOTE_WAITS : 0,
                          memory_order_relaxed);
    return 0;
}
