#include "arch/stack.h"

#include "base/alloc.h"
#include "base/config.h"
#include "base/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Newer than the oldest supported headers. */
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef PIDFD_SELF_PROCESS
#define PIDFD_SELF_PROCESS (-10000 - 1)
#endif
#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum { HEADER = (sizeof(struct lt_stack) + LT_CACHE_LINE - 1) / LT_CACHE_LINE * LT_CACHE_LINE };

/* LT_STACK_CHUNK slots with guards. The first `carved` have become stacks, the others are
 * untouched. */
struct chunk {
    struct chunk *next;
    char *base;
    size_t carved;
};

/* A mapping of `count` chunks; the first `taken` of them are in use. */
struct region {
    struct region *next;
    char *base;
    size_t count, taken;
    struct chunk chunks[];
};

static struct {
    struct lt_lock lock;
    size_t page, guard, slot; /* bytes; a slot is guard, stack and header */
    bool on_valgrind;
    struct lt_stack *free;         /* stacks that have been used */
    struct chunk *fresh;           /* chunks with slots left to carve */
    struct region *regions;        /* the latest first */
    size_t carved;                 /* slots that have become stacks, since the start */
    size_t mapped;                 /* slots in all chunks in use */
    size_t available;              /* free stacks and uncarved slots */
    size_t promised;               /* credits handed out; never more than available */
    _Atomic bool is_short;         /* memory has run out; written under the lock */
    _Atomic size_t guard_mappings; /* PROT_NONE guards; a counter that orders nothing */
} pool;

void lt_stack_pool_open(size_t stack_size)
{
    pool.page = lt_page_size();
    pool.guard = lt_whole_pages(LT_STACK_GUARD);
    pool.slot = pool.guard + stack_size;
    pool.on_valgrind = lt_fiber_is_on_valgrind();
}

/* Advises the kernel on pieces of one size, anywhere, in one call. (Since Linux 6.14 a process may
 * do so for itself.) Returns how many were done, from the first. */
static size_t advise(const struct iovec *pieces, size_t n, int advice)
{
    /* Asked only once if the kernel has no such call (ENOSYS) or does not let a process name itself
     * (EBADF), or if a sandbox refuses (EPERM). Relaxed: a hint. */
    static _Atomic bool absent;
    if (pool.on_valgrind || atomic_load_explicit(&absent, memory_order_relaxed))
        return 0;
    int saved = errno;
    long bytes = syscall(SYS_process_madvise, PIDFD_SELF_PROCESS, pieces, n, advice, 0);
    if (bytes < 0 && (errno == ENOSYS || errno == EBADF || errno == EPERM))
        atomic_store_explicit(&absent, true, memory_order_relaxed);
    errno = saved;
    return bytes < 0 ? 0 : (size_t)bytes / pieces->iov_len;
}

/* Installs a guard that is no mapping. (Since Linux 6.13.) */
static bool install_light_guard(char *low)
{
    static _Atomic bool absent; /* as in advise */
    if (atomic_load_explicit(&absent, memory_order_relaxed))
        return false;
    bool installed = madvise(low, pool.guard, MADV_GUARD_INSTALL) == 0;
    if (!installed && errno == EINVAL)
        atomic_store_explicit(&absent, true, memory_order_relaxed);
    return installed;
}

/* A stack works without a guard: past the limit that is better than refusing the task. True if the
 * guard has become a mapping. */
static bool install_guard(char *low)
{
    int saved = errno;
    bool mapped = false;
    if (!install_light_guard(low)) {
        size_t before = atomic_fetch_add_explicit(&pool.guard_mappings, 1, memory_order_relaxed);
        mapped = before < LT_GUARD_LIMIT && mprotect(low, pool.guard, PROT_NONE) == 0;
        if (!mapped)
            atomic_fetch_sub_explicit(&pool.guard_mappings, 1, memory_order_relaxed);
    }
    errno = saved;
    return mapped;
}

/* Maps `size` bytes for stacks, without huge pages: the first touched stack would be backed by 2
 * MiB. */
static char *map_stacks(size_t size)
{
    char *base = lt_map(size);
    int saved = errno;
    if (base) {
        madvise(base, size, MADV_NOHUGEPAGE);
        lt_fiber_forget(base, size);
    }
    errno = saved;
    return base;
}

/* Leaves `colour` lines unused at the end: see LT_STACK_COLOURS. */
static struct lt_stack *lay_out(char *base, size_t size, size_t colour)
{
    struct lt_stack *stack =
        (struct lt_stack *)(void *)(base + size - HEADER - colour * LT_CACHE_LINE);
    stack->base = base;
    stack->size = size;
    char *low = base + pool.guard;
    lt_fiber_create(&stack->fiber, low, (size_t)((char *)lt_stack_top(stack) - low));
    return stack;
}

