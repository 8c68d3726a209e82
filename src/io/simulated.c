#include "io/simulated.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/world.h"
#include "sched/shared_timer.h"

#include <string.h>
#include <sys/epoll.h>

/* A real pipe has room for a page at least, and mostly for 64 KiB. Programs rely on the page. */
enum { LEAST_ROOM_LOG = 12, ROOMS = 5 };

/* What comes after the last byte. */
enum ending { NONE_YET, ENDED, BROKEN };

/* One direction. `bytes` is a ring: first the bytes that have arrived, then those under way. */
struct stream {
    struct lt_shared_timer timer; /* set while bytes or the ending are under way */
    struct lt_simulated *reader, *writer;
    size_t capacity, first, arrived, under_way;
    enum ending ending;
    bool over;    /* the ending has arrived */
    bool refused; /* no more will be read: a write returns -EPIPE */
    unsigned char *bytes;
};

/* One end. */
struct lt_simulated {
    leat_io *io; /* NULL: it is closed */
    struct pair *pair;
    struct stream *in, *out; /* NULL: the other direction of a pipe's end */
    bool failed;             /* the next transfer returns -ECONNRESET */
};

/* One in `short_ones` transfers is short, and one in `late_ones` writes is late; 0: none is. */
struct pair {
    uint32_t short_ones, late_ones;
    bool both_ways;
    struct lt_simulated ends[2];
    struct stream streams[2]; /* streams[i] leads to ends[i] */
    unsigned char bytes[];
};

/* ---- what the seed chooses ---- */

/* Outside of the world, where an end may be closed, chance decides nothing. */
static bool happens(uint32_t one_in)
{
    return lt_world() && one_in && lt_world()->below(one_in) == 0;
}

/* How many of `n` bytes a transfer moves. */
static size_t some_of(const struct pair *pair, size_t n)
{
    return n > 1 && happens(pair->short_ones) ? 1 + lt_world()->below((uint32_t)n - 1) : n;
}

/* Nanoseconds. Short delays are more likely than long ones. */
static int64_t choose_delay(void)
{
    uint32_t most = 1 + lt_world()->below((uint32_t)lt_world()->io_delay);
    return 1 + lt_world()->below(most);
}

/* A third of the pairs has none, a third few, a third many. */
static uint32_t choose_frequency(void)
{
    static const uint32_t frequencies[] = { 0, 16, 2 };
    return frequencies[lt_world()->below(3)];
}

/* ---- arriving ---- */

static void raise_end(const struct lt_simulated *end, uint32_t events)
{
    if (end->io)
        lt_io_raise(end->io, events);
}

static void delay(struct stream *stream)
{
    int64_t deadline = lt_clock_after(lt_clock_now(), choose_delay());
    lt_shared_timers_notify(lt_shared_timer_set(&stream->timer, deadline));
}

/* `n` bytes arrive, and the ending after the last one. The rest comes later. */
static void arrive(struct stream *stream, size_t n)
{
    stream->arrived += n;
    stream->under_way -= n;
    if (stream->under_way) {
        delay(stream);
    } else if (stream->ending) {
        stream->over = true;
        stream->reader->failed |= stream->ending == BROKEN;
    }
    raise_end(stream->reader, EPOLLIN);
}

static void delay_is_over(struct lt_shared_timer *timer)
{
    struct stream *stream = LT_CONTAINER(timer, struct stream, timer);
    arrive(stream, some_of(stream->reader->pair, stream->under_way));
}

/* Called after bytes or an ending have been put in: they do not overtake others. */
static void send_off(struct stream *stream)
{
    if (lt_shared_timer_is_set(&stream->timer))
        return;
    if (happens(stream->reader->pair->late_ones))
        delay(stream);
    else
        arrive(stream, stream->under_way);
}

/* ---- ends ---- */

static void finish_writing(struct stream *stream, enum ending ending)
{
    stream->ending = ending;
    send_off(stream);
    raise_end(stream->writer, EPOLLOUT);
}

/* Bytes that have arrived can still be read. Those under way are lost. */
static void finish_reading(struct stream *stream)
{
    lt_shared_timer_stop(&stream->timer);
    stream->under_way = 0;
    stream->over = stream->refused = true;
    raise_end(stream->reader, EPOLLIN);
    raise_end(stream->writer, EPOLLOUT);
}

static void reset(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        pair->ends[i].failed = true;
        finish_reading(&pair->streams[i]);
    }
}

/* As in TCP, a failure is reported once. */
static bool take_failure(struct lt_simulated *end)
{
    bool failed = end->failed;
    end->failed = false;
    return failed;
}

/* ---- transfers ---- */

/* The number of bytes to move: all bytes of the parts, but `most` at most. */
static size_t bytes_of(const struct iovec *parts, int n, size_t most)
{
    size_t bytes = lt_io_bytes(parts, (size_t)n);
    return bytes < most ? bytes : most;
}

static bool is_broken(const struct stream *stream)
{
    return stream->ending || stream->refused;
}

static size_t room_in(const struct stream *stream)
{
    return stream->capacity - stream->arrived - stream->under_way;
}

/* A transfer that moves some bytes may meet a reset. */
static void risk_reset(struct pair *pair)
{
    if (pair->both_ways && happens(lt_world()->io_resets))
        reset(pair);
}

