/* signals.c: channels of signals.
 *
 * The handler counts in a table that is never freed, and writes to an eventfd that is never closed:
 * it may still run in another thread when its channel is gone. The eventfd wakes a reactor, which
 * brings the counts into the channel. It is never read: each write is a new edge. A forked process
 * that shares the eventfd also wakes the reactor, which then finds no counts.
 *
 * The channel holds one item of each signal at most, so it is never full.
 *
 * Locking. `changing` is held while dispositions change, and comes before a channel's lock, which
 * guards the channel's items. */
#define _GNU_SOURCE
#include "process/signals.h"

#include "base/alloc.h"
#include "base/bell.h"
#include "base/handler.h"
#include "base/util.h"
#include "base/world.h"
#include "chan/special.h"

#include <leat/signal.h>

#include <pthread.h>
#include <sys/eventfd.h>

enum { SIGNALS = 65 };

struct receiver {
    struct lt_keeper keeper;
    struct lt_source source;
    leat_chan *ch;
    bool taken[SIGNALS]; /* does not change while the source is registered */
    struct lt_handler handlers[SIGNALS];
};

static struct {
    _Atomic unsigned times;
    _Atomic uint64_t last; /* the sender's number, and in the lower half the value */
} counts[SIGNALS];

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct receiver *receiver_of[SIGNALS]; /* under `changing` */
static _Atomic int bell = -1;                 /* set under `changing`, once */

static int the_bell(void)
{
    /* Relaxed: it was set before there was a handler. */
    return atomic_load_explicit(&bell, memory_order_relaxed);
}

/* ---- a signal comes ---- */

static void on_signal(int signal, siginfo_t *info, void *context)
{
    (void)context;
    /* Else there may be something else where the sender's number is: a timer has its own there. */
    bool sent = info->si_code == SI_USER || info->si_code == SI_TKILL ||
                info->si_code == SI_QUEUE || info->si_code == SI_MESGQ;
    uint64_t pid = sent || signal == SIGCHLD ? (uint32_t)info->si_pid : 0;
    uint64_t value = info->si_code == SI_QUEUE ? (uint32_t)info->si_value.sival_int : 0;
    atomic_store_explicit(&counts[signal].last, pid << 32 | value, memory_order_relaxed);
    /* Release: the party that takes the count finds this sender, or a later one. */
    atomic_fetch_add_explicit(&counts[signal].times, 1, memory_order_release);
    lt_bell_ring(the_bell());
}

/* With the channel's lock held: the item of that signal that is already in the channel, or NULL. */
static leat_signal *waiting(leat_chan *ch, int signal)
{
    for (size_t i = 0; i < lt_chan_count(ch); i++) {
        leat_signal *item = lt_chan_slot(ch, i);
        if (item->signal == signal)
            return item;
    }
    return NULL;
}

/* With the channel's lock held. */
static void deliver(leat_chan *ch, int signal, struct lt_party **woken)
{
    unsigned times = atomic_exchange_explicit(&counts[signal].times, 0, memory_order_acquire);
    if (!times)
        return;
    uint64_t last = atomic_load_explicit(&counts[signal].last, memory_order_relaxed);
    leat_signal *before = waiting(ch, signal);
    leat_signal item = { .signal = signal,
                         .pid = (pid_t)(last >> 32),
                         .value = (int)(uint32_t)last,
                         .times = times + (before ? before->times : 0) };
    if (before)
        *before = item;
    else
        lt_special_keeper_send(ch, &item, woken);
}

static void deliver_all(struct receiver *receiver, struct lt_party **woken)
{
    for (int i = 1; i < SIGNALS; i++)
        if (receiver->taken[i])
            deliver(receiver->ch, i, woken);
}

struct lt_party *lt_signals_events(struct lt_source *source, uint32_t events)
{
    (void)events;
    struct receiver *receiver = LT_CONTAINER(source, struct receiver, source);
    struct lt_party *woken = NULL;
    lt_chan_lock(receiver->ch);
    deliver_all(receiver, &woken);
    lt_chan_unlock(receiver->ch);
    return woken;
}

/* ---- taking signals and giving them back, with `changing` held ---- */

/* Cannot fail: the signal was checked before. */
static void take(struct receiver *receiver, int signal)
{
    lt_handler_install(&receiver->handlers[signal], signal, on_signal);
    receiver_of[signal] = receiver;
}

