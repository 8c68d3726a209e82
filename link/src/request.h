/* request.h: requests to the engine, made in memory.
 *
 * A request is an array of words, in the engine's protocol (RESP). Several requests may lie in one
 * buffer: they are written at once, and their replies come in the same order. If memory runs out,
 * `failed` is set: later calls do nothing, and the write fails. */
#pragma once

#include "bytes.h"

#include <stdbool.h>

struct lk_request {
    leat_bytes bytes;
    unsigned replies; /* the number of requests */
    bool failed;
};

void lk_request_empty(struct lk_request *to);
void lk_request_free(struct lk_request *to);

/* Begins a request of `words` words, which must follow. */
void lk_request_begin(struct lk_request *to, size_t words);

/* Append a word. lk_request_raw appends words that are in the protocol's form already. */
void lk_request_word(struct lk_request *to, const void *data, size_t n);
void lk_request_text(struct lk_request *to, const char *text);
void lk_request_number(struct lk_request *to, int64_t number);
void lk_request_raw(struct lk_request *to, const char *words, size_t n);

/* A whole request of texts; the list ends with NULL. */
void lk_request_texts(struct lk_request *to, const char *first, ...) __attribute__((sentinel(0)));
