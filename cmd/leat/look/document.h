/* document.h: a program's description of itself at one moment, as structs.
 *
 * A field that is not known is NULL or NAN. Strings and lists belong to the document. References
 * are ids, which need not exist. Rates come from two documents of the same run of the program:
 * everywhere `before` is an earlier one, or NULL. */
#pragma once

#include "look/trouble.h"

#include <stdbool.h>
#include <stddef.h>

/* The counts of a worker, or of all. The last is of timers that are set now, the others are of all
 * that has happened. */
enum { COUNT_TIMERS = 6, COUNTS };

struct counts {
    double n[COUNTS];
};

extern const char *const document_counts[COUNTS]; /* their names */

struct worker {
    double number, cpu;
    bool answered;
    const char *runs;
    const char *const *calls;
    size_t call_count;
    double ready, queued;
    struct counts counts;
};

struct scope {
    const char *id, *around, *opener;
    bool joins, cancelled;
    double ends, members, since;
    unsigned depth; /* scopes around it that the document has */
};

struct wait {
    const char *what, *of; /* "receive", "c34"; of a party that waits for nothing: "sleep", NULL */
};

struct party {
    const char *id, *kind, *name, *code, *scope, *state;
    double since, more, worker, line, stack, stack_size;
    const struct wait *waits;
    const char *const *calls;
    size_t wait_count, call_count;
};

struct channel {
    const char *id, *name, *scope;
    const char *holder; /* of a mutex, or NULL */
    bool closed;
    double items, capacity, receivers, senders, passed;
};

struct descriptor {
    const char *id, *scope;
    bool closed;
    double fd, readers, writers;
};

struct batcher {
    const char *id, *name, *scope;
    bool closed;
    double forming, running, batches, items;
};

/* For an operator the numbers are not known. */
struct stage {
    const char *id, *kind, *name, *scope, *block;
    bool closed;
    double n, running, window, held, items, inputs, outputs;
    const char *const *in, *const *out; /* ids of channels: perhaps not all */
    size_t in_count, out_count;
};

enum thing { A_PARTY, A_CHANNEL, A_SCOPE, A_DESCRIPTOR, A_BATCHER, A_STAGE };
struct entry {
    const char *id;
    enum thing thing;
    const void *at;
};

struct document {
    void *json;
    const char *program, *leat;
    double pid, uptime, members;
    bool sampled, stacks; /* stacks: whether `calls` are known */
    struct counts counts;
    double stacks_used, stacks_free, threads, threads_free;
    struct worker *workers;
    struct scope *scopes;
    struct party *parties;
    struct channel *channels;
    struct descriptor *descriptors;
    struct batcher *batchers;
    struct stage *stages;
    size_t worker_count, scope_count, party_count, channel_count, descriptor_count, batcher_count;
    size_t stage_count;
    struct entry *index; /* sorted by id */
    size_t index_count;
    void **lists; /* the memory of `calls`, `waits` and so on */
    size_t list_count;
};

/* Reads the `len` bytes of JSON. NULL after a trouble. */
struct document *document_read(const char *bytes, size_t len, struct trouble *why);
void document_free(struct document *d);

/* document_entry: the entry of this id. document_find: the thing of this id, if it is one of that
 * kind. NULL: the document has none, or the document or the id is NULL. */
const struct entry *document_entry(const struct document *d, const char *id);
const void *document_find(const struct document *d, const char *id, enum thing thing);

/* The worker of this number. */
const struct worker *document_worker(const struct document *d, double number);
