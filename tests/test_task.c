/* test_task.c: tasks' stacks and names, and what a switch must preserve. */
#define _GNU_SOURCE /* gettid */
#include "support.h"

#include <unistd.h>

static int count_up(void *arg)
{
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

/* Fills the stack down to `depth` bytes, and checks on return that it is unchanged. */
static __attribute__((noinline)) uint64_t dig(size_t depth, uint64_t seed)
{
    volatile unsigned char frame[1024];
    for (size_t i = 0; i < sizeof frame; i++)
        frame[i] = (unsigned char)(seed + i);
    if (seed % 16 == 0)
        leat_yield();
    uint64_t sum = depth > 2 * sizeof frame ? dig(depth - sizeof frame - 128, seed + 1) : 0;
    for (size_t i = 0; i < sizeof frame; i++)
        CHECK(frame[i] == (unsigned char)(seed + i));
    return sum + frame[7];
}

static int dig_deep(void *arg)
{
    /* The rest is a reserve, since sanitizers enlarge frames. */
    size_t usable = *(size_t *)arg / (SCALE > 1 ? 4 : 2);
    CHECK(dig(usable, 3) > 0);
    return 0;
}

static int has_the_stack_it_asked_for(void *arg)
{
    (void)arg;
    _Atomic int calls = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    static const size_t wrong[] = { 1, 4096, 16 * 1024 - 1, ((size_t)1 << 30) + 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_IS(-EINVAL, leat_go_sized(s, wrong[i], count_up, &calls));
        CHECK_IS(-EINVAL, leat_go_named(s, count_up, &calls, "x", wrong[i]));
    }
    WAIT_UNTIL(leat_scope_tasks(s) == 0);
    static size_t sizes[] = { 16 * 1024, 16 * 1024 + 1,    64 * 1024, 100 * 1000,
                              1 << 20,   16 * 1024 * 1024, 64 * 1024 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        /* The sanitizers' frames do not fit into the smallest stacks. */
        if (SCALE == 1 || sizes[i] >= 64 * 1024)
            CHECK_IS(0, leat_go_sized(s, sizes[i], dig_deep, &sizes[i]));
        CHECK_IS(0, leat_go_sized(s, sizes[i], count_up, &calls));
    }
    CHECK_IS(0, leat_go_sized(s, 0, count_up, &calls));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(8, calls);
    return 0;
}
ON_WORKERS(has_the_stack_it_asked_for);

static void has_the_default_stack(void **state)
{
    (void)state;
    static size_t sizes[] = { 64 * 1024, 200 * 1000, 4 * 1024 * 1024 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        CHECK_IS(0, leat_main_with(dig_deep, &sizes[i], &(leat_options){ .stack_size = sizes[i] }));
}

static int look_at_name(void *arg)
{
    const char *name = leat_task_name();
    if (arg)
        CHECK(name && strcmp(name, arg) == 0);
    else
        CHECK(!name);
    leat_yield();
    CHECK(leat_task_name() == name);
    return 0;
}

static int look_at_made_name(void *arg)
{
    const char *name = leat_task_name();
    CHECK(name && strncmp(name, "look_at_made_name (", 19) == 0);
    CHECK(strstr(name, "test_task.c:"));
    (void)arg;
    return 0;
}

static int has_its_name(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_named(s, look_at_name, "walker", "walker", 0));
    CHECK_IS(0, leat_go_named(s, look_at_name, "", "", 128 * 1024));
    CHECK_IS(0, leat_go_named(s, look_at_name, NULL, NULL, 0));
    CHECK_IS(0, leat_go_blocking_named(s, look_at_name, "reader", "reader"));
    CHECK_IS(0, leat_go_blocking_named(s, look_at_name, NULL, NULL));
    CHECK_IS(0, leat_go(s, look_at_made_name, NULL));
    CHECK_IS(0, leat_go_sized(s, 128 * 1024, look_at_made_name, NULL));
    CHECK_IS(0, leat_go_blocking(s, look_at_made_name, NULL));
    CHECK(strcmp(LEAT_HERE(abc), "abc (" __FILE__ ":" LEAT_STR(__LINE__) ")") == 0);
    struct foreign foreign;
    foreign_start(&foreign, look_at_name, NULL);
    CHECK_IS(0, foreign_join(&foreign));
    return leat_scope_close(s);
}
ON_WORKERS(has_its_name);

/* Waits in each of the possible ways. */
struct hub {
    leat_chan *there, *back, *full;
    _Atomic int next, finished;
};

static void wait_somehow(struct hub *hub, int how)
{
    int x = how;
    leat_case cases[] = { LEAT_RECV(hub->back, &x), LEAT_RECV(NULL, NULL) };
    switch (how % 6) {
    case 0: leat_yield(); break;
    case 1: CHECK_IS(0, leat_sleep(LEAT_US)); break;
    case 2: CHECK_IS(0, leat_send(hub->there, &x)); break;
    case 3: CHECK_IS(0, leat_select(cases, 2, LEAT_NEVER)); break;
    case 4: CHECK_IS(0, leat_recv(hub->back, &x)); break;
    default: CHECK_IS(-ETIMEDOUT, leat_send_until(hub->full, &x, leat_after(5 * LEAT_US)));
    }
}

/* The tasks' partner. It runs on another thread, so that wake-ups come from there, too. */
static int serve(void *arg)
{
    struct hub *hub = arg;
    int x = 0;
    for (;;) {
        leat_case cases[] = { LEAT_RECV(hub->there, &x), LEAT_SEND(hub->back, &x) };
        int n = leat_select(cases, 2, LEAT_NEVER);
        CHECK(n == 0 || n == 1);
        if (cases[n].status)
            return 0;
    }
}

enum { GUESTS = 12, WAITS = 240 / SCALE };

static int run_guests_of(leat_fn *guest, bool pinned)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct hub hub = { leat_chan_of(s, int, 0), leat_chan_of(s, int, 0), leat_chan_of(s, int, 1), 0,
                       0 };
    CHECK_IS(0, leat_send(hub.full, &(int){ 0 }));
    CHECK_IS(0, leat_go_blocking(s, serve, &hub));
    CHECK_IS(0, leat_go(s, serve, &hub));
    for (int i = 0; i < GUESTS; i++)
        CHECK_IS(0, pinned ? leat_go_pinned(s, guest, &hub) : leat_go(s, guest, &hub));
    WAIT_UNTIL(hub.finished == GUESTS);
    CHECK_IS(0, leat_close(hub.there));
    CHECK_IS(0, leat_close(hub.back));
    return leat_scope_close(s);
}

