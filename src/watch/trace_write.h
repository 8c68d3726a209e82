/* trace_write.h: makes a file of what a trace has collected. */
#ifndef LT_WATCH_TRACE_WRITE_H
#define LT_WATCH_TRACE_WRITE_H

#include <stdbool.h>
#include <stdio.h>

/* Writes what was collected; `lost` says that there are gaps. 0, -ENOMEM or -EIO. */
int lt_trace_write(FILE *to, unsigned workers, bool lost);

#endif
