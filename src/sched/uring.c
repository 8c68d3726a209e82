#include "sched/uring.h"

#include "base/alloc.h"
#include "base/barrier.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/util.h"
#include "sched/party.h"

#include <leat/base.h>

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The headers may be older than the kernel. NO_MMAP needs Linux 6.5, and 6.10 for more than a page;
 * older ones answer EINVAL. leat allocates the memory itself: so it stays when the ring is closed,
 * with the kernel's last writes. */
#ifndef IORING_SETUP_COOP_TASKRUN
#define IORING_SETUP_COOP_TASKRUN (1U << 8)
#define IORING_SETUP_TASKRUN_FLAG (1U << 9)
#define IORING_SQ_TASKRUN (1U << 2)
#endif
#ifndef IORING_SETUP_NO_MMAP
#define IORING_SETUP_NO_MMAP (1U << 14)
#endif
#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16)
#endif

/* An entry's user_data is its operation, or one of these. */
enum { OF_CANCEL = 0, OF_POLL = 1 };

/* The size of the heads and tails before the completions, and of the completions. */
enum {
    WORDS = 4096,
    CQ_BYTES = WORDS + LT_URING_COMPLETIONS * (int)sizeof(struct io_uring_cqe),
    SQ_BYTES = LT_URING_QUEUE * (int)sizeof(struct io_uring_sqe)
};

_Atomic bool lt_uring_wanted;

static _Atomic int refusal;

int lt_uring_refusal(void)
{
    /* Relaxed: it orders nothing. */
    return atomic_load_explicit(&refusal, memory_order_relaxed);
}

