/* test_base.c: lists, locks, random numbers, numbers for the user, and the pool of stacks. */
#define _GNU_SOURCE /* mincore */
#include "arch/stack.h"
#include "base/alloc.h"
#include "base/config.h"
#include "base/handler.h"
#include "base/list.h"
#include "base/lock.h"
#include "sched/current.h"
#include "support.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void lists(void **state)
{
    (void)state;
    struct lt_node a, b, nodes[6];
    lt_list_init(&a);
    lt_list_init(&b);
    CHECK(lt_list_empty(&a));
    lt_list_splice(&a, &b);
    CHECK(lt_list_empty(&a) && lt_list_empty(&b));
    for (int i = 0; i < 6; i++) {
        nodes[i].next = NULL;
        CHECK(!lt_listed(&nodes[i]));
        lt_list_append(i < 3 ? &a : &b, &nodes[i]);
        CHECK(lt_listed(&nodes[i]));
    }
    lt_list_splice(&a, &b);
    CHECK(lt_list_empty(&b));
    struct lt_node *at = a.next;
    for (int i = 0; i < 6; i++, at = at->next) {
        CHECK(at == &nodes[i]);
        CHECK(at->next->prev == at && at->prev->next == at);
    }
    CHECK(at == &a);
    lt_list_remove(&nodes[0]);
    lt_list_remove(&nodes[5]);
    lt_list_remove(&nodes[2]);
    CHECK(!lt_listed(&nodes[2]));
    CHECK(a.next == &nodes[1] && nodes[1].next == &nodes[3] && nodes[4].next == &a);
    lt_list_splice(&b, &a); /* b is empty */
    CHECK(b.next == &nodes[1] && b.prev == &nodes[4] && lt_list_empty(&a));
}

static struct lt_lock lock;
static int guarded, inside;

static int lock_often(void *arg)
{
    for (int i = 0; i < *(int *)arg; i++) {
        lt_lock(&lock);
        CHECK_IS(1, ++inside);
        guarded++;
        inside--;
        lt_unlock(&lock);
    }
    return 0;
}

static void locks(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct foreign threads[THREADS];
    int times = 200000 / SCALE;
    for (int i = 0; i < THREADS; i++)
        foreign_start(&threads[i], lock_often, &times);
    for (int i = 0; i < THREADS; i++)
        CHECK_IS(0, foreign_join(&threads[i]));
    CHECK_IS(THREADS * times, guarded);
}

static void chance_is_even(void **state)
{
    (void)state;
    static const uint32_t bounds[] = { 1, 2, 3, 7, 100 };
    uint64_t chance = seed_of_test();
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        int counts[100] = { 0 };
        for (int j = 0; j < 100000; j++) {
            uint32_t n = lt_rng_below(&chance, bounds[i]);
            CHECK(n < bounds[i]);
            counts[n]++;
        }
        for (uint32_t n = 0; n < bounds[i]; n++) /* at most 15 deviations off */
            CHECK(counts[n] > 50000 / (int)bounds[i] && counts[n] < 200000 / (int)bounds[i] + 1);
    }
    /* The first numbers of SplitMix64 from the seed 1234567, as published. */
    uint64_t known = 1234567;
    CHECK(lt_rng_next(&known) == UINT64_C(6457827717110365317));
    CHECK(lt_rng_next(&known) == UINT64_C(3203168211198807973));
}

static void allocates(void **state)
{
    (void)state;
    CHECK(!lt_alloc(SIZE_MAX));
    CHECK(!lt_alloc_lines(SIZE_MAX));
    CHECK(!lt_alloc_lines(SIZE_MAX - 63));
    for (size_t size = 1; size < 5000; size += 77) {
        unsigned char *memory = lt_alloc(size), *lines = lt_alloc_lines(size);
        CHECK(memory && lines && (uintptr_t)lines % LT_CACHE_LINE == 0);
        for (size_t i = 0; i < size; i++)
            CHECK_IS(0, memory[i]);
        memset(memory, 1, size);
        memset(lines, 1, size);
        lt_free(memory);
        lt_free(lines);
    }
}

