/* test_within.c: at most as many tasks run as there are permits. */
#include "support.h"

struct hall {
    leat_semaphore *permits;
    leat_chan *gate;
    _Atomic int inside, most, ran;
};

static int visit(void *arg)
{
    struct hall *hall = arg;
    int inside = atomic_fetch_add(&hall->inside, 1) + 1, most = atomic_load(&hall->most);
    while (inside > most && !atomic_compare_exchange_weak(&hall->most, &most, inside)) {
    }
    int status = leat_recv(hall->gate, NULL);
    atomic_fetch_add(&hall->inside, -1);
    atomic_fetch_add(&hall->ran, 1);
    return status == -EPIPE || status == 0 ? 0 : status;
}

static int open_gate(void *arg)
{
    struct hall *hall = arg;
    for (int i = 0; i < 20; i++)
        CHECK_IS(0, leat_send(hall->gate, NULL));
    return 0;
}

static int keeps_the_limit(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct hall hall = { .permits = leat_semaphore_open(s, 3), .gate = leat_chan_make(s, 0, 0) };
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    for (int i = 0; i < 3; i++)
        CHECK_IS(0, leat_go_within(inner, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(-EAGAIN, leat_go_within(inner, hall.permits, LEAT_NOW, visit, &hall));
    CHECK_IS(-ETIMEDOUT, leat_go_within(inner, hall.permits, leat_after(1), visit, &hall));
    CHECK_IS(0, leat_go(inner, open_gate, &hall));
    for (int i = 0; i < 17; i++)
        CHECK_IS(0, leat_go_within(inner, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(20, hall.ran);
    CHECK(hall.most <= 3);
    CHECK_IS(3, leat_permits(hall.permits));
    return leat_scope_close(s);
}
ON_WORKERS(keeps_the_limit);

/* A task that fails or is cancelled gives its permit back. */
static int gives_permits_back(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct hall hall = { .permits = leat_semaphore_open(s, 2), .gate = leat_chan_make(s, 0, 0) };
    leat_scope *inner = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, leat_go_within(inner, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(0, leat_go_within(inner, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(0, leat_scope_cancel(inner));
    CHECK_IS(-ECANCELED, leat_go_within(inner, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(0, leat_scope_close(inner));
    CHECK_IS(2, hall.ran);
    CHECK_IS(2, leat_permits(hall.permits));
    CHECK_IS(-EINVAL, leat_go_within(NULL, hall.permits, LEAT_NEVER, visit, &hall));
    CHECK_IS(-EINVAL, leat_go_within(s, NULL, LEAT_NEVER, visit, &hall));
    CHECK_IS(-EINVAL, leat_go_within(s, hall.permits, LEAT_NEVER, NULL, &hall));
    CHECK_IS(-EINVAL, leat_go_within(s, hall.permits, -1, visit, &hall));
    CHECK_IS(2, leat_permits(hall.permits));
    return leat_scope_close(s);
}
ON_WORKERS(gives_permits_back);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(keeps_the_limit),
        TESTS_ON_WORKERS(gives_permits_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
