/* remote.c: a try of a job on another machine, or through a queue. */
#include "map/host.h"
#include "shared/write.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

struct session {
    struct job *job;
    struct remote remote;
    int out, *unwritten;
    struct text come[STREAMS];
    size_t owed[STREAMS]; /* bytes that were taken without credit for them */
    size_t sent;
    bool input_ended;
};

/* ---- to the machine ---- */

/* Whether the job goes through a queue: then its worker has the input and the time limit, and sends
 * no output before the end. */
static bool is_queued(const struct session *s)
{
    return s->remote.host->given;
}

static struct link *link_of(struct session *s)
{
    return &s->remote.host->link;
}

static void send_start(struct session *s, const struct text *strings, size_t count)
{
    struct text body = { 0 };
    for (size_t done = 0; done < strings->len;) {
        size_t left = strings->len - done, n = left < FRAME_BODY_MOST ? left : FRAME_BODY_MOST;
        link_add(link_of(s), FRAME_ARGUMENTS, s->remote.job, strings->bytes + done, n);
        done += n;
    }
    frame_add(&body, count, 4);
    frame_add(&body, s->job->input.block != NULL, 1);
    link_send(link_of(s), FRAME_START, s->remote.job, body.bytes, body.len);
    text_free(&body);
}

static void send_input(struct session *s, size_t credit)
{
    const struct input *input = &s->job->input;
    size_t used = 0;
    if (!input->block || s->input_ended || is_queued(s))
        return;
    while (used < credit && s->sent < input->block_size) {
        size_t n = input->block_size - s->sent;
        n = n < credit - used ? n : credit - used;
        n = n < FRAME_BODY_MOST ? n : FRAME_BODY_MOST;
        link_send(link_of(s), FRAME_INPUT, s->remote.job, input->block + s->sent, n);
        s->sent += n;
        used += n;
    }
    if (s->sent == input->block_size) {
        link_send(link_of(s), FRAME_INPUT, s->remote.job, NULL, 0);
        s->input_ended = true;
    }
    pthread_mutex_lock(&s->remote.host->lock);
    s->remote.input_credit -= used;
    pthread_mutex_unlock(&s->remote.host->lock);
}

void remote_signal(struct remote *remote, int signal, bool ends)
{
    const char body[2] = { (char)signal, (char)ends };
    if (remote->host->given)
        queue_signal(remote, signal, ends);
    else
        link_send(&remote->host->link, FRAME_SIGNAL, remote->job, body, sizeof body);
}

/* ---- from the machine ---- */

static void write_file(struct session *s, const char *bytes, size_t n)
{
    if (*s->unwritten)
        return;
    *s->unwritten = write_all(s->out, bytes, n);
    if (*s->unwritten)
        remote_signal(&s->remote, SIGTERM, true);
}

/* Gives credit for several frames at a time: a job with little output gets none. */
static void give_credit(struct session *s, enum stream stream, size_t taken)
{
    size_t owed = s->owed[stream] += taken;
    if (owed < FRAME_CREDIT_STEP || is_queued(s))
        return;
    pthread_mutex_lock(&s->remote.host->lock);
    s->remote.credit[stream] += owed;
    pthread_mutex_unlock(&s->remote.host->lock);
    link_send_credit(link_of(s), s->remote.job, FRAME_OUTPUT + stream, owed);
    s->owed[stream] = 0;
}

static void take_output(struct session *s, enum stream stream)
{
    const struct text *come = &s->come[stream];
    int64_t before = run_now(s->job->run);
    for (size_t done = 0; done < come->len;) {
        size_t left = come->len - done, n = left < CAPTURE_BUFFER ? left : CAPTURE_BUFFER;
        if (stream == STREAM_OUT && s->out >= 0)
            write_file(s, come->bytes + done, n);
        else
            output_take(s->job, stream, come->bytes + done, n);
        done += n;
    }
    /* The job may wait for this party meanwhile: that time does not count against it. */
    s->job->paused += run_now(s->job->run) - before;
    give_credit(s, stream, come->len);
}