static size_t guard_size(void)
{
    size_t page = lt_page_size();
    return (LT_STACK_GUARD + page - 1) / page * page;
}

/* The lowest address that the stack's owner may use: right above the guard. */
static char *low_of(struct lt_stack *stack)
{
    return stack->base + guard_size();
}

static size_t resident_pages(struct lt_stack *stack)
{
    unsigned char in_core[64];
    size_t page = lt_page_size(), pages = (stack->size - guard_size()) / page, resident = 0;
    CHECK(pages <= sizeof in_core);
    CHECK_IS(0, mincore(low_of(stack), pages * page, in_core));
    for (size_t i = 0; i < pages; i++)
        resident += in_core[i] & 1;
    return resident;
}

static void fill(struct lt_stack *stack)
{
    char *low = low_of(stack), *top = lt_stack_top(stack);
    memset(low, 0x5A, (size_t)(top - low));
}

static void pools_stacks(void **state)
{
    (void)state;
    enum { STACKS = 150 };
    size_t page = lt_page_size(), size = 16 * page;
    struct lt_stack *stacks[STACKS];
    lt_stack_pool_open(size);
    for (int round = 0; round < 3; round++) {
        CHECK(lt_stack_credits_get(STACKS));
        CHECK(lt_stack_credits_get(3));
        for (int i = 0; i < STACKS; i++) {
            lt_stack_redeem(&stacks[i], 1);
            CHECK(stacks[i] && lt_stack_pooled(stacks[i]));
            CHECK((uintptr_t)lt_stack_top(stacks[i]) % 16 == 0);
            CHECK((char *)lt_stack_top(stacks[i]) - low_of(stacks[i]) >=
                  (ptrdiff_t)(size - 1024 - LT_STACK_COLOURS * LT_CACHE_LINE));
            CHECK(lt_stack_guards(stacks[i], stacks[i]->base));
            CHECK(lt_stack_guards(stacks[i], stacks[i]->base + guard_size() - 1));
            CHECK(!lt_stack_guards(stacks[i], stacks[i]->base + guard_size()));
            CHECK(!lt_stack_guards(stacks[i], stacks[i]->base - 1));
            for (int j = 0; j < i; j++)
                CHECK(stacks[j]->base + stacks[j]->size <= stacks[i]->base ||
                      stacks[i]->base + stacks[i]->size <= stacks[j]->base);
            lt_fiber_forget(stacks[i]->fiber.low, stacks[i]->fiber.size);
            fill(stacks[i]);
            CHECK(resident_pages(stacks[i]) >= 15);
        }
        struct lt_stack_batch batch = { 0 };
        for (int i = 0; i < STACKS; i++) {
            struct lt_stack *stack = stacks[i];
            lt_stack_return(&batch, stack, NULL);
            /* Pages below the topmost one went back to the kernel. */
            CHECK(resident_pages(stack) <= 1);
        }
        lt_stack_return_now(&batch);
        lt_stack_credits_return(3);
    }
    lt_stack_pool_close();
}

static unsigned mappings(void)
{
    char line[512];
    unsigned n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        n += strchr(line, '\n') != NULL;
    fclose(maps);
    return n;
}

/* A process may have 65,530 mappings, and an older Linux needs one for each guard: leat leaves
 * enough of them to the program. */
static void leaves_mappings_to_the_program(void **state)
{
    (void)state;
    enum { STACKS = (LT_GUARD_LIMIT + 4 * LT_STACK_CHUNK) / SCALE };
    for (int round = 0; round < 2; round++) {
        lt_stack_pool_open(LT_STACK_MIN);
        unsigned before = mappings();
        CHECK(lt_stack_credits_get(STACKS));
        CHECK(mappings() - before < 2 * LT_GUARD_LIMIT + 100);
        lt_stack_pool_close();
    }
}

