/* test_wal.c: the write-ahead log of examples/wal: after any crash it has what it acknowledged, and
 * each other append returned an error. */
#include "wal_disk.h"

#include <unistd.h>

/* ---- parties that append ---- */

static struct wal wal;
static int status_of[RECORDS];   /* 1: not tried */
static size_t acked_at[RECORDS]; /* size of the durable part by then */
static _Atomic uint32_t next_id;
static uint32_t last_id, cancel_at; /* cancel_at: this id cancels all; 0: none */

static int append_id(uint32_t id)
{
    unsigned char payload[PAYLOAD];
    int status = wal_append(&wal, payload, make_payload(payload, id));
    memset(payload, 0xff, sizeof payload);
    return status;
}

static int append_until_done(void *arg)
{
    for (uint32_t id; (id = atomic_fetch_add(&next_id, 1)) <= last_id;) {
        if (id == cancel_at)
            CHECK_IS(0, leat_scope_cancel(arg));
        status_of[id] = append_id(id);
        if (status_of[id] == 0) {
            acked_at[id] = atomic_load(&disk.synced);
            atomic_store(&acked[id], true);
        }
        if (status_of[id] == -ECANCELED)
            return 0;
    }
    return 0;
}

/* Opens a log on the disk as it is. */
static void start(leat_scope *scope)
{
    for (int i = 0; i < RECORDS; i++) {
        status_of[i] = 1;
        atomic_store(&acked[i], false);
    }
    CHECK_IS(0, wal_open_file(&wal, scope, -1, &disk_calls));
}

/* `parties` parties append the records from 1 to `last`. */
static void storm(int parties, uint32_t last)
{
    atomic_store(&next_id, 1);
    last_id = last;
    struct crew crew;
    crew_open(&crew);
    for (int i = 0; i < parties; i++)
        crew_go(&crew, kind_of(i), append_until_done, crew.scope);
    crew_close(&crew);
}

static void append_one(uint32_t id)
{
    status_of[id] = append_id(id);
    CHECK_IS(0, status_of[id]);
    atomic_store(&acked[id], true);
}

/* No record in the log was refused, and all acknowledged records are in it. The file holds nothing
 * else, and all of it is durable. */
static struct reading check_log(void)
{
    off_t end;
    set_image(disk.bytes, disk.size);
    const struct reading reading = image_read(&end);
    CHECK_IS(disk.size, end);
    CHECK_IS(disk.size, atomic_load(&disk.synced));
    CHECK(memcmp(disk.bytes, disk.durable, disk.size) == 0);
    check_has_acked(&reading);
    for (int i = 0; i < reading.n; i++)
        CHECK(status_of[reading.ids[i]] == 0 || status_of[reading.ids[i]] == -ECANCELED);
    return reading;
}

/* Reboots from the image: the log continues after the readable part. */
static void check_goes_on(const struct reading *before)
{
    disk_reboot();
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    CHECK_IS(0, wal_open_file(&wal, s, -1, &disk_calls));
    CHECK_IS(0, append_id(RECORDS - 1));
    CHECK_IS(0, leat_scope_close(s));
    CHECK_IS(disk.synced, disk.size);
    set_image(disk.durable, disk.size);
    off_t end;
    const struct reading after = image_read(&end);
    CHECK_IS(disk.size, end);
    CHECK_IS(before->n + 1, after.n);
    CHECK(begins_with(&after, before));
    CHECK_IS(RECORDS - 1, after.ids[after.n - 1]);
}

/* ---- cuts ---- */

/* How many records end before `end`. */
static int whole_before(const struct reading *all, size_t end)
{
    int n = 0;
    for (size_t at = 0; n < all->n && (at += frame_size_of(all->ids[n])) <= end;)
        n++;
    return n;
}

/* The bytes after the cut: none, garbage, or zeros instead of the rest. */
enum ending { CUT, GARBAGE, ZEROS, ENDINGS };

/* Returns how much of the file is unchanged. */
static size_t cut_image(const struct disk *from, size_t cut, enum ending ending)
{
    memset(&image, 0, sizeof image);
    memcpy(image.bytes, from->bytes, cut);
    image.size = ending == ZEROS ? from->size : cut;
    if (ending == GARBAGE) {
        image.size += 1 + below(&disk.chance, 200);
        fill(image.bytes + cut, image.size - cut);
    }
    while (cut < image.size && cut < from->size && image.bytes[cut] == from->bytes[cut])
        cut++;
    return cut;
}