static struct region *map_region(size_t count)
{
    struct region *region = lt_alloc(sizeof *region + count * sizeof region->chunks[0]);
    if (!region)
        return NULL;
    region->count = count;
    region->base = map_stacks(count * LT_STACK_CHUNK * pool.slot);
    if (!region->base) {
        lt_free(region);
        return NULL;
    }
    return region;
}

/* Maps as many slots as are in use, up to LT_STACK_REGION chunks, so that a million stacks are some
 * two dozen mappings: a thread that maps waits until no thread of the process is touching new
 * pages. When memory is short, maps fewer. */
static struct region *map_next_region(size_t slots)
{
    size_t count = slots / LT_STACK_CHUNK;
    count = count > LT_STACK_REGION ? LT_STACK_REGION : count ? count : 1;
    struct region *region;
    while (!(region = map_region(count)) && count > 1)
        count /= 2;
    return region;
}

/* With the lock held: takes the next mapped chunk. NULL if there is none. */
static struct chunk *take_chunk(void)
{
    struct region *region = pool.regions;
    while (region && region->taken == region->count)
        region = region->next;
    if (!region)
        return NULL;
    struct chunk *chunk = &region->chunks[region->taken];
    chunk->base = region->base + region->taken++ * LT_STACK_CHUNK * pool.slot;
    return chunk;
}

static void install_guards(const struct chunk *chunk)
{
    struct iovec guards[LT_STACK_CHUNK];
    for (size_t i = 0; i < LT_STACK_CHUNK; i++)
        guards[i] = (struct iovec){ chunk->base + i * pool.slot, pool.guard };
    size_t installed = advise(guards, LT_STACK_CHUNK, MADV_GUARD_INSTALL);
    for (size_t i = installed; i < LT_STACK_CHUNK; i++)
        install_guard(guards[i].iov_base);
}

/* With the lock held, which it releases meanwhile: takes a chunk into use, or maps a region. False
 * when memory has run out. */
static bool grow(void)
{
    struct chunk *chunk = take_chunk();
    size_t slots = pool.mapped;
    lt_unlock(&pool.lock);
    struct region *region = chunk ? NULL : map_next_region(slots);
    if (chunk)
        install_guards(chunk);
    lt_lock(&pool.lock);
    if (region) {
        region->next = pool.regions;
        pool.regions = region;
    }
    if (chunk) {
        chunk->next = pool.fresh;
        pool.fresh = chunk;
        pool.mapped += LT_STACK_CHUNK;
        pool.available += LT_STACK_CHUNK;
    }
    /* Sequentially consistent, against a worker that records what it keeps and then reads this: see
     * sched/reclaim.c. */
    bool grown = region || chunk;
    if (atomic_load_explicit(&pool.is_short, memory_order_relaxed) == grown)
        atomic_store_explicit(&pool.is_short, !grown, memory_order_seq_cst);
    return grown;
}

bool lt_stack_is_short(void)
{
    return atomic_load_explicit(&pool.is_short, memory_order_seq_cst);
}

bool lt_stack_credits_get(size_t n)
{
    lt_lock(&pool.lock);
    while (pool.available - pool.promised < n && grow()) {
    }
    /* Checked again: another thread may have added some while grow failed. */
    bool enough = pool.available - pool.promised >= n;
    if (enough)
        pool.promised += n;
    lt_unlock(&pool.lock);
    return enough;
}

void lt_stack_credits_return(size_t n)
{
    lt_lock(&pool.lock);
    pool.promised -= n;
    lt_unlock(&pool.lock);
}

/* With the lock held: the next slot that has never been used. */
static char *carve(void)
{
    struct chunk *chunk = pool.fresh;
    char *slot = chunk->base + chunk->carved * pool.slot;
    if (++chunk->carved == LT_STACK_CHUNK)
        pool.fresh = chunk->next;
    return slot;
}

/* Makes the kernel back the topmost pages of new stacks in one call, which costs two thirds of what
 * the page faults would. */
static void populate(char *const *slots, size_t n)
{
    struct iovec pages[LT_STACK_AHEAD];
    for (size_t i = 0; i < n; i++)
        pages[i] = (struct iovec){ slots[i] + pool.slot - pool.page, pool.page };
    if (n > 1)
        advise(pages, n, MADV_POPULATE_WRITE);
}