/* Takes all frames that have come. False: there were none, and *over is whether none will come. */
static bool take_all(struct session *s, bool *over)
{
    struct remote *r = &s->remote;
    bool came = false;
    pthread_mutex_lock(&r->host->lock);
    for (int i = 0; i < STREAMS; i++) {
        struct text empty = s->come[i];
        text_clear(&empty);
        s->come[i] = r->output[i];
        r->output[i] = empty;
        came |= s->come[i].len > 0;
    }
    *over = r->ended || r->lost;
    size_t credit = r->input_credit;
    pthread_mutex_unlock(&r->host->lock);
    for (enum stream i = 0; i < STREAMS; i++)
        if (s->come[i].len)
            take_output(s, i);
    if (!*over)
        send_input(s, credit);
    return came;
}

/* ---- the try ---- */

static void attend(struct session *s)
{
    for (bool over = false; take_all(s, &over) || !over;) {
        int64_t look_again = LEAT_NEVER;
        int64_t end = is_queued(s) ? LEAT_NEVER : job_due(s->job, &look_again);
        int64_t until = over ? LEAT_NOW : end < look_again ? end : look_again;
        int got = leat_recv_until(s->remote.changed, NULL, until);
        if (got == -ETIMEDOUT && !over && leat_now() >= job_due(s->job, &look_again)) {
            s->job->timed_out = true;
            remote_signal(&s->remote, SIGTERM, true);
        }
    }
}

/* Takes the measurements made where the program ran. */
static void take_account(struct session *s)
{
    struct job *job = s->job;
    const struct ran *ran = &s->remote.ran;
    if (s->remote.failed || !ran->host[0])
        return;
    job->ran_on = strdup(ran->host);
    job->took = ran->took;
    job->paused = 0;
    job->start = ran->ended - (double)ran->took / 1e9;
    job->sent = ran->sent;
    job->timed_out = ran->flags & FRAME_RAN_LATE;
}

/* Other jobs on the machine hold what this one needs, and wait until their output is taken. */
static void begin_again(struct session *s)
{
    struct job *job = s->job;
    s->remote.refused = 0;
    job->lost = true;
    host_crowds(s->remote.host, job);
    leat_recv_until(job->run->stopping, NULL, leat_after(LEAT_S));
}

static void run_session(struct session *s, const struct text *strings, size_t count)
{
    struct job *job = s->job;
    if (is_queued(s))
        leat_send(s->remote.host->given, &s->remote.job);
    else
        send_start(s, strings, count);
    job->remote = &s->remote;
    job_runs(job->run, job);
    attend(s);
    job->took = run_now(job->run) - job->begun;
    job->sent = s->sent;
    if (s->remote.unread)
        job_lose(job, "result", -s->remote.unread);
    job_rests(job->run, job);
    host_remove(&s->remote);
    job->lost = s->remote.lost;
    job->exit = s->remote.exit;
    take_account(s);
    if (s->remote.failed && !job->lost)
        answer_fail(job, &s->remote);
    if (s->remote.refused == EDEADLK && !is_queued(s))
        begin_again(s);
}

int remote_run(struct job *job, const struct text *strings, size_t count, int out, int *unwritten)
{
    struct session s = { .job = job, .out = out, .unwritten = unwritten };
    s.remote = (struct remote){ .host = job->host,
                                .changed = leat_chan_make(NULL, 0, 1),
                                .credit = { FRAME_CREDIT_MOST, FRAME_CREDIT_MOST },
                                .input_credit = FRAME_CREDIT_MOST };
    int error = !s.remote.changed || !replay_open(&job->replay) ? -ENOMEM : 0;
    if (!error && strings->len > FRAME_STRINGS_MOST)
        error = -E2BIG;
    if (!error && job->host->given)
        error = queue_pack(&s.remote, job, strings, count);
    if (!error && host_add(job->host, &s.remote))
        run_session(&s, strings, count);
    else if (!error)
        job->lost = true;
    for (int i = 0; i < STREAMS; i++) {
        text_free(&s.come[i]);
        text_free(&s.remote.output[i]);
    }
    leat_chan_unref(s.remote.changed);
    text_free(&s.remote.parcel);
    return error ? error : -s.remote.refused;
}
