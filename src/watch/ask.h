/* ask.h: the workers' own part of a look: their tasks, their ready lists, their wheels. */
#pragma once

#include "watch/picture.h"

/* Waits for the right to read the workers from outside: lt_runtime_look without its -EBUSY. A task
 * yields meanwhile, so that its worker can answer the look that is being made. */
int lt_look_turn(void);

/* lt_look_ask asks all workers, and answers for the calling one. 0 or -ENOMEM. lt_look_hear waits
 * for the answers. Then `answered` in a worker's record says whether its pad has an answer. */
int lt_look_ask(struct lt_look *look);
void lt_look_hear(struct lt_look *look);