void lt_stack_redeem(struct lt_stack **stacks, size_t n)
{
    char *slots[LT_STACK_AHEAD];
    size_t used = 0, carved = 0;
    lt_lock(&pool.lock);
    pool.available -= n;
    pool.promised -= n;
    for (; used < n && pool.free; pool.free = pool.free->next)
        stacks[used++] = pool.free;
    for (; used + carved < n; carved++)
        slots[carved] = carve();
    size_t colour = pool.carved;
    pool.carved += carved;
    lt_unlock(&pool.lock);
    populate(slots, carved);
    for (size_t i = 0; i < carved; i++)
        stacks[used + i] =
            lay_out(slots[i], pool.slot, (colour + i) * LT_STACK_COLOUR_STEP % LT_STACK_COLOURS);
}

/* The page with the header of a pooled stack. */
static char *topmost_page(struct lt_stack *stack)
{
    return (char *)stack - ((uintptr_t)stack & (pool.page - 1));
}

/* Prefetches what trim reads, and the stack's header. */
LT_FETCHES void prefetch(struct lt_stack *stack)
{
    __builtin_prefetch(topmost_page(stack));
    __builtin_prefetch(stack, 1);
}

/* Gives the kernel the memory below the topmost page, if that page's lowest line shows that the
 * stack has grown past it. (A frame may skip the line without writing to it. Then the memory is
 * kept a little longer.) */
__attribute__((no_sanitize("address", "thread"))) static void trim(struct lt_stack *stack)
{
    if (LT_UNLIKELY(pool.on_valgrind))
        return;
    char *top_page = topmost_page(stack);
    volatile uint64_t *line = (volatile uint64_t *)(void *)top_page;
    uint64_t grown = 0;
    for (size_t i = 0; i < LT_CACHE_LINE / sizeof *line; i++)
        grown |= line[i];
    char *low = stack->base + pool.guard;
    if (!grown || top_page <= low)
        return;
    for (size_t i = 0; i < LT_CACHE_LINE / sizeof *line; i++)
        line[i] = 0;
    int saved = errno;
    madvise(low, (size_t)(top_page - low), MADV_DONTNEED);
    errno = saved;
}

void lt_stack_return_now(struct lt_stack_batch *batch)
{
    if (!batch->count)
        return;
    lt_lock(&pool.lock);
    batch->last->next = pool.free;
    pool.free = batch->first;
    pool.available += batch->count;
    lt_unlock(&pool.lock);
    *batch = (struct lt_stack_batch){ 0 };
}

void lt_stack_return(struct lt_stack_batch *batch, struct lt_stack *stack, struct lt_stack *next)
{
    if (next)
        prefetch(next);
    trim(stack);
    stack->next = batch->first;
    batch->first = stack;
    if (!batch->count)
        batch->last = stack;
    if (++batch->count == LT_STACK_TOGETHER)
        lt_stack_return_now(batch);
}

struct lt_stack *lt_stack_map(size_t stack_size)
{
    size_t size = pool.guard + stack_size;
    char *base = map_stacks(size);
    if (!base)
        return NULL;
    struct lt_stack *stack = lay_out(base, size, 0);
    stack->guard_mapped = install_guard(base);
    return stack;
}

void lt_stack_unmap(struct lt_stack *stack)
{
    if (stack->guard_mapped)
        atomic_fetch_sub_explicit(&pool.guard_mappings, 1, memory_order_relaxed);
    lt_fiber_destroy(&stack->fiber);
    lt_unmap(stack->base, stack->size);
}

void lt_stack_count(size_t *all, size_t *at_hand)
{
    lt_lock(&pool.lock);
    *all = pool.mapped;
    *at_hand = pool.available;
    lt_unlock(&pool.lock);
}

bool lt_stack_pooled(const struct lt_stack *stack)
{
    return stack->size == pool.slot;
}

bool lt_stack_guards(const struct lt_stack *stack, const void *address)
{
    const char *at = address;
    return at >= stack->base && at < stack->base + pool.guard;
}

void lt_stack_pool_close(void)
{
    /* Only if a tool must know: visiting a million headers, none in the cache, takes half a
     * second. */
    bool watched = lt_fiber_is_watched();
    for (struct lt_stack *stack = watched ? pool.free : NULL; stack; stack = stack->next)
        lt_fiber_destroy(&stack->fiber);
    for (struct region *region = pool.regions, *next; region; region = next) {
        next = region->next;
        lt_unmap(region->base, region->count * LT_STACK_CHUNK * pool.slot);
        lt_free(region);
    }
    memset(&pool, 0, sizeof pool);
}