static void give_back(struct receiver *receiver)
{
    for (int i = 1; i < SIGNALS; i++) {
        if (receiver_of[i] != receiver)
            continue;
        receiver_of[i] = NULL;
        lt_handler_remove(&receiver->handlers[i], i);
    }
}

static bool are_free(const struct receiver *receiver)
{
    for (int i = 1; i < SIGNALS; i++)
        if (receiver->taken[i] && receiver_of[i])
            return false;
    return true;
}

/* The handler of an earlier receiver may have run late. */
static void forget_counts(const struct receiver *receiver)
{
    for (int i = 1; i < SIGNALS; i++)
        if (receiver->taken[i])
            atomic_store_explicit(&counts[i].times, 0, memory_order_relaxed);
}

/* Opens the bell, to which handlers write. */
static int open_bell(void)
{
    if (the_bell() < 0)
        atomic_store_explicit(&bell, lt_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                              memory_order_relaxed);
    return the_bell() < 0 ? -errno : 0;
}

/* ---- the channel's keeper ---- */

static struct receiver *keeper_of(leat_chan *ch)
{
    return LT_CONTAINER(ch->keeper, struct receiver, keeper);
}

/* With `changing` held. */
static void stop(struct receiver *receiver)
{
    give_back(receiver);
    lt_reactor_remove(&receiver->source, the_bell());
}

/* Signals that have come until now are received, too. What comes later belongs to the next channel
 * of the signal, which cannot open before this has taken the counts. */
static int close_signals(leat_chan *ch)
{
    struct lt_party *woken = NULL;
    pthread_mutex_lock(&changing);
    stop(keeper_of(ch));
    lt_chan_lock(ch);
    if (!lt_chan_is_closed(ch))
        deliver_all(keeper_of(ch), &woken);
    struct lt_party *refused = lt_chan_close_now(ch);
    lt_chan_unlock(ch);
    pthread_mutex_unlock(&changing);
    lt_ready_all(woken);
    lt_ready_all(refused);
    return 0;
}

static void free_signals(leat_chan *ch)
{
    pthread_mutex_lock(&changing);
    stop(keeper_of(ch));
    pthread_mutex_unlock(&changing);
    lt_free(keeper_of(ch));
}

/* ---- leat_signals ---- */

/* False for signals that no program can handle, that report a fault, or that the C library uses. */
static bool is_for_programs(int signal)
{
    const int others[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
                           SIGILL,  SIGTRAP, SIGABRT, SIGSYS };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (signal == others[i])
            return false;
    return (signal > 0 && signal < 32) || (signal >= SIGRTMIN && signal <= SIGRTMAX);
}

static int note_signals(struct receiver *receiver, const int *signals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_for_programs(signals[i]))
            return -EINVAL;
        if (receiver->taken[signals[i]])
            return -EBUSY;
        receiver->taken[signals[i]] = true;
    }
    return 0;
}

/* From here on the scope owns the channel, and thereby the receiver. */
static int open_channel(leat_scope *scope, struct receiver *receiver, size_t n)
{
    leat_chan_spec spec = {
        .item_size = sizeof(leat_signal), .capacity = n, .buffer = LEAT_DROPPING, .name = "signals"
    };
    receiver->keeper = (struct lt_keeper){ .close = close_signals, .free = free_signals };
    receiver->ch = lt_chan_open_owned(scope, &spec, &receiver->keeper);
    return receiver->ch ? 0 : -ENOMEM;
}

static int start(struct receiver *receiver, leat_scope *scope, size_t n)
{
    int error = are_free(receiver) ? open_bell() : -EBUSY;
    if (!error)
        error = open_channel(scope, receiver, n);
    if (!error)
        forget_counts(receiver);
    if (!error)
        error = lt_reactor_add(&receiver->source, LT_SOURCE_SIGNALS, the_bell());
    for (int i = 1; i < SIGNALS && !error; i++)
        if (receiver->taken[i])
            take(receiver, i);
    return error;
}

int leat_signals(leat_scope *scope, const int *signals, size_t n, leat_chan **chan)
{
    if (!scope || !signals || !n || !chan)
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    struct receiver *receiver = lt_alloc(sizeof *receiver);
    if (!receiver)
        return -ENOMEM;
    int saved = errno, error = note_signals(receiver, signals, n);
    if (!error) {
        pthread_mutex_lock(&changing);
        error = start(receiver, scope, n);
        pthread_mutex_unlock(&changing);
    }
    errno = saved;
    if (!error)
        *chan = receiver->ch;
    else if (!receiver->ch)
        lt_free(receiver);
    return error;
}
