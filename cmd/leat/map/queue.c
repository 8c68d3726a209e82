/* queue.c: a queue as a host of the run: its places send jobs into a stage over machines
 * (leat/link.h), whose far ends are workers on any machine.
 *
 *     places ──▶ given ──▶ pack ──▶ leat_remote … workers … ──▶ answers ──▶ the jobs' remotes
 *
 * The stage packs jobs one at a time, and counts them as this file does, so an answer's index
 * identifies the job. Each run has its own name, which is forgotten when the run ends in any way:
 * so workers learn that the remaining jobs are not wanted. */
#define _GNU_SOURCE
#include "map/host.h"

#include <errno.h>
#include <leat/link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* The items that the stage delivers. */
struct answer {
    leat_outcome outcome;
    char *bytes;
    size_t size;
};

struct near {
    struct host *host;
    leat_link *link;
    char run[64];
};

/* ---- jobs as items ---- */

/* With the lock held. */
static struct remote *find(const struct host *host, uint32_t job)
{
    struct remote *r = host->first;
    while (r && r->job != job)
        r = r->next;
    return r;
}

/* A job that has ended meanwhile becomes an item that fails; no worker gets it. */
static int pack(void *arg, const void *item, leat_bytes *to)
{
    struct host *host = arg;
    uint32_t job;
    memcpy(&job, item, sizeof job);
    pthread_mutex_lock(&host->lock);
    uint64_t index = host->packed++;
    struct remote *r = find(host, job);
    int error = r && !r->ended ? leat_bytes_add(to, r->parcel.bytes, r->parcel.len) : -ECANCELED;
    if (r) {
        r->index = index;
        r->packed = true;
        text_free(&r->parcel);
    }
    pthread_mutex_unlock(&host->lock);
    return error;
}

static int unpack(void *arg, const void *data, size_t size, void *out)
{
    (void)arg;
    struct answer *answer = out;
    answer->bytes = malloc(size + 1);
    if (!answer->bytes)
        return -ENOMEM;
    if (size)
        memcpy(answer->bytes, data, size);
    answer->size = size;
    return 0;
}

static void drop_answer(void *item)
{
    free(((struct answer *)item)->bytes);
}

int queue_pack(struct remote *remote, const struct job *job, const struct text *strings,
               size_t count)
{
    struct text *to = &remote->parcel, body = { 0 };
    host_add_hello(&body, job->run->plan);
    frame_put(to, FRAME_HELLO, 0, body.bytes, body.len);
    frame_put_all(to, FRAME_ARGUMENTS, 0, strings->bytes, strings->len);
    text_clear(&body);
    frame_add(&body, (uint64_t)job_limit(job), 8);
    frame_put(to, FRAME_LIMIT, 0, body.bytes, body.len);
    text_clear(&body);
    frame_add(&body, count, 4);
    frame_add(&body, job->input.block != NULL, 1);
    frame_put(to, FRAME_START, 0, body.bytes, body.len);
    frame_put_all(to, FRAME_INPUT, 0, job->input.block, job->input.block_size);
    bool whole = !body.broken && !to->broken;
    text_free(&body);
    return !whole ? -ENOMEM : to->len > FRAME_PARCEL_MOST ? -EMSGSIZE : 0;
}

void queue_signal(struct remote *remote, int signal, bool ends)
{
    pthread_mutex_lock(&remote->host->lock);
    if ((ends || signal == SIGKILL) && !remote->ended) {
        remote->exit = (leat_exit){ .code = -1, .signal = signal };
        remote->ended = true;
        leat_try_send(remote->changed, NULL);
    }
    pthread_mutex_unlock(&remote->host->lock);
}

/* ---- answers ---- */

static void take_answer(struct host *host, const struct answer *answer)
{
    pthread_mutex_lock(&host->lock);
    struct remote *r = host->first;
    while (r && !(r->packed && r->index == answer->outcome.index))
        r = r->next;
    if (r && !r->ended) {
        int status = answer->outcome.status;
        r->failed = status ? status : answer_read(r, answer->bytes, answer->size);
        r->ended = true;
        leat_try_send(r->changed, NULL);
    }
    pthread_mutex_unlock(&host->lock);
}

/* False: the run is over or ends early, or the stage ends. */
static bool take_next(struct host *host, leat_chan *answers)
{
    struct run *run = host->run;
    struct answer answer = { 0 };
    leat_case cases[] = { LEAT_RECV(answers, &answer), LEAT_RECV(run->over, NULL),
                          LEAT_RECV(run->killing, NULL) };
    if (leat_select(cases, 3, LEAT_NEVER) != 0 || cases[0].status)
        return false;
    take_answer(host, &answer);
    free(answer.bytes);
    return true;
}

/* ---- the stage ---- */

static void print_message(void *arg, const char *message)
{
    struct host *host = arg;
    streams_say(&host->run->streams, "%s: %s", host->machine->name, message);
}

static int make_name(struct near *near)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return -EAGAIN;
    snprintf(near->run, sizeof near->run, "%ld-%016llx", (long)getpid(),
             (unsigned long long)random);
    return 0;
}

/* Returns why the stage has ended, or 0 if the run ended it. */
static int run_stage(struct near *near, unsigned places)
{
    struct host *host = near->host;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope)
        return -ENOMEM;
    leat_chan *answers = leat_remote(scope, host->given,
                                     &(leat_remote_spec){ .link = near->link,
                                                          .stage = host->machine->queue.stage,
                                                          .run = near->run,
                                                          .n = places,
                                                          .window = 2 * places,
                                                          .pack = pack,
                                                          .unpack = unpack,
                                                          .arg = host,
                                                          .in_size = sizeof(uint32_t),
                                                          .out_size = sizeof(struct answer),
                                                          .max_bytes = FRAME_PARCEL_MOST,
                                                          .unordered = 1,
                                                          .failing = LEAT_FAIL_TELLS,
                                                          .drop = drop_answer });
    while (answers && take_next(host, answers)) {
    }
    leat_scope_cancel(scope);
    int error = leat_scope_close(scope);
    bool ends = leat_chan_closed(host->run->over) || leat_chan_closed(host->run->killing);
    return !answers ? -ENOMEM : ends ? 0 : error == -ECANCELED ? -EPIPE : error;
}

/* The run's jobs are not wanted any more. */
static void forget(struct near *near)
{
    struct host *host = near->host;
    int error = leat_link_forget(near->link, host->machine->queue.stage, near->run);
    if (error && error != -ENOENT)
        streams_say(&host->run->streams, "%s: the run %s stays in the queue: %s",
                    host->machine->name, near->run, strerror(-error));
}

/* An empty variable counts as none, as libleat-link counts it. */
void queue_serve(struct host *host, unsigned wanted)
{
    struct near near = { .host = host };
    const char *user = getenv("LEAT_LINK_USER");
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = scope ? make_name(&near) : -ENOMEM;
    if (!error)
        error = leat_link_open(scope, host->machine->queue.engine,
                               &(leat_link_spec){ .user = user && *user ? user : NULL,
                                                  .password = host->run->password,
                                                  .tell = print_message,
                                                  .arg = host },
                               &near.link);
    unsigned places = error ? 0 : host_add_places(host, wanted);
    if (places) {
        error = run_stage(&near, places);
        host_lose_jobs(host);
        forget(&near);
    }
    if (error && !leat_chan_closed(host->run->killing))
        streams_say(&host->run->streams, "%s: %s%s", host->machine->name, places ? "lost: " : "",
                    queue_error(&host->machine->queue, error));
    leat_scope_close(scope);
}
