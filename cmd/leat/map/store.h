/* store.h: output that waits until it is its job's turn: in memory, and beyond that in a file.
 *
 * The file has no name, so it disappears with the run. When neither has room, the caller has to
 * wait: a full disk delays a run, but does not end it. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of output in memory, of all jobs; and as many again for the job that has its turn. */
enum { STORE_MEMORY = 8 << 20 };

/* The stream that bytes have come from. */
enum stream { STREAM_OUT, STREAM_ERR, STREAMS };

struct piece;

/* The waiting output of one job, in order. A zeroed struct is empty. */
struct held {
    struct piece *first, *last;
};

struct store {
    pthread_mutex_t lock;
    int64_t memory; /* bytes that wait in it */
    int64_t room;   /* bytes that may wait in the file */
    int64_t spilled, end;
    int fd; /* of the file; -1: there is none yet */
};

void store_open(struct store *s, int64_t room);
void store_close(struct store *s);

/* Adds bytes. `first`: the job has its turn. False: there is no room. */
bool store_add(struct store *s, struct held *to, enum stream stream, const char *bytes, size_t n,
               bool first);

/* Takes the first bytes into *bytes, which the caller frees. Returns their number; 0: there are
 * none. -errno: the file could not be read. */
int64_t store_take(struct store *s, struct held *from, enum stream *stream, char **bytes);

/* Forgets all bytes, or those of one stream. */
void store_drop(struct store *s, struct held *held);
void store_drop_stream(struct store *s, struct held *held, enum stream stream);
