/* timeout.h: channels that close at a time: what the end of the runtime does with them. */
#ifndef LT_TIME_TIMEOUT_H
#define LT_TIME_TIMEOUT_H

/* When no shared timer fires any more: closes all that have not passed yet. */
void lt_timeout_close_all(void);

#endif
