/* output.c: passes a job's output to the run's own streams. */
#define _GNU_SOURCE
#include "map/job.h"
#include "shared/shortage.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static void write_out(struct job *job, enum stream stream, const char *bytes, size_t n)
{
    struct run *run = job->run;
    streams_write(&run->streams, stream, job->tag, &job->within[stream], bytes, n);
    if (stream == STREAM_ERR && streams_error(&run->streams, STREAM_ERR))
        note_trouble(run);
    int error = streams_error(&run->streams, STREAM_OUT);
    if (error && !leat_chan_closed(run->killing))
        end_unread(run, error);
}

/* With --lines: writes all whole lines. A line of more than LINE_MOST bytes is written in parts. */
static void write_lines(struct job *job, enum stream stream, const char *bytes, size_t n)
{
    struct text *rest = &job->rest[stream];
    const char *end = memrchr(bytes, '\n', n);
    size_t whole = end ? (size_t)(end - bytes) + 1 : 0;
    if (whole && rest->len == 0) {
        write_out(job, stream, bytes, whole);
    } else if (whole) {
        text_add(rest, bytes, whole);
        write_out(job, stream, rest->bytes, rest->len);
        text_clear(rest);
    }
    text_add(rest, bytes + whole, n - whole);
    if (rest->broken && end_run(job->run, true, SIGTERM, EXIT_TROUBLE))
        streams_say(&job->run->streams, "memory exhausted");
    if (rest->len > LINE_MOST) {
        write_out(job, stream, rest->bytes, rest->len);
        text_clear(rest);
    }
}

static void write_held(struct job *job, struct held *held)
{
    enum stream stream;
    char *bytes;
    int64_t n;
    while ((n = store_take(&job->run->store, held, &stream, &bytes)) > 0) {
        write_out(job, stream, bytes, (size_t)n);
        free(bytes);
    }
    if (n < 0) {
        streams_say(&job->run->streams, "output that waited cannot be read: %s", strerror((int)-n));
        end_run(job->run, true, SIGTERM, EXIT_TROUBLE);
        store_drop(&job->run->store, held);
        job->torn = true;
    }
}

static struct held detach(struct job *job)
{
    struct held held = job->held;
    job->held = (struct held){ 0 };
    return held;
}

/* ---- the turn ---- */

void output_begin_turn(struct job *job)
{
    struct run *run = job->run;
    for (;;) {
        pthread_mutex_lock(&run->lock);
        /* Output of a try that may not count is held back. */
        bool may_write = job->try > run->plan->retries;
        struct held held = may_write && !job->killed ? detach(job) : (struct held){ 0 };
        job->printed |= held.first != NULL;
        job->has_turn = !held.first;
        leat_chan *turn = job->has_turn ? job->turn : NULL;
        if (turn)
            leat_chan_ref(turn);
        pthread_mutex_unlock(&run->lock);
        if (turn) {
            leat_close(turn);
            leat_chan_unref(turn);
        }
        if (!held.first)
            return;
        write_held(job, &held);
    }
}

/* Makes the channel that ends the wait. NULL: the job has its turn, or there is no memory. */
static leat_chan *begin_wait(struct job *job, bool *ask)
{
    struct run *run = job->run;
    leat_chan *turn = leat_chan_make(NULL, 0, 0);
    pthread_mutex_lock(&run->lock);
    *ask = run->plan->unordered && !job->asks && !job->has_turn;
    job->asks |= *ask;
    job->turn = job->has_turn ? NULL : turn;
    pthread_mutex_unlock(&run->lock);
    if (job->turn || !turn)
        return turn;
    leat_chan_unref(turn);
    return NULL;
}

/* Waits until it is the job's turn, and lends the job's place meanwhile. A job that has lent its
 * place goes on without one, since other jobs may have their places for long. */
static void await_turn(struct job *job)
{
    struct run *run = job->run;
    bool ask;
    leat_chan *turn = begin_wait(job, &ask);
    if (ask)
        leat_send(run->news, &(struct news){ job, false });
    for (int got = 2; turn && got == 2;) {
        unsigned place = job->place;
        leat_case cases[] = { LEAT_RECV(turn, NULL), LEAT_RECV(run->killing, NULL),
                              LEAT_SEND(place ? run->lend : NULL, &place) };
        got = leat_select(cases, 3, LEAT_NEVER);
        if (got == 2)
            job->place = 0;
    }
    pthread_mutex_lock(&run->lock);
    job->turn = NULL;
    pthread_mutex_unlock(&run->lock);
    if (turn)
        leat_chan_unref(turn);
    else
        leat_sleep(SHORTAGE_PAUSE); /* no memory: other jobs may give some back */
}

/* ---- taking ---- */

/* DONE: nothing is left to do. FULL: there is no room. WRITE: the caller writes, `held` first. */
enum step { DONE, FULL, WRITE };

static enum step take(struct job *job, enum stream stream, const char *bytes, size_t n, bool forced,
                      struct held *held)
{
    struct run *run = job->run;
    enum step step = DONE;
    pthread_mutex_lock(&run->lock);
    bool may_change = job->try <= run->plan->retries && !forced;
    if (job->killed)
        ;
    else if (job->has_turn && !may_change)
        step = WRITE;
    else if (!store_add(&run->store, &job->held, stream, bytes, n, job->has_turn))
        step = job->has_turn ? WRITE : FULL;
    if (step == WRITE)
        *held = detach(job);
    pthread_mutex_unlock(&run->lock);
    return step;
}

void output_take(struct job *job, enum stream stream, const char *bytes, size_t n)
{
    struct held held = { 0 };
    enum step step;
    if (n == 0)
        return;
    if (stream == STREAM_OUT) {
        bool differed = job->replay.differs;
        size_t again = replay_take(&job->replay, bytes, n);
        if (job->replay.differs && !differed)
            end_program(job);
        job->received += n;
        bytes += again;
        n -= again;
    }
    if (n == 0 || job->replay.differs)
        return;
    if (job->run->plan->lines) {
        job->printed = true;
        if (!leat_chan_closed(job->run->killing))
            write_lines(job, stream, bytes, n);
        return;
    }
    while ((step = take(job, stream, bytes, n, job->committed, &held)) == FULL)
        await_turn(job);
    if (step != WRITE)
        return;
    job->printed = job->committed = true; /* a part of its output is out: it is not tried again */
    write_held(job, &held);
    write_out(job, stream, bytes, n);
}

void output_end(struct job *job)
{
    bool mixed = job->tag || job->run->plan->lines;
    write_held(job, &job->held);
    for (enum stream i = 0; i < STREAMS; i++) {
        /* In one call, since with --lines other jobs write meanwhile. */
        if (job->rest[i].len || (mixed && job->within[i]))
            text_char(&job->rest[i], '\n');
        if (job->rest[i].len)
            write_out(job, i, job->rest[i].bytes, job->rest[i].len);
    }
}

void output_drop(struct job *job)
{
    store_drop(&job->run->store, &job->held);
    for (int i = 0; i < STREAMS; i++)
        text_clear(&job->rest[i]);
}

void output_forget(struct job *job, bool lost)
{
    pthread_mutex_lock(&job->run->lock);
    bool printed = lost && job->printed;
    if (!printed)
        store_drop_stream(&job->run->store, &job->held, STREAM_OUT);
    pthread_mutex_unlock(&job->run->lock);
    if (job->replay.state)
        replay_begin(&job->replay, printed);
    job->received = 0;
}
