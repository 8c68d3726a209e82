#include "sched/reactor.h"

#include "base/alloc.h"
#include "base/bell.h"
#include "base/cancel.h"
#include "base/gap.h"
#include "base/lock.h"
#include "base/world.h"
#include "sched/current.h"
#include "sched/kinds.h"
#include "sched/runtime.h"

#include <leat/base.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- slots ---- */

struct slot {
    struct lt_lock lock;
    bool taken;          /* it has a source; this and the next three are under the lock */
    uint8_t kind;        /* of the source: enum lt_source_kind */
    uint32_t generation; /* how many sources it has had */
    union {
        struct lt_source *source;
        uint32_t next_free; /* while it is free: index + 1; under the table's lock */
    };
};

enum { CHUNKS = 32 };
#define NO_SLOT UINT32_MAX
#define BELL UINT64_MAX /* the data of a bell's events */

/* Chunk k has LT_REACTOR_SLOTS << k slots. A slot is never freed, since an event that names it may
 * be under way, but it is reused. Only slots that were used once have touched their memory. */
static struct {
    struct lt_lock lock;
    uint32_t free; /* index + 1 of the first slot that was used and is free; 0: none */
    uint32_t used; /* slots below this index were used */
    unsigned chunks;
    struct slot *_Atomic chunk[CHUNKS];
} table;

/* The index of the first slot of chunk k. */
static uint32_t first_of(unsigned k)
{
    return LT_REACTOR_SLOTS * ((UINT32_C(1) << k) - 1);
}

static struct slot *slot_at(uint32_t index)
{
    uint32_t n = index / LT_REACTOR_SLOTS + 1;
    unsigned k = 31 - (unsigned)__builtin_clz(n);
    /* Acquire: the slots are seen zeroed. */
    struct slot *chunk = atomic_load_explicit(&table.chunk[k], memory_order_acquire);
    return chunk + (index - first_of(k));
}

/* With the lock held. */
static bool add_chunk(void)
{
    unsigned k = table.chunks;
    size_t size = lt_whole_pages(((size_t)LT_REACTOR_SLOTS << k) * sizeof(struct slot));
    struct slot *slots = k < CHUNKS - 8 ? lt_map(size) : NULL;
    if (!slots)
        return false;
    atomic_store_explicit(&table.chunk[k], slots, memory_order_release);
    table.chunks++;
    return true;
}

/* NO_SLOT when memory has run out. */
static uint32_t slot_get(struct lt_source *source, enum lt_source_kind kind)
{
    uint32_t index = NO_SLOT;
    lt_lock(&table.lock);
    if (table.free) {
        index = table.free - 1;
        table.free = slot_at(index)->next_free;
    } else if (table.used < first_of(table.chunks) || add_chunk()) {
        index = table.used++;
    }
    lt_unlock(&table.lock);
    if (index == NO_SLOT)
        return NO_SLOT;
    struct slot *slot = slot_at(index);
    lt_lock(&slot->lock);
    slot->taken = true;
    slot->source = source;
    slot->kind = (uint8_t)kind;
    lt_unlock(&slot->lock);
    return index;
}

/* With the slot's lock held; the caller then puts the slot back. */
static void slot_clear(struct slot *slot)
{
    slot->taken = false;
    slot->generation++;
}

static void slot_put(uint32_t index)
{
    struct slot *slot = slot_at(index);
    lt_lock(&table.lock);
    slot->next_free = table.free;
    table.free = index + 1;
    lt_unlock(&table.lock);
}

/* ---- opening and closing ---- */

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* With `opening` held. 0 or a negative errno value. */
static int open_reactor(struct lt_reactor *reactor)
{
    if (!reactor->has_bell) {
        int bell = lt_move_up(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (bell < 0)
            return -errno;
        reactor->bell = bell;
        reactor->has_bell = true;
    }
    int epoll = lt_move_up(epoll_create1(EPOLL_CLOEXEC));
    if (epoll < 0)
        return -errno;
    struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u64 = BELL };
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, reactor->bell, &event) != 0) {
        int error = -errno;
        close(epoll);
        return error;
    }
    reactor->epoll = epoll;
    atomic_store_explicit(&reactor->open, true, memory_order_seq_cst);
    return 0;
}

