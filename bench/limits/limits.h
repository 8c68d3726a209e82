/* limits.h: what the machine needs for the things everything else is made of. */
#pragma once

#include "../common/bench.h"

bench_fn limit_switch;
bench_fn limit_atomic_add, limit_cache_line, limit_futex_one_core, limit_futex_two_cores;
bench_fn limit_page, limit_pages_one_core, limit_pages_two_cores, limit_far_stack, limit_guard,
    limit_clock;
bench_once_fn limit_late_sleeper, limit_late_partner;

/* Binds the calling thread. */
void limits_stay_on(unsigned core);
