/* answer.c: the result of a job that has come through a queue. Any user with a right to write to
 * the queue may have written it. */
#define _GNU_SOURCE
#include "map/host.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Copies a name that may be shown in a log and on a terminal. False: it may not. */
static bool copy_name(char *to, size_t room, const char *from)
{
    size_t n = strlen(from);
    for (size_t i = 0; i < n; i++)
        if (!isgraph((unsigned char)from[i]))
            return false;
    snprintf(to, room, "%s", from);
    return n > 0 && n < room;
}

static int take_hello(struct remote *r, struct frame *f)
{
    const char *version = frame_string(f);
    if (f->kind != FRAME_HELLO || f->broken)
        return -EBADMSG;
    if (strcmp(version, leat_version()) == 0)
        return 0;
    return copy_name(r->ran.host, sizeof r->ran.host, version) ? -EPROTONOSUPPORT : -EBADMSG;
}

static int take_ran(struct remote *r, struct frame *f)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t took = frame_number(f, 8);
    r->ran = (struct ran){ .took = (int64_t)took,
                           .sent = frame_number(f, 8),
                           .flags = frame_number(f, 1),
                           .ended = (double)now.tv_sec + (double)now.tv_nsec / 1e9 };
    bool good = copy_name(r->ran.host, sizeof r->ran.host, frame_string(f));
    return good && !f->broken && took <= INT64_MAX ? 0 : -EBADMSG;
}

int answer_take_end(struct remote *r, struct frame *f)
{
    uint32_t first = (uint32_t)frame_number(f, 4);
    if (f->kind == FRAME_REFUSED || f->kind == FRAME_UNREAD) {
        if (f->broken || first < 1 || first > INT32_MAX)
            return -EBADMSG;
        *(f->kind == FRAME_REFUSED ? &r->refused : &r->unread) = (int)first;
        r->exit = (leat_exit){ .code = -1, .signal = SIGHUP };
    } else {
        uint32_t signal = (uint32_t)frame_number(f, 4);
        if (f->broken)
            return -EBADMSG;
        r->exit = (leat_exit){ .code = (int)(int32_t)first, .signal = (int)signal };
    }
    r->ended = true;
    return 0;
}

/* Takes a frame after HELLO. */
static int take_frame(struct remote *r, struct frame *f)
{
    switch (f->kind) {
    case FRAME_OUTPUT:
    case FRAME_ERRORS: {
        struct text *output = &r->output[f->kind - FRAME_OUTPUT];
        text_add(output, f->body, f->left);
        return output->broken ? -ENOMEM : 0;
    }
    case FRAME_RAN: return take_ran(r, f);
    case FRAME_REFUSED:
    case FRAME_UNREAD:
    case FRAME_ENDED: return r->ran.host[0] ? answer_take_end(r, f) : -EBADMSG;
    default: return -EBADMSG;
    }
}

static int read_frames(struct remote *r, const char *bytes, size_t n)
{
    struct frame f;
    int error = 0;
    for (bool first = true; !error && n; first = false) {
        int64_t size = r->ended ? -1 : frame_take(bytes, n, &f);
        if (size <= 0)
            return -EBADMSG;
        error = first ? take_hello(r, &f) : take_frame(r, &f);
        bytes += size;
        n -= (size_t)size;
    }
    return error ? error : r->ended ? 0 : -EBADMSG;
}

int answer_read(struct remote *r, const char *bytes, size_t n)
{
    int error = read_frames(r, bytes, n);
    if (!error && (r->ran.flags & FRAME_RAN_LARGE))
        error = -EMSGSIZE;
    for (int i = 0; i < STREAMS && error; i++)
        text_clear(&r->output[i]);
    return error;
}

/* ---- failures ---- */

static void say(const struct job *job, const char *what)
{
    streams_say(&job->run->streams, "%s: job %llu: %s", job->host->machine->name,
                (unsigned long long)job->number, what);
}

/* Other jobs would meet the same worker, so the run ends. */
static void refuse_version(struct job *job, const struct remote *r)
{
    struct run *run = job->run;
    job->unlogged = true;
    if (end_run(run, false, 0, EXIT_TROUBLE))
        streams_say(&run->streams, "%s: a worker has version %s of leat, and here is %s",
                    job->host->machine->name, r->ran.host, leat_version());
}

void answer_fail(struct job *job, const struct remote *r)
{
    job->exit = (leat_exit){ .code = -1, .signal = r->failed == -EMSGSIZE ? SIGXFSZ : SIGHUP };
    if (job->killed)
        return;
    switch (r->failed) {
    case -EPROTONOSUPPORT: refuse_version(job, r); break;
    case -EMSGSIZE: say(job, "its output is more than a queue takes, which is 64M"); break;
    case -EOWNERDEAD: say(job, "the workers that had it were lost, again and again"); break;
    case -EBADMSG: say(job, "no leat map or worker sends what the queue has of it"); break;
    default: say(job, strerror(-r->failed));
    }
}