static void maps_other_sizes(void **state)
{
    (void)state;
    size_t page = lt_page_size();
    lt_stack_pool_open(16 * page);
    static const size_t pages[] = { 4, 5, 33, 1024 };
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        struct lt_stack *stack = lt_stack_map(pages[i] * page);
        CHECK(stack && !lt_stack_pooled(stack));
        CHECK(lt_stack_guards(stack, stack->base));
        fill(stack);
        lt_stack_unmap(stack);
    }
    lt_stack_pool_close();
}

/* Writes a name to both ends of a stack. is_signed() checks whether both are still there. */
static void sign(struct lt_stack *stack, const void *name)
{
    ((const void **)(void *)low_of(stack))[0] = name;
    ((const void **)lt_stack_top(stack))[-1] = name;
}

static bool is_signed(struct lt_stack *stack, const void *name)
{
    return ((const void **)(void *)low_of(stack))[0] == name &&
           ((const void **)lt_stack_top(stack))[-1] == name;
}

static void *use_many_stacks(void *seed)
{
    enum { MOST = 300, ROUNDS = 60 };
    struct lt_stack *stacks[MOST];
    uint64_t chance = (uint64_t)(uintptr_t)seed;
    struct lt_stack_batch returned = { 0 };
    for (int round = 0; round < ROUNDS; round++) {
        size_t n = 1 + lt_rng_below(&chance, MOST);
        CHECK(lt_stack_credits_get(n));
        for (size_t had = 0, batch; had < n; had += batch) {
            batch = n - had < LT_STACK_AHEAD ? n - had : LT_STACK_AHEAD;
            lt_stack_redeem(stacks + had, batch);
        }
        for (size_t i = 0; i < n; i++)
            sign(stacks[i], &stacks[i]);
        for (size_t i = 0; i < n; i++) {
            CHECK(is_signed(stacks[i], &stacks[i]));
            lt_stack_return(&returned, stacks[i], i + 1 < n ? stacks[i + 1] : NULL);
        }
        if (round % 2)
            lt_stack_return_now(&returned);
    }
    lt_stack_return_now(&returned);
    return NULL;
}

static void stack_pool_grows_under_many_threads(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    size_t all, at_hand;
    lt_stack_pool_open(LT_STACK_MIN);
    for (int i = 0; i < THREADS; i++)
        CHECK_IS(0, pthread_create(&threads[i], NULL, use_many_stacks, (void *)(intptr_t)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    lt_stack_count(&all, &at_hand);
    CHECK(all > 0 && all == at_hand && all % LT_STACK_CHUNK == 0);
    lt_stack_pool_close();
}

static size_t address_space(void)
{
    size_t pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm && fscanf(statm, "%zu", &pages) == 1);
    fclose(statm);
    return pages * lt_page_size();
}

static bool room_ends_within(size_t bytes)
{
    void *room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room != MAP_FAILED)
        munmap(room, bytes);
    return room == MAP_FAILED;
}

/* If the address space has no room for many chunks at once, the pool maps a few at a time. */
static void stack_pool_grows_in_little_room(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* the sanitizers need address space themselves */
#endif
    enum { CHUNKS = LT_STACK_REGION * 3, FEW = 4 };
    const size_t chunk = LT_STACK_CHUNK * (LT_STACK_DEFAULT + guard_size());
    size_t more = 0, all, at_hand;
    struct rlimit before, tight;
    lt_stack_pool_open(LT_STACK_DEFAULT);
    CHECK(lt_stack_credits_get(CHUNKS * LT_STACK_CHUNK));
    CHECK_IS(0, getrlimit(RLIMIT_AS, &before));
    tight = before;
    tight.rlim_cur = address_space() + FEW * chunk;
    CHECK_IS(0, setrlimit(RLIMIT_AS, &tight));
    const bool held = room_ends_within(2 * FEW * chunk);
    while (held && lt_stack_credits_get(LT_STACK_CHUNK))
        more++;
    CHECK_IS(0, setrlimit(RLIMIT_AS, &before));
    if (!held) {
        lt_stack_pool_close();
        skip(); /* qemu-user accepts the limit, and does not enforce it */
    }
    /* The pool may also use what was left of a region that it had begun before the limit. */
    CHECK(more >= 1 && more < LT_STACK_REGION + FEW + 1);
    lt_stack_count(&all, &at_hand);
    CHECK(all == (CHUNKS + more) * LT_STACK_CHUNK && at_hand == all);
    CHECK(lt_stack_credits_get(CHUNKS * LT_STACK_CHUNK));
    lt_stack_pool_close();
}