static int loses_nothing_at_any_cut(void *arg)
{
    (void)arg;
    static struct disk whole;
    enum { N = 25 };
    disk_reset(seed_of_test());
    disk.crashing = disk.tears = true;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    start(s);
    storm(5, N);
    CHECK_IS(0, leat_scope_close(s));
    for (uint32_t id = 1; id <= N; id++)
        CHECK_IS(0, status_of[id]);
    const struct reading all = check_log();
    CHECK_IS(N, all.n);
    size_t end = 0;
    for (int i = 0; i < N; i++)
        CHECK(acked_at[all.ids[i]] >= (end += frame_size_of(all.ids[i])));
    whole = disk;
    const unsigned step = IN_SIM ? 800 : SCALE > 1 ? 30 : 1; /* each cut, or some of them */
    for (size_t cut = below(&disk.chance, step); cut <= whole.size;
         cut += 1 + below(&disk.chance, step)) {
        for (enum ending ending = 0; ending < ENDINGS; ending++) {
            size_t intact = cut_image(&whole, cut, ending);
            const struct reading reading = image_read(NULL);
            CHECK_IS(whole_before(&all, intact), reading.n);
            CHECK(begins_with(&all, &reading));
            for (uint32_t id = 1; id <= N; id++)
                CHECK(acked_at[id] > cut || has(&reading, id));
            if (IN_SIM || cut % 32 < 2)
                check_goes_on(&reading);
        }
    }
    return 0;
}
ON_WORKERS(loses_nothing_at_any_cut);

/* ---- faults ---- */

