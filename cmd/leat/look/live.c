/* live.c: one task waits for keys, signals, ticks and documents, and draws. A thread gets and
 * parses the documents, so that a long parse delays no key. */
#define _GNU_SOURCE
#include "look/live.h"

#include "look/fetch.h"
#include "look/history.h"
#include "look/screen.h"
#include "shared/stop.h"

#include <errno.h>
#include <leat/leat.h>
#include <signal.h>
#include <unistd.h>

/* How long the rest of a key's sequence may take. */
static const int64_t key_patience = 50 * LEAT_MS;

/* How long the terminal may take to show a screen. The rest of the screen then comes with the next
 * one. */
static const int64_t draw_patience = LEAT_S;

struct news {
    struct document *document; /* NULL after a trouble */
    struct trouble why;
};

struct live {
    const struct arguments *arguments;
    struct terminal *terminal;
    struct view *view;
    leat_chan *asked, *news, *signals;
    leat_io *io;
    struct document *now, *before;
    struct history history;
    struct trouble trouble; /* of the last look */
    struct keys keys;
    struct text screen;
    bool waiting; /* for news */
    int64_t tick; /* when to look again */
    int ended_by; /* a signal, or -1 */
    bool over;
};

/* ---- the thread ---- */

static int get_documents(void *arg)
{
    struct live *l = arg;
    bool stacks;
    while (leat_recv(l->asked, &stacks) == 0) {
        struct news n = { 0 };
        struct text body = { 0 };
        struct wanted wanted = { stacks ? FETCH_STACKS : FETCH_DOCUMENT, FETCH_MOST, 0 };
        fetch(&l->arguments->address, &wanted, &body, &n.why);
        if (!is_trouble(&n.why))
            n.document = document_read(body.bytes, body.len, &n.why);
        text_free(&body);
        if (leat_send(l->news, &n) != 0)
            document_free(n.document);
    }
    return 0;
}

static void ask(struct live *l)
{
    bool stacks = l->view->mode == MODE_DETAILS || l->view->list == LIST_STACKS;
    if (l->waiting || leat_try_send(l->asked, &stacks) != 0)
        return;
    l->waiting = true;
    l->tick = leat_after(l->arguments->delay);
}

/* ---- drawing ---- */

/* The document before, if it is of the same run of the program. */
static const struct document *former(const struct live *l)
{
    const struct document *now = l->now, *before = l->before;
    return before && now->pid == before->pid && now->uptime > before->uptime ? before : NULL;
}

static void draw(struct live *l)
{
    size_t columns, rows;
    if (!l->now || !l->terminal->entered)
        return;
    terminal_size(l->terminal, &columns, &rows);
    view_refresh(l->view, l->now, former(l));
    text_clear(&l->screen);
    struct canvas c = canvas_screen(&l->screen, columns, rows);
    screen_draw(&c, l->view, l->now, former(l), &l->history, &l->trouble);
    int64_t n = l->screen.broken ? 1
                                 : leat_write_until(l->io, l->screen.bytes, l->screen.len,
                                                    leat_after(draw_patience));
    if (n < 0 && n != -ETIMEDOUT) {
        l->ended_by = SIGHUP; /* the terminal has gone */
        l->over = true;
    }
}

/* The first document decides whether there is anything to look at. */
static void take_news(struct live *l, const struct news *n)
{
    l->waiting = false;
    l->trouble = n->why;
    if (n->document) {
        document_free(l->before);
        l->before = l->now;
        l->now = n->document;
        history_add(&l->history, l->now, former(l));
    } else if (!l->now) {
        l->over = true;
        l->ended_by = -1;
        return;
    }
    terminal_enter(l->terminal);
    draw(l);
}

/* ---- keys and signals ---- */

static void take_keys(struct live *l, bool over)
{
    struct key key;
    while (!l->over && keys_take(&l->keys, over, &key)) {
        enum reaction r = view_press(l->view, &key);
        if (r == REACT_QUIT)
            l->over = true;
        else if (r == REACT_FETCH)
            ask(l);
        /* The next key needs the table of this view. */
        if (r != REACT_NOT && !l->over)
            draw(l);
    }
}

