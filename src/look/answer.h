/* answer.h: the look's answers to requests: the page, a document, a dump, a graph, a trace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The client. */
struct lt_asker {
    const char *token; /* required in each request; or NULL */
    bool stranger;     /* another user of this machine, at a UNIX socket */
};

/* A whole answer, for free(3). NULL: there was no memory, or there is none yet. */
struct lt_answer {
    char *bytes;
    size_t length;
};

/* The length of the head, which ends with an empty line, in the first n bytes of a request; 0: the
 * head is not whole. */
size_t lt_head_length(const char *request, size_t n);

/* Parses a head, in place; `head[n]` is writable. Writes the whole answer and returns 0. Or
 * begins a trace and returns for how many nanoseconds to record it: lt_answer_trace then ends the
 * trace and writes the answer. */
int64_t lt_answer(struct lt_answer *to, const struct lt_asker *asker, char *head, size_t n);
void lt_answer_trace(struct lt_answer *to);

/* An answer of one line, such as "404 Not Found". */
void lt_answer_status(struct lt_answer *to, int status);

/* Makes a look, within LT_LOOK_USUAL, and writes the document: docs/watch.md has its fields.
 * `caller`: as for lt_look_begin. 0; -EINVAL when no runtime runs; -ENOMEM. */
int lt_document(FILE *to, const void *caller);

/* The page, src/look/page.html, embedded in the program. */
extern const char lt_page[], lt_page_end[];