/* With each size of a full disk: the log has what had room, and later continues. */
static int survives_a_full_disk(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    enum { N = 20, STEP = IN_SIM ? 1200 : UNDER_TSAN ? 200 : 32 };
    for (size_t capacity = below(&chance, STEP); capacity < 1200;
         capacity += 1 + below(&chance, STEP)) {
        disk_reset(chance);
        disk.crashing = true;
        disk.capacity = capacity;
        disk.tears = below(&chance, 2);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        start(s);
        storm(5, N);
        for (uint32_t id = 1; id <= N; id++)
            CHECK(status_of[id] == 0 || status_of[id] == -ENOSPC);
        const struct reading reading = check_log();
        CHECK(reading.n < N);
        disk.capacity = ROOM;
        append_one(0);
        CHECK_IS(reading.n + 1, check_log().n);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(survives_a_full_disk);

/* Three records share a batch, with every size of the disk. Then comes a record that ends where the
 * whole records in the others' payloads begin: the reader must not find these. */
static int divides_a_batch(void *arg)
{
    (void)arg;
    enum { N = 3 };
    uint64_t chance = seed_of_test();
    for (size_t capacity = 0, total = 1; capacity <= total; capacity += IN_SIM ? 16 : 1) {
        disk_reset(chance++);
        disk.crashing = true;
        disk.capacity = capacity;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        start(s);
        leat_ticket tickets[N];
        size_t ends[N];
        total = 0;
        for (uint32_t id = 1; id <= N; id++) {
            unsigned char payload[PAYLOAD], frame[2 * PAYLOAD];
            size_t n = make_payload(payload, id);
            wal_frame(frame, payload, n);
            CHECK_IS(0, leat_batch_put(wal.batcher, frame, wal_frame_size(n) / WAL_CELL,
                                       &tickets[id - 1]));
            ends[id - 1] = total += wal_frame_size(n);
        }
        for (uint32_t id = 1; id <= N; id++) {
            status_of[id] = leat_batch_get(&tickets[id - 1], NULL, NULL, LEAT_NEVER);
            CHECK_IS(ends[id - 1] <= capacity ? 0 : -ENOSPC, status_of[id]);
            atomic_store(&acked[id], status_of[id] == 0);
        }
        leat_batcher_counts counts;
        CHECK_IS(0, leat_batcher_count(wal.batcher, &counts));
        CHECK_IS(1, counts.batches);
        int n = check_log().n;
        disk.capacity = ROOM;
        append_one(0);
        CHECK_IS(n + 1, check_log().n);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(divides_a_batch);

/* A broken log returns one error, and does not touch the disk any more. Opened again, with or
 * without a crash, it has what was acknowledged, and acknowledges no record after a hole. */
static void check_broken(leat_scope *scope)
{
    int calls = disk.calls;
    CHECK_IS(-EIO, append_id(0));
    CHECK_IS(calls, disk.calls);
    try_a_crash();
    for (int i = 0; i < 2; i++) {
        CHECK_IS(0, wal_open_file(&wal, scope, -1, &disk_calls));
        append_one((uint32_t)(RECORDS - 1 - i));
        set_image(disk.durable, disk.synced);
        const struct reading reading = image_read(NULL);
        check_has_acked(&reading);
        image_after_crash();
        disk_reboot();
    }
}

static int refuses_after_a_failed_sync(void *arg)
{
    (void)arg;
    enum { N = 20 };
    uint64_t chance = seed_of_test();
    for (int k = 1; k <= N; k += 1 + (int)below(&chance, IN_SIM ? N : 3)) {
        disk_reset(chance);
        disk.crashing = true;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        start(s);
        disk.sync_fails = k;
        storm(5, N);
        if (disk.sync_fails) { /* there were fewer syncs */
            CHECK_IS(N, check_log().n);
        } else {
            for (uint32_t id = 1; id <= N; id++)
                CHECK(status_of[id] == 0 || status_of[id] == -EIO);
            check_broken(s);
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(refuses_after_a_failed_sync);

/* Half a record that cannot be cut off breaks the log, too. */
static int refuses_after_a_failed_cut(void *arg)
{
    (void)arg;
    disk_reset(seed_of_test());
    disk.crashing = true;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    start(s);
    disk.cut_fails = 1;
    disk.capacity = 700;
    storm(5, 20);
    CHECK_IS(0, disk.cut_fails);
    for (uint32_t id = 1; id <= 20; id++)
        CHECK(status_of[id] == 0 || status_of[id] == -EIO);
    disk.capacity = ROOM;
    check_broken(s);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(refuses_after_a_failed_cut);

/* Any faults may happen, and a party cancels all. */
static int survives_anything(void *arg)
{
    (void)arg;
    enum { N = 40 };
    uint64_t chance = seed_of_test();
    for (int round = 0; round < (IN_SIM ? 1 : 100 / SCALE); round++) {
        disk_reset(chance);
        disk.crashing = true;
        disk.tears = below(&chance, 2);
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        start(s);
        cancel_at = below(&chance, N);
        if (below(&chance, 2))
            disk.capacity = below(&chance, 3000);
        disk.write_fails = (int)below(&chance, 20);
        if (below(&chance, 2)) /* not both: the log's comment says why */
            disk.sync_fails = (int)below(&chance, 40);
        else
            disk.cut_fails = (int)below(&chance, 4);
        storm(1 + (int)below(&chance, 9), N);
        cancel_at = 0;
        disk.capacity = ROOM;
        disk.write_fails = disk.cut_fails = disk.sync_fails = 0;
        try_a_crash();
        if (wal.broken) {
            check_broken(s);
        } else {
            check_log();
            append_one(0);
            check_log();
        }
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(survives_anything);

/* A read error does not mean that the log ends. */
static int cuts_nothing_it_cannot_read(void *arg)
{
    (void)arg;
    disk_reset(seed_of_test());
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    start(s);
    append_one(1);
    int calls = disk.calls;
    disk.read_fails = true;
    CHECK_IS(-EIO, wal_open_file(&wal, s, -1, &disk_calls));
    CHECK_IS(calls, disk.calls);
    disk.read_fails = false;
    disk.sync_fails = 1;
    CHECK_IS(-EIO, wal_open_file(&wal, s, -1, &disk_calls));
    CHECK_IS(0, wal_open_file(&wal, s, -1, &disk_calls));
    CHECK_IS(1, check_log().n);
    CHECK_IS(0, leat_scope_close(s));
    return 0;
}
ON_WORKERS(cuts_nothing_it_cannot_read);

/* ---- a real file ---- */

static const size_t sizes[] = { 0, 1, 15, 16, 17, 1000, WAL_MOST, 2 };
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static int compare_size(void *arg, const void *payload, size_t n)
{
    int *seen = arg;
    static const unsigned char zeros[WAL_MOST];
    CHECK_IS(sizes[*seen % SIZES], n);
    CHECK(memcmp(zeros, payload, n) == 0);
    return ++*seen == 2 * SIZES - 1; /* stops before the last record */
}

static int lives_in_a_file(void *arg)
{
    const char *path = arg;
    static const unsigned char zeros[WAL_MOST + 1];
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct wal log, other;
    for (int round = 0; round < 2; round++) {
        CHECK_IS(0, wal_open(&log, s, path));
        CHECK_IS(-EBUSY, wal_open(&other, s, path));
        for (int i = 0; i < SIZES; i++)
            CHECK_IS(0, wal_append(&log, zeros, sizes[i]));
        CHECK_IS(-EINVAL, wal_append(&log, zeros, WAL_MOST + 1));
        CHECK_IS(5, pwrite(log.fd, "half…", 5, log.end)); /* the next round cuts it off */
        wal_close(&log);
        CHECK_IS(-EPIPE, wal_append(&log, zeros, 1));
    }
    CHECK_IS(0, wal_open(&log, s, path));
    CHECK_IS(log.end, lseek(log.fd, 0, SEEK_END));
    off_t end;
    int seen = 0;
    CHECK_IS(1, wal_each(log.fd, &wal_system, compare_size, &seen, &end));
    CHECK_IS(log.end - WAL_CELL - 16, end);
    wal_close(&log);
    CHECK_IS(-ENOENT, wal_open(&log, s, "/nowhere/at/all"));
    return leat_scope_close(s);
}

static void works_on_a_real_file(void **state)
{
    (void)state;
    char path[] = "/tmp/test_wal-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(0, leat_main(lives_in_a_file, path));
    assert_int_equal(0, unlink(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(loses_nothing_at_any_cut),
        TESTS_ON_WORKERS(survives_a_full_disk),
        TESTS_ON_WORKERS(divides_a_batch),
        TESTS_ON_WORKERS(refuses_after_a_failed_sync),
        TESTS_ON_WORKERS(refuses_after_a_failed_cut),
        TESTS_ON_WORKERS(survives_anything),
        TESTS_ON_WORKERS(cuts_nothing_it_cannot_read),
        cmocka_unit_test(works_on_a_real_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
