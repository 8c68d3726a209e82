/* libuv_bridge: a program whose main thread belongs to libuv's loop uses channels and never
 * blocks in one. A task sends questions; the loop receives each and answers it. The loop keeps
 * turning meanwhile, as its timer shows. The bridge is one eventfd, which the loop polls. */
#include <leat/leat.h>

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <uv.h>

/* ---- leat's side ---- */

struct lines {
    leat_chan *questions, *answers;
};

static int ask(void *arg)
{
    struct lines *lines = arg;
    int error = 0;
    for (int n = 1, answer = 0; n <= 5 && !error; n++) {
        error = leat_sleep(5 * LEAT_MS);
        if (!error)
            error = leat_send(lines->questions, &n);
        if (!error)
            error = leat_recv(lines->answers, &answer);
        if (!error)
            printf("task: the square of %d is %d\n", n, answer);
    }
    leat_close(lines->questions);
    return error;
}

/* ---- the loop's side ---- */

struct bridge {
    uv_loop_t loop;
    uv_poll_t poll;
    uv_timer_t timer;
    struct lines lines;
    leat_op recv, send; /* one of the two is under way */
    enum { RECEIVING, SENDING } state;
    int fd, n, ticks;
};

static void leave(struct bridge *bridge)
{
    uv_close((uv_handle_t *)&bridge->poll, NULL);
    uv_close((uv_handle_t *)&bridge->timer, NULL); /* uv_run returns when no handle is left */
}

static void receive(struct bridge *bridge)
{
    bridge->state = RECEIVING;
    if (leat_recv_signal(&bridge->recv, bridge->lines.questions, &bridge->n, bridge->fd) < 0)
        leave(bridge);
}

static void signalled(uv_poll_t *poll, int status, int events)
{
    struct bridge *bridge = poll->data;
    uint64_t signals;
    (void)events;
    if (status < 0 || read(bridge->fd, &signals, sizeof signals) != sizeof signals)
        return;
    int result = leat_op_status(bridge->state == RECEIVING ? &bridge->recv : &bridge->send);
    if (result == -EAGAIN)
        return; /* the signal was not for this operation */
    if (result < 0) {
        leave(bridge); /* -EPIPE: no more questions */
    } else if (bridge->state == SENDING) {
        receive(bridge);
    } else {
        printf("loop: asked for %d\n", bridge->n);
        bridge->n *= bridge->n;
        bridge->state = SENDING;
        if (leat_send_signal(&bridge->send, bridge->lines.answers, &bridge->n, bridge->fd) < 0)
            leave(bridge);
    }
}

static void tick(uv_timer_t *timer)
{
    struct bridge *bridge = timer->data;
    bridge->ticks++;
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (leat_start(NULL) < 0)
        return 1;
    leat_scope *s = leat_scope_open(LEAT_NEVER); /* a thread may open one, too */
    struct bridge bridge = { .lines = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 0) },
                             .recv = LEAT_OP(s, 0),
                             .send = LEAT_OP(s, 0),
                             .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) };
    uv_loop_init(&bridge.loop);
    uv_poll_init(&bridge.loop, &bridge.poll, bridge.fd);
    uv_timer_init(&bridge.loop, &bridge.timer);
    bridge.poll.data = bridge.timer.data = &bridge;
    uv_poll_start(&bridge.poll, UV_READABLE, signalled);
    uv_timer_start(&bridge.timer, tick, 1, 1);

    receive(&bridge);
    leat_go(s, ask, &bridge.lines);
    uv_run(&bridge.loop, UV_RUN_DEFAULT);
    uv_loop_close(&bridge.loop);

    int why = leat_scope_close(s);
    close(bridge.fd);
    printf("the loop %s turning; the scope ended with %d\n", bridge.ticks ? "kept" : "stopped",
           why);
    return leat_stop() < 0 || why < 0;
}