static int run_guests(leat_fn *guest)
{
    return run_guests_of(guest, false);
}

static int keep_errno(void *arg)
{
    struct hub *hub = arg;
    int mine = 1000 + atomic_fetch_add(&hub->next, 1);
    errno = mine;
    for (int i = 0; i < WAITS; i++) {
        wait_somehow(hub, mine + i);
        CHECK_IS(mine, errno);
    }
    atomic_fetch_add(&hub->finished, 1);
    return 0;
}

static int errno_survives(void *arg)
{
    (void)arg;
    return run_guests(keep_errno);
}
ON_WORKERS(errno_survives);

static int keep_thread(void *arg)
{
    struct hub *hub = arg;
    int number = atomic_fetch_add(&hub->next, 1);
    pid_t tid = gettid();
    pthread_t self = pthread_self();
    for (int i = 0; i < WAITS; i++) {
        wait_somehow(hub, number + i);
        CHECK_IS(tid, gettid());
        CHECK(pthread_equal(self, pthread_self()));
    }
    CHECK_IS(0, leat_blocking(count_up, &hub->next));
    CHECK_IS(tid, gettid());
    atomic_fetch_add(&hub->finished, 1);
    return 0;
}

static int pinned_tasks_stay_on_their_thread(void *arg)
{
    (void)arg;
    return run_guests_of(keep_thread, true);
}
ON_WORKERS(pinned_tasks_stay_on_their_thread);

/* More values live across each switch than a call preserves registers. */
#if defined(__x86_64__)
#define KEEP_DOUBLES(a, b, c, d) __asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d))
#else
#define KEEP_DOUBLES(a, b, c, d) __asm__ volatile("" : "+w"(a), "+w"(b), "+w"(c), "+w"(d))
#endif
#define KEEP_LONGS(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))

static int keep_registers(void *arg)
{
    struct hub *hub = arg;
    long n = atomic_fetch_add(&hub->next, 1);
    long a = n, b = n + 1, c = n + 2, d = n + 3, e = n + 4, f = n + 5, g = n + 6, h = n + 7;
    double p = (double)n, q = p + 1, r = p + 2, s = p + 3, t = p + 4, u = p + 5, v = p + 6,
           w = p + 7;
    for (int i = 0; i < WAITS; i++) {
        wait_somehow(hub, (int)n + i);
        a += 1, b += 2, c += 3, d += 4, e += 5, f += 6, g += 7, h += 8;
        p += 1, q += 2, r += 3, s += 4, t += 5, u += 6, v += 7, w += 8;
        KEEP_LONGS(a, b, c, d);
        KEEP_LONGS(e, f, g, h);
        KEEP_DOUBLES(p, q, r, s);
        KEEP_DOUBLES(t, u, v, w);
    }
    long m = WAITS;
    CHECK_IS(n + m, a);
    CHECK_IS(n + 1 + 2 * m, b);
    CHECK_IS(n + 2 + 3 * m, c);
    CHECK_IS(n + 3 + 4 * m, d);
    CHECK_IS(n + 4 + 5 * m, e);
    CHECK_IS(n + 5 + 6 * m, f);
    CHECK_IS(n + 6 + 7 * m, g);
    CHECK_IS(n + 7 + 8 * m, h);
    CHECK((long)p == a && (long)q == b && (long)r == c && (long)s == d);
    CHECK((long)t == e && (long)u == f && (long)v == g && (long)w == h);
    atomic_fetch_add(&hub->finished, 1);
    return 0;
}

