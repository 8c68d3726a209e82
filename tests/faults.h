/* faults.h: each request for memory or a thread fails once, in turn. This needs the harsh build. */
#pragma once

#include "base/fault.h"
#include "support.h"

static _Atomic int failures; /* failures that calls returned */

/* True for 0. Counts -ENOMEM, and accepts no other result. */
__attribute__((unused)) static bool worked(int result)
{
    CHECK(result == 0 || result == -ENOMEM);
    if (result)
        atomic_fetch_add(&failures, 1);
    return result == 0;
}

__attribute__((unused)) static bool made(const void *thing)
{
    if (!thing)
        atomic_fetch_add(&failures, 1);
    return thing != NULL;
}

#ifdef LEAT_HARSH
/* Runs the body on two workers, with request n failing. True if it made n requests. */
static inline bool run_with_failure(leat_fn *body, long n)
{
    atomic_store(&failures, 0);
    lt_fault_arm(n);
    int result = leat_main_with(body, NULL, &(leat_options){ .workers = 2 });
    bool struck = lt_fault_struck();
    lt_fault_arm(0);
    CHECK(result == 0 || (result == -ENOMEM && struck));
    CHECK(struck || failures == 0);
    return struck;
}

/* The body makes `least` requests or more. */
static inline void fail_each_request(leat_fn *body, long least)
{
    long n = 1;
    for (; run_with_failure(body, n); n++)
        snprintf(check_note, sizeof check_note, "after failing request %ld", n);
    CHECK(n > least);
}
#else
static inline void fail_each_request(leat_fn *body, long least)
{
    (void)body;
    (void)least;
    skip();
}
#endif
