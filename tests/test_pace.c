/* test_pace.c: how many readers disks of several kinds get, computed without a disk. */
#include "pace.h"
#include "support.h"

enum { MIB = 1 << 20, CHUNK = 64 * 1024, DISKS = 8 };

/* Megabytes per second of 1, 2, 4, and 8 or more readers together. */
static const struct disk {
    const char *name;
    double rate[4];
} disks[DISKS] = {
    { "turns", { 150, 25, 15, 10 } },
    { "turns, and reads far ahead", { 150, 140, 120, 100 } },
    { "is two that turn", { 150, 300, 60, 30 } },
    { "is virtual", { 430, 950, 960, 960 } },
    { "is virtual and slow", { 60, 120, 240, 480 } },
    { "is bounded", { 120, 120, 120, 120 } },
    { "is quick", { 2000, 4000, 6000, 7000 } },
    { "is quicker than its reader", { 800, 1600, 3200, 6400 } },
};

static double rate_of(const struct disk *d, unsigned readers)
{
    return d->rate[readers >= 8      ? 3
                   : readers >= 4    ? 2
                   : readers - 1 < 2 ? readers - 1
                                     : 1] *
           1e6 / 1e9;
}

/* A factor from 1 - spread to 1 + spread. */
static double noise(uint32_t *seed, double spread)
{
    *seed = *seed * 1664525 + 1013904223;
    return 1 + spread * (2.0 * (*seed >> 8) / (1 << 24) - 1);
}

/* The nanoseconds that `jobs` readers need for `bytes` bytes in `files` equal files. */
static double take(const struct disk *d, uint64_t bytes, unsigned files, unsigned jobs,
                   double spread, uint32_t seed)
{
    struct pace p;
    pace_open(&p);
    double now = 1e9, slot = 0, factor = 1;
    uint64_t each = bytes / files;
    for (uint64_t done = 0; done < bytes; done += CHUNK) {
        unsigned left = files - (unsigned)(done / each), wanted = left < jobs ? left : jobs;
        unsigned busy = wanted < p.limit ? wanted : p.limit;
        if (now >= slot) {
            factor = noise(&seed, spread);
            slot = now + 5e6;
        }
        now += CHUNK / rate_of(d, busy) * factor;
        pace_read(&p, (int64_t)now, CHUNK, busy, wanted - busy);
    }
    return now - 1e9;
}

/* Takes at most 1.1 times the time of one reader or two, whichever is faster. */
static void loses_a_tenth_at_most(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DISKS; i++) {
        const struct disk *d = &disks[i];
        uint64_t bytes = 4096ull * MIB;
        double one = (double)bytes / rate_of(d, 1), two = (double)bytes / rate_of(d, 2);
        double better = one < two ? one : two;
        for (unsigned jobs = 2; jobs <= 16; jobs *= 2) {
            double took = take(d, bytes, 64, jobs, 0, 1);
            if (took > 1.1 * better)
                fail_msg("a disk that %s, %u jobs: %.2f s, not %.2f", d->name, jobs, took / 1e9,
                         better / 1e9);
        }
    }
}

static void loses_a_fifth_at_most_at_uneven_rates(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DISKS; i++) {
        const struct disk *d = &disks[i];
        uint64_t bytes = 4096ull * MIB;
        double one = (double)bytes / rate_of(d, 1), two = (double)bytes / rate_of(d, 2);
        double better = one < two ? one : two;
        for (uint32_t seed = 1; seed <= 20; seed++) {
            double took = take(d, bytes, 64, 2, 0.4, seed);
            if (took > 1.2 * better)
                fail_msg("a disk that %s, seed %u: %.2f s, not %.2f", d->name, seed, took / 1e9,
                         better / 1e9);
        }
    }
}

/* With four files of 1 GiB, the second reader starts before the first file ends. */
static void decides_within_the_first_file(void **state)
{
    (void)state;
    struct pace p;
    pace_open(&p);
    double now = 0;
    uint64_t done = 0;
    for (; done < 1024ull * MIB && p.limit == 1; done += CHUNK) {
        now += CHUNK / rate_of(&disks[3], 1);
        pace_read(&p, (int64_t)now, CHUNK, 1, 1);
    }
    assert_true(p.limit > 1);
    assert_true(done < 64 * MIB);
}

/* On a disk that cannot be rotational, a second reader stays if a trial does not show a loss. */
static void lets_readers_stay_on_a_fast_disk(void **state)
{
    (void)state;
    const struct disk fast = { "is fast", { 680, 690, 690, 690 } },
                      slow = { "is slow", { 150, 155, 155, 155 } };
    for (int i = 0; i < 2; i++) {
        struct pace p;
        pace_open(&p);
        double now = 0;
        for (uint64_t done = 0; done < 1024ull * MIB; done += CHUNK) {
            unsigned busy = p.limit < 2 ? p.limit : 2;
            now += CHUNK / rate_of(i ? &slow : &fast, busy);
            pace_read(&p, (int64_t)now, CHUNK, busy, 2 - busy);
        }
        unsigned limit = p.before ? p.before : p.limit;
        assert_true(i ? limit == 1 : limit > 1);
    }
}

static void adds_no_reader_when_none_waits(void **state)
{
    (void)state;
    struct pace p;
    pace_open(&p);
    for (int64_t now = 0; now < 10 * LEAT_S; now += LEAT_MS) {
        pace_read(&p, now, MIB, 1, 0);
        assert_int_equal(1, p.limit);
    }
}

/* A decision is checked again: the disk may get other work. */
static void notices_a_disk_that_changes(void **state)
{
    (void)state;
    struct pace p;
    pace_open(&p);
    double now = 0;
    for (uint64_t done = 0; done < 2048ull * MIB; done += CHUNK) {
        const struct disk *d = &disks[done < 1024ull * MIB ? 3 : 0];
        unsigned busy = p.limit < 2 ? p.limit : 2;
        now += CHUNK / rate_of(d, busy);
        pace_read(&p, (int64_t)now, CHUNK, busy, 2 - busy);
    }
    assert_true(p.limit == 1 || p.before == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loses_a_tenth_at_most),
        cmocka_unit_test(loses_a_fifth_at_most_at_uneven_rates),
        cmocka_unit_test(decides_within_the_first_file),
        cmocka_unit_test(lets_readers_stay_on_a_fast_disk),
        cmocka_unit_test(adds_no_reader_when_none_waits),
        cmocka_unit_test(notices_a_disk_that_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