static int registers_survive(void *arg)
{
    (void)arg;
    return run_guests(keep_registers);
}
ON_WORKERS(registers_survive);

/* Names the preserved registers, with nothing but the switch between writing and checking. */
static int keep_named_registers(void *arg)
{
    struct hub *hub = arg;
    uint64_t n = (uint64_t)atomic_fetch_add(&hub->next, 1) * 0x0101010101010101u;
    for (int i = 0; i < WAITS; i++) {
        uint64_t wrong = n;
#if defined(__x86_64__)
        /* Not rbp, which the compiler may need. */
        register uint64_t rbx __asm__("rbx") = n + 1;
        register uint64_t r12 __asm__("r12") = n + 2;
        register uint64_t r13 __asm__("r13") = n + 3;
        register uint64_t r14 __asm__("r14") = n + 4;
        register uint64_t r15 __asm__("r15") = n + 5;
        __asm__ volatile("" : "+r"(rbx), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15));
        leat_yield();
        __asm__ volatile("" : "+r"(rbx), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15));
        wrong =
            (rbx ^ (n + 1)) | (r12 ^ (n + 2)) | (r13 ^ (n + 3)) | (r14 ^ (n + 4)) | (r15 ^ (n + 5));
#elif defined(__aarch64__)
        register double d8 __asm__("d8") = (double)n + 8, d9 __asm__("d9") = (double)n + 9;
        register double d10 __asm__("d10") = (double)n + 10, d11 __asm__("d11") = (double)n + 11;
        register double d12 __asm__("d12") = (double)n + 12, d13 __asm__("d13") = (double)n + 13;
        register double d14 __asm__("d14") = (double)n + 14, d15 __asm__("d15") = (double)n + 15;
        __asm__ volatile("" : "+w"(d8), "+w"(d9), "+w"(d10), "+w"(d11));
        __asm__ volatile("" : "+w"(d12), "+w"(d13), "+w"(d14), "+w"(d15));
        leat_yield();
        __asm__ volatile("" : "+w"(d8), "+w"(d9), "+w"(d10), "+w"(d11));
        __asm__ volatile("" : "+w"(d12), "+w"(d13), "+w"(d14), "+w"(d15));
        wrong = !(d8 == (double)n + 8 && d9 == (double)n + 9 && d10 == (double)n + 10 &&
                  d11 == (double)n + 11 && d12 == (double)n + 12 && d13 == (double)n + 13 &&
                  d14 == (double)n + 14 && d15 == (double)n + 15);
#endif
        CHECK_IS(0, wrong);
    }
    atomic_fetch_add(&hub->finished, 1);
    return 0;
}

static int named_registers_survive(void *arg)
{
    (void)arg;
    return run_guests(keep_named_registers);
}
ON_WORKERS(named_registers_survive);

/* Short tasks of two stack sizes come and go, so that stacks are reused. */
static int short_lived(void *arg)
{
    char text[512];
    memset(text, 7, sizeof text);
    if (*(int *)arg % 3 == 0)
        leat_yield();
    for (size_t i = 0; i < sizeof text; i++)
        CHECK(text[i] == 7);
    return 0;
}

static int stacks_are_reused(void *arg)
{
    (void)arg;
    static int numbers[3] = { 0, 1, 2 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 30000 / SCALE; i++) {
        CHECK_IS(0, leat_go_sized(s, i % 50 ? 0 : 128 * 1024, short_lived, &numbers[i % 3]));
        if (i % 100 == 0)
            WAIT_UNTIL(leat_scope_tasks(s) < 20);
    }
    return leat_scope_close(s);
}
ON_WORKERS(stacks_are_reused);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(has_the_stack_it_asked_for),
        cmocka_unit_test(has_the_default_stack),
        TESTS_ON_WORKERS(has_its_name),
        TESTS_ON_WORKERS(errno_survives),
        TESTS_ON_WORKERS(pinned_tasks_stay_on_their_thread),
        TESTS_ON_WORKERS(registers_survive),
        TESTS_ON_WORKERS(named_registers_survive),
        TESTS_ON_WORKERS(stacks_are_reused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