/* With `opening` held. */
static int make_open(struct lt_worker *worker)
{
    struct lt_reactor *reactor = &worker->reactor;
    if (lt_reactor_is_open(reactor))
        return 0;
    int error = open_reactor(reactor);
    if (!error)
        lt_worker_wake(worker); /* to sleep in its epoll from now on */
    return error;
}

/* With the slot's lock held: the source is no longer registered. */
static void take_out(struct slot *slot, struct lt_worker *worker)
{
    struct lt_source *source = slot->source;
    if (source->copy >= 0)
        close(source->copy);
    source->copy = -1;
    slot_clear(slot);
    atomic_fetch_sub_explicit(&worker->reactor.sources, 1, memory_order_relaxed);
    /* Release, against a party that sees this and registers the source anew. */
    atomic_store_explicit(&source->worker, NULL, memory_order_release);
}

/* A source may outlive the runtime. Its waiters get every event, so that they try again and find
 * that no runtime runs. So does a party that uses the source under the next runtime. */
static void forget(uint32_t index)
{
    struct slot *slot = slot_at(index);
    struct lt_party *woken = NULL;
    lt_lock(&slot->lock);
    bool taken = slot->taken;
    if (taken) {
        struct lt_source *source = slot->source;
        take_out(slot, atomic_load_explicit(&source->worker, memory_order_relaxed));
        woken = lt_kinds.events[slot->kind](source, EPOLLIN | EPOLLOUT);
    }
    lt_unlock(&slot->lock);
    if (taken)
        slot_put(index);
    lt_ready_all(woken);
}

void lt_reactors_close(void)
{
    pthread_mutex_lock(&opening);
    lt_lock(&table.lock);
    uint32_t used = table.used;
    lt_unlock(&table.lock);
    for (uint32_t index = 0; index < used; index++)
        forget(index);
    for (unsigned i = 0; i < lt_runtime.worker_count && lt_runtime.workers[i]; i++) {
        struct lt_reactor *reactor = &lt_runtime.workers[i]->reactor;
        if (!lt_reactor_is_open(reactor))
            continue;
        lt_uring_close(&reactor->ring);
        close(reactor->epoll);
        atomic_store_explicit(&reactor->open, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&opening);
}

static LT_COLD struct lt_uring *open_ring(struct lt_worker *worker)
{
    struct lt_uring *ring = &worker->reactor.ring;
    if (!lt_uring_is(ring, LT_URING_UNUSED) || lt_uring_refusal())
        return NULL;
    pthread_mutex_lock(&opening);
    bool opened = make_open(worker) == 0 && lt_uring_open(ring);
    pthread_mutex_unlock(&opening);
    return opened ? ring : NULL;
}

struct lt_uring *lt_reactor_uring(struct lt_worker *worker)
{
    struct lt_uring *ring = &worker->reactor.ring;
    return LT_LIKELY(lt_uring_is(ring, LT_URING_OPEN)) ? ring : open_ring(worker);
}

/* ---- sources ---- */

/* epoll accepts each pair of a number and an open file once. */
static int add_to_epoll(int epoll, struct lt_source *source, int fd, struct epoll_event *event)
{
    source->copy = -1;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return -errno;
    source->copy = copy;
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, copy, event) == 0)
        return 0;
    int error = -errno;
    close(copy);
    return error;
}

/* Registers the source. The worker's reactor is open. */
static int add(struct lt_source *source, enum lt_source_kind kind, int fd, struct lt_worker *worker)
{
    uint32_t index = slot_get(source, kind);
    if (index == NO_SLOT)
        return -ENOMEM;
    source->slot = index + 1;
    struct slot *slot = slot_at(index);
    struct epoll_event event = {
        .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET,
        .data.u64 = (uint64_t)slot->generation << 32 | index,
    };
    int error = add_to_epoll(worker->reactor.epoll, source, fd, &event);
    if (error) {
        lt_lock(&slot->lock);
        slot_clear(slot);
        lt_unlock(&slot->lock);
        slot_put(index);
        return error;
    }
    /* Release: see lt_reactor_has_sources, and a user of the source that finds it registered. */
    atomic_fetch_add_explicit(&worker->reactor.sources, 1, memory_order_release);
    lt_gap();
    atomic_store_explicit(&source->worker, worker, memory_order_release);
    lt_worker_notify(worker); /* it may be computing, and look at its descriptors late */
    return 0;
}