static void read_keys(struct live *l)
{
    int64_t n = leat_read_until(l->io, l->keys.bytes + l->keys.len,
                                sizeof l->keys.bytes - l->keys.len, LEAT_NOW);
    if (n == -EAGAIN)
        return;
    if (n <= 0) {
        l->ended_by = SIGHUP;
        l->over = true;
        return;
    }
    l->keys.len += (size_t)n;
    take_keys(l, false);
}

/* If the parent is in another session, no shell could continue this process. */
static void stop(struct live *l)
{
    if (getsid(getppid()) != getsid(0))
        return;
    terminal_leave(l->terminal);
    do
        raise(SIGSTOP);
    while (!terminal_is_ours(l->terminal)); /* continued in the background */
    if (l->now)
        terminal_enter(l->terminal);
}

static void take_signal(struct live *l, int number)
{
    switch (number) {
    case SIGTSTP: stop(l); break;
    case SIGCONT:
        /* It may come after a SIGSTOP, during which a shell has changed the terminal. */
        if (terminal_is_ours(l->terminal) && l->terminal->entered) {
            terminal_leave(l->terminal);
            terminal_enter(l->terminal);
        }
        break;
    case SIGWINCH: break;
    default:
        l->ended_by = number;
        l->over = true;
        return;
    }
    draw(l);
}

/* ---- the loop ---- */

static void give_up(struct live *l, int error, struct trouble *why)
{
    trouble_error(why, error);
    l->ended_by = -1;
    l->over = true;
}

static void await(struct live *l, struct trouble *why)
{
    struct news news;
    leat_signal got;
    bool idle = l->waiting || l->view->paused;
    int64_t limit = idle ? LEAT_NEVER : l->tick, key_limit = leat_after(key_patience);
    if (l->keys.len && key_limit < limit)
        limit = key_limit;
    leat_case cases[] = { LEAT_RECV(l->signals, &got), LEAT_RECV(l->news, &news),
                          LEAT_READABLE(l->io) };
    if (!l->terminal->entered)
        cases[2].ch = NULL;
    int which = leat_select_ordered(cases, 3, limit);
    if (which == 0)
        take_signal(l, got.signal);
    else if (which == 1)
        take_news(l, &news);
    else if (which == 2)
        read_keys(l);
    else if (which == -ETIMEDOUT && l->keys.len)
        take_keys(l, true);
    else if (which != -ETIMEDOUT)
        give_up(l, which, why);
    if (!l->over && !l->view->paused && leat_now() >= l->tick)
        ask(l);
}

static int open_all(struct live *l, leat_scope *scope)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
    l->asked = leat_chan_of(scope, bool, 1);
    l->news = leat_chan_of(scope, struct news, 0);
    if (!l->asked || !l->news)
        return -ENOMEM;
    int error = stop_signals(scope, numbers, sizeof numbers / sizeof *numbers, &l->signals);
    if (!error)
        error = leat_io_adopt(scope, l->terminal->fd, &l->io);
    return error ? error : leat_go_blocking(scope, get_documents, l);
}

/* The scope closes the descriptor, so the terminal is left before. */
static void watch(struct live *l, struct trouble *why)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    int error = scope ? open_all(l, scope) : -ENOMEM;
    if (error)
        give_up(l, error, why);
    else
        ask(l);
    while (!l->over)
        await(l, why);
    terminal_leave(l->terminal);
    leat_scope_cancel(scope);
    leat_scope_close(scope);
    if (l->io)
        l->terminal->fd = -1;
}

int live_run(struct arguments *o, struct terminal *t, struct trouble *why)
{
    struct live l = { .arguments = o, .terminal = t, .view = &o->view };
    watch(&l, why);
    if (l.ended_by < 0 && !is_trouble(why))
        *why = l.trouble;
    document_free(l.now);
    document_free(l.before);
    text_free(&l.screen);
    return l.ended_by;
}