static uint32_t load(const _Atomic uint32_t *word)
{
    /* Relaxed: only written inside, or a hint. */
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set_owed(struct lt_uring *ring, uint32_t owed)
{
    /* Relaxed: only inside. */
    atomic_store_explicit(&ring->owed, owed, memory_order_relaxed);
}

static void set_state(struct lt_uring *ring, enum lt_uring_state state)
{
    atomic_store_explicit(&ring->state, (uint8_t)state, memory_order_release);
}

/* The address comes last in both structs, under a name that old headers do not have. */
#define SET_ADDRESS(offsets, memory) \
    memcpy((char *)(&(offsets) + 1) - sizeof(uint64_t), \
           &(uint64_t){ (uint64_t)(uintptr_t)(memory) }, sizeof(uint64_t))

/* A ring's memory has the submissions first, and all the rest from the next page on. */
static size_t memory_size(void)
{
    return lt_whole_pages(SQ_BYTES) + lt_whole_pages(CQ_BYTES);
}

static int set_up(struct lt_uring *ring, char *memory)
{
    char *words = memory + lt_whole_pages(SQ_BYTES);
    struct io_uring_params p = {
        .flags = IORING_SETUP_NO_MMAP | IORING_SETUP_NO_SQARRAY | IORING_SETUP_CQSIZE |
                 IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
        .cq_entries = LT_URING_COMPLETIONS,
    };
    SET_ADDRESS(p.cq_off, words);
    SET_ADDRESS(p.sq_off, memory);
    int fd = lt_move_up((int)syscall(SYS_io_uring_setup, LT_URING_QUEUE, &p));
    if (fd < 0)
        return -errno;
    ring->fd = fd;
    ring->sqes = (struct io_uring_sqe *)(void *)memory;
    ring->cqes = (struct io_uring_cqe *)(void *)(words + p.cq_off.cqes);
    ring->sq_head = (_Atomic uint32_t *)(void *)(words + p.sq_off.head);
    ring->sq_tail = (_Atomic uint32_t *)(void *)(words + p.sq_off.tail);
    ring->sq_flags = (_Atomic uint32_t *)(void *)(words + p.sq_off.flags);
    ring->cq_head = (_Atomic uint32_t *)(void *)(words + p.cq_off.head);
    ring->cq_tail = (_Atomic uint32_t *)(void *)(words + p.cq_off.tail);
    ring->polls = false;
    return 0;
}

bool lt_uring_open(struct lt_uring *ring)
{
    if (lt_uring_refusal())
        return false;
    char *memory = lt_map(memory_size());
    int saved = errno, error = memory ? set_up(ring, memory) : -ENOMEM;
    errno = saved;
    if (!error) {
        set_state(ring, LT_URING_OPEN);
        return true;
    }
    if (memory)
        lt_unmap(memory, memory_size());
    atomic_store_explicit(&refusal, error, memory_order_relaxed);
    return false;
}

void lt_uring_close(struct lt_uring *ring)
{
    if (lt_uring_is(ring, LT_URING_UNUSED))
        return;
    if (lt_uring_is(ring, LT_URING_OPEN))
        close(ring->fd);
    /* The kernel keeps the pages until it has forgotten the ring. */
    lt_unmap(ring->sqes, memory_size());
    set_owed(ring, 0);
    set_state(ring, LT_URING_UNUSED);
}

/* ---- completions ---- */

static void complete(struct lt_uring *ring, uint64_t user_data, int32_t result,
                     struct lt_party ***end)
{
    if (user_data == OF_POLL)
        ring->polls = false;
    else
        set_owed(ring, lt_uring_owed(ring) - 1);
    if (user_data == OF_POLL || user_data == OF_CANCEL)
        return;
    struct lt_uring_op *op = (struct lt_uring_op *)(uintptr_t)user_data;
    op->result = result;
    op->called_off = true; /* until its party runs, the scope and the deadline may still try */
    **end = op->party;
    *end = &op->party->next;
}

static void take(struct lt_uring *ring, struct lt_party ***end)
{
    uint32_t head = load(ring->cq_head);
    /* Acquire: the entries, and the buffers, are seen as the kernel wrote them. */
    uint32_t tail = atomic_load_explicit(ring->cq_tail, memory_order_acquire);
    for (; head != tail; head++) {
        const struct io_uring_cqe *cqe = &ring->cqes[head % LT_URING_COMPLETIONS];
        complete(ring, cqe->user_data, cqe->res, end);
    }
    /* Release: the kernel writes over the entries after they have been read. */
    atomic_store_explicit(ring->cq_head, head, memory_order_release);
}

static bool is_left(const struct lt_uring *ring)
{
    return load(ring->sq_flags) & IORING_SQ_TASKRUN;
}

static bool is_empty(const struct lt_uring *ring)
{
    return load(ring->sq_tail) == load(ring->sq_head);
}

bool lt_uring_has_queued(const struct lt_uring *ring)
{
    return lt_uring_is(ring, LT_URING_OPEN) && !is_empty(ring);
}

/* A refused ring may have entries that a round takes back. */
bool lt_uring_has_more(const struct lt_uring *ring)
{
    return !lt_uring_is(ring, LT_URING_UNUSED) &&
           (load(ring->cq_head) != load(ring->cq_tail) || is_left(ring) || !is_empty(ring));
}

/* ---- submissions ---- */

/* A sandbox forbids rings from now on, although it allowed this one. */
static LT_COLD void give_up(struct lt_uring *ring, int error)
{
    atomic_store_explicit(&refusal, error, memory_order_relaxed);
    set_state(ring, LT_URING_ENDING);
    close(ring->fd);
}

/* Submits what is queued, and waits for a completion if `wait` is 1. */
static void enter(struct lt_uring *ring, unsigned wait, int64_t ns)
{
    struct __kernel_timespec time = { .tv_sec = ns / LEAT_S, .tv_nsec = ns % LEAT_S };
    struct io_uring_getevents_arg argument = {
        .ts = ns == LEAT_NEVER ? 0 : (uint64_t)(uintptr_t)&time,
    };
    int saved = errno;
    long n = syscall(SYS_io_uring_enter, ring->fd, load(ring->sq_tail) - load(ring->sq_head), wait,
                     IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof argument);
    int error = n < 0 ? errno : 0;
    errno = saved;
    /* If memory is short, the queued entries stay, and the caller tries again. */
    bool short_of = error == EAGAIN || error == EBUSY || error == ENOMEM;
    if (error && error != EINTR && error != ETIME && !short_of)
        give_up(ring, -error);
}

/* An empty entry, which push then hands over. NULL: the ring is refused, or memory is short. */
static struct io_uring_sqe *next_entry(struct lt_uring *ring)
{
    if (lt_uring_is(ring, LT_URING_OPEN) &&
        load(ring->sq_tail) - load(ring->sq_head) == LT_URING_QUEUE)
        enter(ring, 0, LEAT_NEVER);
    uint32_t tail = load(ring->sq_tail);
    if (!lt_uring_is(ring, LT_URING_OPEN) || tail - load(ring->sq_head) == LT_URING_QUEUE)
        return NULL;
    struct io_uring_sqe *sqe = &ring->sqes[tail % LT_URING_QUEUE];
    memset(sqe, 0, sizeof *sqe);
    return sqe;
}

static void push(struct lt_uring *ring)
{
    /* Release: a thief's call of the kernel shows it the whole entry, too. */
    atomic_store_explicit(ring->sq_tail, load(ring->sq_tail) + 1, memory_order_release);
}

bool lt_uring_queue(struct lt_uring *ring, struct lt_uring_op *op, enum lt_uring_call call, int fd,
                    void *buffer, size_t n)
{
    struct io_uring_sqe *sqe = NULL;
    if (lt_uring_is(ring, LT_URING_OPEN) && lt_uring_owed(ring) < LT_URING_COMPLETIONS / 2 - 1)
        sqe = next_entry(ring);
    if (!sqe)
        return false;
    sqe->opcode = call == LT_URING_RECV ? IORING_OP_RECV : IORING_OP_SEND;
    sqe->msg_flags = call == LT_URING_RECV ? 0 : MSG_NOSIGNAL;
    sqe->fd = fd;
    sqe->addr = (uint64_t)(uintptr_t)buffer;
    sqe->len = n < INT32_MAX ? (uint32_t)n : INT32_MAX;
    sqe->user_data = (uint64_t)(uintptr_t)op;
    push(ring);
    set_owed(ring, lt_uring_owed(ring) + 1);
    return true;
}

void lt_uring_call_off(struct lt_uring *ring, struct lt_uring_op *op)
{
    struct io_uring_sqe *sqe = NULL;
    /* Tries again while memory is short: a cancel is asked for once. With a refused ring the
     * operation ends anyway. */
    while (!sqe && !op->called_off && lt_uring_is(ring, LT_URING_OPEN))
        sqe = next_entry(ring);
    if (!sqe)
        return;
    op->called_off = true;
    sqe->opcode = IORING_OP_ASYNC_CANCEL;
    sqe->fd = -1;
    sqe->addr = (uint64_t)(uintptr_t)op;
    sqe->user_data = OF_CANCEL;
    push(ring);
    set_owed(ring, lt_uring_owed(ring) + 1);
}

static void queue_poll(struct lt_uring *ring, int epoll)
{
    struct io_uring_sqe *sqe = ring->polls ? NULL : next_entry(ring);
    if (!sqe)
        return;
    sqe->opcode = IORING_OP_POLL_ADD;
    sqe->fd = epoll;
    sqe->poll32_events = POLLIN;
    sqe->user_data = OF_POLL;
    ring->polls = true;
    push(ring);
}

/* ---- rounds ---- */

/* Completes the operations that the kernel has not seen, and the poll; but `keeps` cancels. */
static void take_back(struct lt_uring *ring, bool keeps, struct lt_party ***end)
{
    uint32_t head = load(ring->sq_head), tail = load(ring->sq_tail), kept = head;
    for (uint32_t at = head; at != tail; at++) {
        const struct io_uring_sqe *sqe = &ring->sqes[at % LT_URING_QUEUE];
        if (keeps && sqe->user_data == OF_CANCEL)
            ring->sqes[kept++ % LT_URING_QUEUE] = *sqe;
        else
            complete(ring, sqe->user_data, -ECANCELED, end);
    }
    /* Relaxed: the kernel reads it in a call of this thread. */
    atomic_store_explicit(ring->sq_tail, kept, memory_order_relaxed);
}

static struct lt_party *take_all(struct lt_uring *ring)
{
    struct lt_party *chain = NULL, **end = &chain;
    take(ring, &end);
    if (LT_UNLIKELY(lt_uring_is(ring, LT_URING_ENDING)))
        take_back(ring, false, &end);
    *end = NULL;
    return chain;
}

struct lt_party *lt_uring_round(struct lt_uring *ring)
{
    if (lt_uring_is(ring, LT_URING_OPEN) && (lt_uring_has_queued(ring) || is_left(ring)))
        enter(ring, 0, LEAT_NEVER);
    return take_all(ring);
}

/* Makes the worker's thread complete the operations that the kernel has left to it. */
static void prod(const struct lt_uring *ring)
{
    if (!is_left(ring))
        return;
    lt_barrier_anyhow();
    for (unsigned pauses = 0; pauses < LT_URING_PAUSES && is_left(ring); pauses++)
        lt_pause();
}

struct lt_party *lt_uring_stand_in(struct lt_uring *ring)
{
    struct lt_party *chain = NULL, **end = &chain;
    take_back(ring, true, &end);
    if (lt_uring_has_queued(ring))
        enter(ring, 0, LEAT_NEVER);
    prod(ring);
    *end = take_all(ring);
    return chain;
}

struct lt_party *lt_uring_sleep(struct lt_uring *ring, int epoll, int64_t ns)
{
    queue_poll(ring, epoll);
    if (lt_uring_is(ring, LT_URING_OPEN))
        enter(ring, ring->polls, ns);
    return take_all(ring);
}
