/* works.c: the jobs of a worker, and the frames about them. */
#include "worker/work.h"

#include <errno.h>
#include <stdlib.h>

/* A thread for each job pays if the processors are busy with starts and ends of programs: not with
 * more threads than this, most of which wait. */
enum { WORKS_MOST = 8192, THREADS_MOST = 64 };

/* The lock must be held, here and in several functions below. */
static struct work *find(const struct worker *worker, uint32_t job)
{
    struct work *work = worker->first;
    while (work && work->job != job)
        work = work->next;
    return work;
}

static void work_free(struct work *work)
{
    text_free(&work->strings);
    text_free(&work->input);
    leat_chan_unref(work->fed);
    leat_chan_unref(work->credited);
    free(work);
}

static struct work *add(struct worker *worker, uint32_t job)
{
    struct work *work = worker->count < WORKS_MOST ? calloc(1, sizeof *work) : NULL;
    if (!work)
        return NULL;
    *work = (struct work){ .worker = worker,
                           .job = job,
                           .fed = leat_chan_make(NULL, 0, 1),
                           .credited = leat_chan_make(NULL, 0, 1),
                           .next = worker->first,
                           .credit = { FRAME_CREDIT_MOST, FRAME_CREDIT_MOST } };
    if (!work->fed || !work->credited) {
        work_free(work);
        return NULL;
    }
    worker->first = work;
    worker->count++;
    return work;
}

static void take_off(struct work *work)
{
    struct work **at = &work->worker->first;
    while (*at != work)
        at = &(*at)->next;
    *at = work->next;
    work->worker->count--;
}

void works_remove(struct work *work)
{
    pthread_mutex_t *lock = &work->worker->lock;
    pthread_mutex_lock(lock);
    take_off(work);
    pthread_mutex_unlock(lock);
    work_free(work);
}

void works_free(struct worker *worker)
{
    for (struct work *work = worker->first, *next; work; work = next) {
        next = work->next;
        work_free(work);
    }
}

/* ---- frames ---- */

static int take_arguments(struct worker *worker, const struct frame *f)
{
    struct work *work = find(worker, f->job);
    if (!work)
        work = add(worker, f->job);
    if (!work)
        return -ENOMEM;
    if (work->started || work->strings.len + f->left > FRAME_STRINGS_MOST)
        return -EBADMSG;
    text_add(&work->strings, f->body, f->left);
    return work->strings.broken ? -ENOMEM : 0;
}

static int take_start(struct worker *worker, struct frame *f, struct work **mine)
{
    struct work *work = find(worker, f->job);
    if (!work || work->started || !frame_start(f, &work->strings, &work->count, &work->has_input))
        return -EBADMSG;
    work->started = true;
    bool is_mine = mine && !*mine;
    work->as_thread = is_mine || worker->count <= THREADS_MOST;
    if (is_mine)
        *mine = work;
    if (is_mine || (work->as_thread && leat_go_blocking(worker->jobs, work_do, work) == 0))
        return 0;
    work->as_thread = false; /* a task waits for what it needs */
    int error = leat_go(worker->jobs, work_do, work);
    work->started = !error;
    return error;
}

static int take_input(struct work *work, const struct frame *f)
{
    if (!work->has_input || work->input_ended || work->input.len + f->left > FRAME_CREDIT_MOST)
        return -EBADMSG;
    text_add(&work->input, f->body, f->left);
    work->input_ended = !f->left;
    leat_try_send(work->fed, NULL);
    return work->input.broken ? -ENOMEM : 0;
}

static int take_credit(struct work *work, struct frame *f)
{
    uint64_t stream = frame_number(f, 1) - FRAME_OUTPUT, bytes = frame_number(f, 4);
    if (f->broken || stream >= STREAMS || bytes > FRAME_CREDIT_MOST - work->credit[stream])
        return -EBADMSG;
    work->credit[stream] += bytes;
    leat_try_send(work->credited, NULL);
    return 0;
}

static int take_signal(struct work *work, struct frame *f)
{
    int signal = (int)frame_number(f, 1);
    bool ends = frame_number(f, 1) == 1;
    if (f->broken || signal == 0)
        return -EBADMSG;
    work_signal(work, signal, ends);
    return 0;
}

/* All these frames are ignored if the job has ended meanwhile. */
static int take_other(struct worker *worker, struct frame *f)
{
    struct work *work = find(worker, f->job);
    if (!work || !work->started)
        return work ? -EBADMSG : 0;
    switch (f->kind) {
    case FRAME_INPUT: return take_input(work, f);
    case FRAME_SIGNAL: return take_signal(work, f);
    case FRAME_CREDIT: return take_credit(work, f);
    default: return -EBADMSG;
    }
}

int works_take(struct worker *worker, struct frame *frame, struct work **mine)
{
    switch (frame->kind) {
    case FRAME_ARGUMENTS: return take_arguments(worker, frame);
    case FRAME_START: return take_start(worker, frame, mine);
    case FRAME_INPUT:
    case FRAME_SIGNAL:
    case FRAME_CREDIT: return take_other(worker, frame);
    default: return -EBADMSG;
    }
}