/* In looks 0 means that there is no scope or channel. */
static void no_number_is_zero(void **state)
{
    (void)state;
    if (SCALE > 1 || LT_NUMBER_BATCH < 32)
        skip(); /* it would take long */
    for (uint64_t n = 0; n <= UINT64_C(1) << 32; n += LT_NUMBER_BATCH)
        CHECK(lt_number_batch() + LT_NUMBER_BATCH != 0);
}

/* ---- handlers of signals ---- */

static volatile sig_atomic_t first_heard, leat_heard, later_heard;
static struct lt_handler handler;
static struct sigaction leats;

static void first(int signal)
{
    (void)signal;
    first_heard++;
}

static void of_leat(int signal, siginfo_t *info, void *context)
{
    leat_heard++;
    CHECK(leat_heard < 10);
    lt_handler_pass_on(&handler, signal, info, context);
}

static void later(int signal, siginfo_t *info, void *context)
{
    later_heard++;
    leats.sa_sigaction(signal, info, context);
}

static void each_hears(int first_one, int leats_one, int later_one)
{
    first_heard = leat_heard = later_heard = 0;
    CHECK_IS(0, raise(SIGUSR1));
    CHECK_IS(first_one, first_heard);
    CHECK_IS(leats_one, leat_heard);
    CHECK_IS(later_one, later_heard);
}

/* No handler hears a signal twice, whatever calls leat's. */
static void chains_handlers(void **state)
{
    struct sigaction before;
    (void)state;
    CHECK(!lt_handler_install(&handler, 1000, of_leat));
    CHECK_IS(0, sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = first }, &before));
    CHECK(lt_handler_install(&handler, SIGUSR1, of_leat));
    each_hears(1, 1, 0);
    /* One that is installed above it stays there. */
    CHECK_IS(0, sigaction(SIGUSR1,
                          &(struct sigaction){ .sa_sigaction = later, .sa_flags = SA_SIGINFO },
                          &leats));
    each_hears(1, 1, 1);
    lt_handler_remove(&handler, SIGUSR1);
    each_hears(1, 1, 1);
    CHECK(lt_handler_install(&handler, SIGUSR1, of_leat));
    each_hears(1, 1, 1);
    lt_handler_remove(&handler, SIGUSR1);
    /* The program puts leat's back. */
    CHECK_IS(0, sigaction(SIGUSR1, &leats, NULL));
    CHECK(lt_handler_install(&handler, SIGUSR1, of_leat));
    each_hears(1, 1, 0);
    lt_handler_remove(&handler, SIGUSR1);
    each_hears(1, 0, 0);
    CHECK_IS(0, sigaction(SIGUSR1, &leats, NULL));
    CHECK(lt_handler_install(&handler, SIGUSR1, of_leat));
    each_hears(1, 1, 0);
    lt_handler_remove(&handler, SIGUSR1);
    /* What is ignored stays so. */
    CHECK_IS(0, sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL));
    CHECK(lt_handler_install(&handler, SIGUSR1, of_leat));
    each_hears(0, 1, 0);
    each_hears(0, 1, 0);
    lt_handler_remove(&handler, SIGUSR1);
    CHECK_IS(0, sigaction(SIGUSR1, &before, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(locks),
        cmocka_unit_test(chance_is_even),
        cmocka_unit_test(no_number_is_zero),
        cmocka_unit_test(allocates),
        cmocka_unit_test(pools_stacks),
        cmocka_unit_test(leaves_mappings_to_the_program),
        cmocka_unit_test(maps_other_sizes),
        cmocka_unit_test(stack_pool_grows_under_many_threads),
        cmocka_unit_test(stack_pool_grows_in_little_room),
        cmocka_unit_test(chains_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
