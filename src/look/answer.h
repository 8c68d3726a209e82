/* answer.h: what the look answers to a request. */
#ifndef LT_LOOK_ANSWER_H
#define LT_LOOK_ANSWER_H

#include "look/request.h"
#include "watch/text.h"

#include <stdint.h>

/* The client. */
struct lt_asker {
    const char *token; /* that each request needs, or NULL */
    bool stranger;     /* another user of this machine, at a UNIX socket */
};

/* Writes the whole answer. Or returns for how many nanoseconds a trace is to be recorded, which has
 * begun then: lt_answer_trace ends the trace and writes the answer. Else 0. */
int64_t lt_answer(struct lt_text *to, const struct lt_asker *asker,
                  const struct lt_request *request);
void lt_answer_trace(struct lt_text *to);

/* Ends the trace for a client that has gone. */
void lt_answer_no_trace(void);

/* An answer of one line, such as "404 Not Found". */
void lt_answer_status(struct lt_text *to, int status);

#endif