/* Copies between the ring, from `at` on, and the parts. */
static void copy(struct stream *stream, size_t at, const struct iovec *parts, size_t n, bool out)
{
    for (size_t done; n; n -= done, at += done, parts++) {
        done = parts->iov_len < n ? parts->iov_len : n;
        size_t begin = at % stream->capacity, straight = stream->capacity - begin;
        size_t first = done < straight ? done : straight;
        unsigned char *part = parts->iov_base;
        if (out) {
            memcpy(part, stream->bytes + begin, first);
            memcpy(part + first, stream->bytes, done - first);
        } else {
            memcpy(stream->bytes + begin, part, first);
            memcpy(stream->bytes, part + first, done - first);
        }
    }
}

int64_t lt_simulated_read(leat_io *io, const struct iovec *parts, int n)
{
    struct lt_simulated *end = io->simulated;
    struct stream *in = end->in;
    if (!lt_world())
        return -EINVAL;
    if (!in)
        return -EBADF;
    if (in->arrived && !in->over)
        risk_reset(end->pair);
    if (!in->arrived)
        return take_failure(end) ? -ECONNRESET : in->over ? 0 : -EAGAIN;
    size_t bytes = some_of(end->pair, bytes_of(parts, n, in->arrived));
    copy(in, in->first, parts, bytes, true);
    in->first = (in->first + bytes) % in->capacity;
    in->arrived -= bytes;
    raise_end(in->writer, EPOLLOUT);
    return (int64_t)bytes;
}

int64_t lt_simulated_write(leat_io *io, const struct iovec *parts, int n)
{
    struct lt_simulated *end = io->simulated;
    struct stream *out = end->out;
    if (!lt_world())
        return -EINVAL;
    if (!out)
        return -EBADF;
    if (room_in(out) && !is_broken(out))
        risk_reset(end->pair);
    if (take_failure(end))
        return -ECONNRESET;
    if (is_broken(out))
        return -EPIPE;
    if (!room_in(out))
        return -EAGAIN;
    size_t bytes = some_of(end->pair, bytes_of(parts, n, room_in(out)));
    copy(out, out->first + out->arrived + out->under_way, parts, bytes, false);
    out->under_way += bytes;
    send_off(out);
    return (int64_t)bytes;
}

int lt_simulated_ask(leat_io *io, unsigned events)
{
    const struct lt_simulated *end = io->simulated;
    const struct stream *in = end->in, *out = end->out;
    if (!lt_world())
        return -EINVAL;
    bool no_more_in = !in || in->over, no_more_out = !out || is_broken(out);
    if (end->failed || (no_more_in && no_more_out))
        return (int)(events | LEAT_HUP);
    unsigned found = (in && (in->arrived || in->over) ? LEAT_IN : 0u) |
                     (out && (room_in(out) || is_broken(out)) ? LEAT_OUT : 0u);
    return (int)(events & found);
}

int lt_simulated_shutdown(leat_io *io, int how)
{
    struct lt_simulated *end = io->simulated;
    if (!lt_world() || (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR))
        return -EINVAL;
    if (!end->pair->both_ways)
        return -ENOTSOCK;
    if (how != SHUT_RD && !is_broken(end->out))
        finish_writing(end->out, ENDED);
    if (how != SHUT_WR)
        finish_reading(end->in);
    return 0;
}

/* ---- opening and closing ---- */

/* As a UNIX socket does: if bytes are left that will not be read now, the other end sees a reset
 * after the last byte. */
void lt_simulated_close(leat_io *io)
{
    struct lt_simulated *end = io->simulated;
    struct pair *pair = end->pair;
    struct stream *in = end->in, *out = end->out;
    bool unread = in && out && in->arrived + in->under_way;
    end->io = NULL;
    if (in)
        finish_reading(in);
    if (out && !out->refused && (!out->ending || unread))
        finish_writing(out, unread ? BROKEN : ENDED);
    if (!pair->ends[0].io && !pair->ends[1].io)
        lt_free(pair);
}

static void set_up(struct pair *pair, int i, size_t capacity, unsigned char *bytes)
{
    struct stream *stream = &pair->streams[i];
    stream->timer.fire = delay_is_over;
    stream->timer.holds = true;
    stream->reader = &pair->ends[i];
    stream->writer = &pair->ends[!i];
    stream->capacity = capacity;
    stream->bytes = bytes;
    pair->ends[i].in = pair->ends[!i].out = stream;
}

int lt_simulated_connect(leat_io *ends[2], bool both_ways)
{
    size_t capacity[2] = { 0 }, streams = both_ways ? 2 : 1;
    for (size_t i = 0; i < streams; i++)
        capacity[i] = (size_t)1 << (LEAST_ROOM_LOG + lt_world()->below(ROOMS));
    struct pair *pair = lt_alloc_unset(sizeof *pair + capacity[0] + capacity[1]);
    if (!pair)
        return -ENOMEM;
    memset(pair, 0, sizeof *pair);
    pair->short_ones = choose_frequency();
    pair->late_ones = choose_frequency();
    pair->both_ways = both_ways;
    for (int i = 0; i < 2; i++) {
        pair->ends[i] = (struct lt_simulated){ .io = ends[i], .pair = pair };
        ends[i]->simulated = &pair->ends[i];
    }
    for (int i = 0; i < (int)streams; i++)
        set_up(pair, i, capacity[i], pair->bytes + (i ? capacity[0] : 0));
    return 0;
}
