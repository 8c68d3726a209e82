/* ask.h: a look asks the workers. */
#ifndef LT_WATCH_ASK_H
#define LT_WATCH_ASK_H

#include "watch/look.h"

/* lt_ask_all asks all workers, and answers for the calling one; lt_ask_wait waits for the answers.
 * After that, asks[i] has the records of worker i, or is NULL when the worker has not answered.
 * Both return 0 or -ENOMEM. */
int lt_ask_all(struct lt_look *look);
int lt_ask_wait(struct lt_look *look);
size_t lt_ask_steps(const struct lt_ask *ask);
struct lt_pad *lt_ask_pad(struct lt_ask *ask);
void lt_ask_free(struct lt_ask *ask);

#endif
