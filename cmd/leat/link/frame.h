/* frame.h: the messages between `leat map` and a `leat worker` on another machine: on a stream each
 * way, or through a queue (shared/queue.h).
 *
 * A frame is the size of its body in 4 bytes, its kind in 1 byte, the number of the job that it is
 * about in 4 bytes (0: of none), and the body. Numbers have their low byte first.
 *
 *   kind       sent by  body
 *   HELLO      both     version, NUL; the map adds the grace in 8 bytes, the folder and NUL; the
 *                       worker adds its cores in 4 bytes
 *   ARGUMENTS  map      a part of the job's strings: its variables, then its arguments, with NULs
 *   START      map      the number of strings in 4 bytes; 1 byte that is 1 if the job has an input
 *   INPUT      map      a part of the job's standard input; without bytes: its end
 *   SIGNAL     map      1 byte: the signal; 1 byte that is 1 if the job is to end
 *   OUTPUT     worker   a part of the job's standard output
 *   ERRORS     worker   a part of its standard error
 *   CREDIT     both     1 byte: a kind; 4 bytes: as many more bytes of that kind may be sent
 *   REFUSED    worker   4 bytes: why the program could not start: an errno value; EDEADLK: the
 *                       running jobs hold what it needs, and all of them wait for credit
 *   ENDED      worker   4 bytes: what the program returned, or -1; 4 bytes: its signal, or 0
 *   LIMIT      map      8 bytes: how long the program may run, in nanoseconds; 0: without end
 *   RAN        worker   8 bytes: how long it ran, in nanoseconds; 8 bytes: as much of its input as
 *                       it has read; 1 byte of bits (FRAME_RAN_LATE, FRAME_RAN_LARGE); the name of
 *                       the worker's machine, NUL
 *   UNREAD     worker   4 bytes: why its output, or how it ended, could not be read: an errno value
 *
 * On a stream, both begin with HELLO, and neither goes on with another version. After REFUSED,
 * ENDED or UNREAD, the worker sends nothing more for that job; until the map has read it, the map
 * may send more, which the worker ignores. For each job, INPUT, OUTPUT and ERRORS begin with a
 * credit of FRAME_CREDIT_MOST bytes: if one side does not take them, that stops only this job. A
 * side may keep back a credit of less than FRAME_CREDIT_STEP bytes.
 *
 * In a queue, an item is a whole job: HELLO, ARGUMENTS, LIMIT, START, INPUT. Its result is HELLO
 * without cores, OUTPUT and ERRORS, RAN, and then REFUSED, ENDED or UNREAD; to a job of another
 * version it is HELLO alone. Both have at most FRAME_PARCEL_MOST bytes. LIMIT and RAN are in queues
 * only, and SIGNAL and CREDIT on streams only. */
#pragma once

#include "shared/text.h"

enum frame_kind {
    FRAME_HELLO = 1,
    FRAME_ARGUMENTS,
    FRAME_START,
    FRAME_INPUT,
    FRAME_SIGNAL,
    FRAME_OUTPUT,
    FRAME_ERRORS,
    FRAME_CREDIT,
    FRAME_REFUSED,
    FRAME_ENDED,
    FRAME_LIMIT,
    FRAME_RAN,
    FRAME_UNREAD,
    FRAME_KINDS
};

enum {
    FRAME_HEAD = 9,                 /* bytes before the body */
    FRAME_BODY_MOST = 64 * 1024,    /* bytes */
    FRAME_CREDIT_MOST = 256 * 1024, /* bytes */
    FRAME_CREDIT_STEP = 64 * 1024,  /* bytes; less is given back later, or not at all */
    FRAME_PARCEL_MOST = 64 << 20,   /* bytes */
    FRAME_STRINGS_MOST = 8 << 20    /* bytes of a job's strings: more than execve(2) takes */
};

/* Bits of RAN: the program was ended at its limit, or because its output was too large for a
 * result, which then has none. */
enum { FRAME_RAN_LATE = 1, FRAME_RAN_LARGE = 2 };

struct frame {
    enum frame_kind kind;
    uint32_t job;
    /* The unread rest of the body. A read beyond its end makes the frame `broken`. */
    const char *body;
    size_t left;
    bool broken;
};

/* Adds a number of `size` bytes. */
void frame_add(struct text *to, uint64_t number, size_t size);

/* Adds a whole frame. */
void frame_put(struct text *to, enum frame_kind kind, uint32_t job, const void *body, size_t n);

/* Adds frames of at most FRAME_BODY_MOST bytes; without bytes: none. */
void frame_put_all(struct text *to, enum frame_kind kind, uint32_t job, const char *body, size_t n);

/* Takes the first frame of `n` bytes. Returns its size with its head; 0: it is not complete yet;
 * -1: this is no frame. */
int64_t frame_take(const char *bytes, size_t n, struct frame *to);

/* Read the body. The string is within it. */
uint64_t frame_number(struct frame *f, size_t size);
const char *frame_string(struct frame *f);

/* Whether there are exactly `count` strings, each followed by a NUL. */
bool frame_strings_are(const struct text *strings, uint64_t count);

/* Reads START. False: these are not the strings of a job. */
bool frame_start(struct frame *f, const struct text *strings, size_t *count, bool *has_input);