/* With `opening` held. A worker whose reactor is open, or NULL. */
static struct lt_worker *find_open(void)
{
    for (unsigned i = 0; i < lt_runtime.worker_count; i++)
        if (lt_reactor_is_open(&lt_runtime.workers[i]->reactor))
            return lt_runtime.workers[i];
    return NULL;
}

/* Inside a scope the worker stays there. In another thread `opening` keeps the reactors from being
 * closed. */
static int add_to_any(struct lt_source *source, enum lt_source_kind kind, int fd,
                      struct lt_worker *here)
{
    if (LT_LIKELY(here && lt_reactor_is_open(&here->reactor)))
        return add(source, kind, fd, here);
    pthread_mutex_lock(&opening);
    struct lt_worker *worker = here ? here : lt_running() ? lt_any_worker() : NULL;
    int error = worker ? make_open(worker) : -EINVAL;
    if (error && worker)
        worker = find_open();
    if (worker)
        error = add(source, kind, fd, worker);
    pthread_mutex_unlock(&opening);
    return error;
}

int lt_reactor_add(struct lt_source *source, enum lt_source_kind kind, int fd)
{
    if (lt_world())
        return -ENOTSUP;
    int saved = errno, cancel = lt_cancel_put_off();
    int error = add_to_any(source, kind, fd, lt_current_worker());
    lt_cancel_restore(cancel);
    errno = saved;
    return error;
}

void lt_reactor_remove(struct lt_source *source, int fd)
{
    if (!source->slot)
        return;
    int saved = errno, cancel = lt_cancel_put_off();
    struct epoll_event unused = { 0 };
    uint32_t index = source->slot - 1;
    struct slot *slot = slot_at(index);
    lt_lock(&slot->lock);
    /* Else the runtime has stopped. Under the lock the epoll is open. */
    bool registered = slot->taken && slot->source == source;
    if (registered) {
        /* Relaxed: no other party uses the source. */
        struct lt_worker *worker = atomic_load_explicit(&source->worker, memory_order_relaxed);
        epoll_ctl(worker->reactor.epoll, EPOLL_CTL_DEL, source->copy < 0 ? fd : source->copy,
                  &unused);
        take_out(slot, worker);
    }
    lt_unlock(&slot->lock);
    if (registered)
        slot_put(index);
    lt_cancel_restore(cancel);
    errno = saved;
}

int lt_reactor_move(struct lt_source *source, enum lt_source_kind kind, int fd)
{
    /* Relaxed: no other party registers or removes the source meanwhile. */
    struct lt_worker *before = atomic_load_explicit(&source->worker, memory_order_relaxed);
    int saved = errno;
    lt_reactor_remove(source, fd);
    int error = lt_reactor_add(source, kind, fd);
    if (error && before)
        error = add(source, kind, fd, before);
    errno = saved;
    return error;
}

/* ---- events ---- */

/* The worker is inside. It does not notify others of each party, as lt_ready would: a worker that
 * wakes up notifies once. */
static void make_ready(struct lt_worker *here, struct lt_party *chain)
{
    while (chain) {
        struct lt_party *next = chain->next;
        if (lt_is_at_home(here, chain))
            lt_worker_append_inside(here, chain);
        else
            lt_ready_elsewhere(chain);
        chain = next;
    }
}

static void report(uint64_t data, uint32_t events)
{
    struct slot *slot = slot_at((uint32_t)data);
    struct lt_party *woken = NULL;
    lt_lock(&slot->lock);
    if (slot->taken && slot->generation == (uint32_t)(data >> 32))
        woken = lt_kinds.events[slot->kind](slot->source, events);
    lt_unlock(&slot->lock);
    make_ready(lt_current_worker(), woken);
}

/* Reports the events to their sources. Returns whether the bell is among them. */
static bool report_all(const struct epoll_event *events, long n)
{
    bool rung = false;
    for (long i = 0; i < n; i++)
        if (events[i].data.u64 == BELL)
            rung = true;
        else
            report(events[i].data.u64, events[i].events);
    return rung;
}

static bool look_at_ring(struct lt_worker *worker)
{
    struct lt_uring *ring = &worker->reactor.ring;
    struct lt_party *woken = lt_uring_has_more(ring) ? lt_uring_round(ring) : NULL;
    make_ready(worker, woken);
    return woken != NULL;
}

