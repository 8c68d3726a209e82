#include "limits.h"

static const struct bench_row rows[] = {
#ifdef __x86_64__
    { "switch", 2, limit_switch, NULL, 0 },
#endif
    { "atomic_add", 1, limit_atomic_add, NULL, 0 },
    { "cache_line", 2, limit_cache_line, NULL, 0 },
    { "futex_two_cores", 1, limit_futex_two_cores, NULL, 0 },
    { "futex_one_core", 1, limit_futex_one_core, NULL, 0 },
    { "page", 4096, limit_page, NULL, 0 },
    { "pages_one_core", 65536, limit_pages_one_core, NULL, 0 },
    { "pages_two_cores", 65536, limit_pages_two_cores, NULL, 0 },
    { "far_stack", 65536, limit_far_stack, NULL, 0 },
    { "guard", 4096, limit_guard, NULL, 0 },
    { "clock", 1, limit_clock, NULL, 0 },
    { "late_sleeper", 1, NULL, limit_late_sleeper, 0 },
    { "late_partner", 1, NULL, limit_late_partner, 0 },
    { NULL, 0, NULL, NULL, 0 },
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, rows, bench_run);
}