void lt_reactor_stand_in(struct lt_worker *worker)
{
    struct lt_uring *ring = &worker->reactor.ring;
    if (!lt_uring_is(ring, LT_URING_UNUSED))
        make_ready(lt_current_worker(), lt_uring_stand_in(ring));
}

bool lt_reactor_look(struct lt_worker *worker)
{
    struct lt_reactor *reactor = &worker->reactor;
    struct epoll_event events[LT_REACTOR_EVENTS];
    bool here = worker == lt_current_worker(), any = here && look_at_ring(worker);
    /* A visitor that has seen sources may not have seen the epoll yet. */
    if (!lt_reactor_is_open(reactor))
        return any;
    if (here)
        reactor->looked = lt_clock_now();
    /* Relaxed: see lt_reactor_has_sources. A poll in the ring that has not ended says that there
     * are no events. */
    if (!atomic_load_explicit(&reactor->sources, memory_order_relaxed) ||
        (here && lt_uring_is(&reactor->ring, LT_URING_OPEN) && reactor->ring.polls))
        return any;
    int saved = errno, n = epoll_wait(reactor->epoll, events, LT_REACTOR_EVENTS, 0);
    errno = saved;
    /* The bell rang for the worker, which may have gone to sleep after its visitor saw it awake. */
    if (report_all(events, n) && !here)
        lt_bell_ring(reactor->bell);
    return any || n > 0;
}

/* Rounded up, so that no deadline is early. */
static int milliseconds(int64_t ns)
{
    int64_t ms = ns / LEAT_MS + (ns % LEAT_MS != 0);
    return ns == LEAT_NEVER ? -1 : ms < INT32_MAX ? (int)ms : INT32_MAX;
}

/* `ns` may be LEAT_NEVER. */
static long wait_for_events(int epoll, struct epoll_event *events, int64_t ns)
{
#ifdef SYS_epoll_pwait2
    static _Atomic bool missing; /* Linux before 5.11, or a sandbox refuses it */
    if (!atomic_load_explicit(&missing, memory_order_relaxed)) {
        int64_t time[2] = { ns / LEAT_S, ns % LEAT_S };
        long n = syscall(SYS_epoll_pwait2, epoll, events, LT_REACTOR_EVENTS,
                         ns == LEAT_NEVER ? NULL : time, NULL, 0);
        if (n >= 0 || errno == EINTR)
            return n;
        atomic_store_explicit(&missing, true, memory_order_relaxed);
    }
#endif
    return epoll_wait(epoll, events, LT_REACTOR_EVENTS, milliseconds(ns));
}

/* Sleeps in the ring, if there is one. Returns how long it may then sleep in the epoll. */
static int64_t sleep_in_ring(struct lt_worker *worker, int64_t ns)
{
    struct lt_uring *ring = &worker->reactor.ring;
    if (LT_LIKELY(lt_uring_is(ring, LT_URING_UNUSED)))
        return ns;
    make_ready(worker, lt_uring_sleep(ring, worker->reactor.epoll, ns));
    if (lt_uring_is(ring, LT_URING_OPEN))
        return ring->polls ? -1 : 0;
    /* The kernel does not report when it completes operations that a refused ring has left. */
    return worker->ready_head ? 0 : lt_uring_owed(ring) && ns > LEAT_MS ? LEAT_MS : ns;
}

/* Longer than the system call takes if there is an event already. */
enum { AT_ONCE = 3 * LEAT_US };

void lt_reactor_sleep(struct lt_worker *worker, int64_t until)
{
    struct epoll_event events[LT_REACTOR_EVENTS];
    int saved = errno;
    int64_t now = until == LEAT_NEVER ? 0 : lt_clock_now();
    int64_t ns = until == LEAT_NEVER ? LEAT_NEVER : until > now ? until - now : 0;
    ns = sleep_in_ring(worker, ns);
    lt_owned_go_away(&worker->own);
    long n = ns < 0 ? 0 : wait_for_events(worker->reactor.epoll, events, ns);
    lt_owned_come_back(&worker->own);
    errno = saved;
    int64_t begun = worker->activity.woke;
    worker->activity.woke = worker->reactor.looked = lt_clock_now();
    worker->reactor.waited = n == 1 && worker->activity.woke - begun > AT_ONCE &&
                             lt_uring_is(&worker->reactor.ring, LT_URING_UNUSED);
    report_all(events, n);
}
