/* wal_disk.h: for the tests of the write-ahead log: records that can be distinguished, and a disk
 * with one file. The disk knows what a crash may leave of the file, tears writes, and fails on
 * request.
 *
 * After the durable part, a crash leaves in each sector what was written, zeros or random bytes;
 * and the file may end anywhere. Only one party at a time uses the disk. */
#pragma once

#include "support.h"
#include "wal/log.h"

enum { ROOM = 1 << 15, SECTOR = 512, RECORDS = 64, PAYLOAD = 128 };

/* ---- records that can be distinguished ---- */

enum { PHANTOM = 1 << 20 };

static void put_id(unsigned char *payload, size_t n, uint32_t id)
{
    memset(payload, (int)(id % 251), n);
    memcpy(payload, &id, sizeof id);
}

/* Payloads differ in length. Where a record may begin, each contains a whole false record. */
static size_t make_payload(unsigned char payload[PAYLOAD], uint32_t id)
{
    const size_t size = 16 + id * 37 % (PAYLOAD - 16);
    put_id(payload, size, id);
    for (size_t at = 16; at + 32 <= size; at += 32) {
        unsigned char phantom[16];
        put_id(phantom, sizeof phantom, PHANTOM);
        wal_frame(payload + at, phantom, sizeof phantom);
    }
    return size;
}

static size_t frame_size_of(uint32_t id)
{
    unsigned char payload[PAYLOAD];
    return wal_frame_size(make_payload(payload, id));
}

/* The records that were read from a log. */
struct reading {
    int n;
    uint32_t ids[RECORDS];
};

static int read_record(void *arg, const void *payload, size_t n)
{
    struct reading *reading = arg;
    unsigned char expected[PAYLOAD];
    uint32_t id;
    CHECK(n >= sizeof id);
    memcpy(&id, payload, sizeof id);
    CHECK(id < RECORDS);
    CHECK_IS(make_payload(expected, id), n);
    CHECK(memcmp(expected, payload, n) == 0);
    CHECK(reading->n < RECORDS);
    reading->ids[reading->n++] = id;
    return 0;
}

/* ---- the disk ---- */

/* The file as a program sees it, and its durable part. */
static struct disk {
    unsigned char bytes[ROOM], durable[ROOM];
    size_t size, highest; /* highest: since the last sync */
    _Atomic size_t synced;
    size_t dirty_from, dirty_to;
    uint64_t chance;
    int calls;
    bool crashing; /* tries a crash at each call */
    /* The faults: */
    bool tears;                             /* writes are short or interrupted */
    size_t capacity;                        /* the file cannot grow beyond this */
    int write_fails, cut_fails, sync_fails; /* this call of its kind fails; 0: none */
    bool read_fails;
} disk;

static _Atomic bool acked[RECORDS];

static void disk_reset(uint64_t chance)
{
    memset(&disk, 0, sizeof disk);
    disk.chance = chance;
    disk.capacity = ROOM;
}

/* A read-only file. */
static struct image {
    unsigned char bytes[ROOM];
    size_t size;
} image;

static ssize_t image_pread(int fd, void *bytes, size_t n, off_t at)
{
    (void)fd;
    size_t start = (size_t)at < image.size ? (size_t)at : image.size;
    size_t got = n < image.size - start ? n : image.size - start;
    memcpy(bytes, image.bytes + start, got);
    return (ssize_t)got;
}

static const struct wal_calls image_calls = { .pread = image_pread };

static void set_image(const unsigned char *bytes, size_t size)
{
    memcpy(image.bytes, bytes, size);
    image.size = size;
}

/* `end` may be NULL. */
static struct reading image_read(off_t *end)
{
    struct reading reading = { 0 };
    off_t at;
    CHECK_IS(0, wal_each(0, &image_calls, read_record, &reading, &at));
    if (end)
        *end = at;
    return reading;
}

static void fill(unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)below(&disk.chance, 256);
}

/* Makes what the crash leaves. */
static void image_after_crash(void)
{
    size_t at = disk.synced;
    image.size = at;
    memcpy(image.bytes, disk.durable, at);
    if (disk.highest > at)
        image.size += below(&disk.chance, (unsigned)(disk.highest - at + 1));
    for (size_t n; at < image.size; at += n) {
        n = SECTOR - at % SECTOR;
        n = n < image.size - at ? n : image.size - at;
        switch (below(&disk.chance, 4)) {
        case 0: memset(image.bytes + at, 0, n); break;
        case 1: fill(image.bytes + at, n); break;
        default: memcpy(image.bytes + at, disk.bytes + at, n);
        }
    }
}

static bool has(const struct reading *reading, uint32_t id)
{
    for (int i = 0; i < reading->n; i++)
        if (reading->ids[i] == id)
            return true;
    return false;
}

static bool begins_with(const struct reading *all, const struct reading *first)
{
    return first->n <= all->n &&
           memcmp(all->ids, first->ids, (size_t)first->n * sizeof first->ids[0]) == 0;
}

static void check_has_acked(const struct reading *reading)
{
    for (uint32_t id = 0; id < RECORDS; id++)
        CHECK(!atomic_load(&acked[id]) || has(reading, id));
}

/* A crash leaves the first of the written records, in order, and all acknowledged ones. */
static void try_a_crash(void)
{
    set_image(disk.bytes, disk.highest);
    const struct reading written = image_read(NULL);
    image_after_crash();
    const struct reading reading = image_read(NULL);
    CHECK(begins_with(&written, &reading));
    check_has_acked(&reading);
}

static void enter(void)
{
    leat_sim_point();
    disk.calls++;
    if (disk.crashing)
        try_a_crash();
}

/* Counts down to the call that fails. */
static bool fails(int *countdown)
{
    return *countdown && --*countdown == 0;
}

static int failed(int error)
{
    errno = error;
    return -1;
}

static ssize_t disk_pread(int fd, void *bytes, size_t n, off_t at)
{
    if (disk.read_fails)
        return failed(EIO);
    set_image(disk.bytes, disk.size);
    return image_pread(fd, bytes, n, at);
}

static ssize_t disk_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    (void)fd;
    enter();
    if (fails(&disk.write_fails))
        return failed(EIO);
    if (disk.tears && below(&disk.chance, 4) == 0)
        return failed(EINTR);
    if (disk.tears)
        n = 1 + below(&disk.chance, (unsigned)n);
    const size_t from = (size_t)at;
    CHECK(from <= disk.size);
    if (from >= disk.capacity)
        return failed(ENOSPC);
    if (n > disk.capacity - from)
        n = disk.capacity - from;
    memcpy(disk.bytes + from, bytes, n);
    if (disk.size < from + n)
        disk.size = from + n;
    if (disk.highest < disk.size)
        disk.highest = disk.size;
    if (disk.dirty_from == disk.dirty_to || disk.dirty_from > from)
        disk.dirty_from = from;
    if (disk.dirty_to < from + n)
        disk.dirty_to = from + n;
    return (ssize_t)n;
}

static int disk_ftruncate(int fd, off_t size)
{
    (void)fd;
    enter();
    if (fails(&disk.cut_fails))
        return failed(EIO);
    CHECK((size_t)size <= disk.size);
    disk.size = (size_t)size;
    return 0;
}

/* After a failed fdatasync the kernel treats the pages as clean, though they were not written. */
static int disk_fdatasync(int fd)
{
    (void)fd;
    enter();
    bool failing = fails(&disk.sync_fails);
    for (size_t at = disk.dirty_from; at < disk.dirty_to; at++)
        disk.durable[at] = failing ? 0 : disk.bytes[at];
    disk.dirty_from = disk.dirty_to = 0;
    if (failing)
        return failed(EIO);
    disk.highest = disk.size;
    atomic_store(&disk.synced, disk.size);
    return 0;
}

static const struct wal_calls disk_calls = { disk_pread, disk_pwrite, disk_ftruncate,
                                             disk_fdatasync };

/* The machine restarts with what the image holds. */
static void disk_reboot(void)
{
    disk_reset(disk.chance);
    memcpy(disk.bytes, image.bytes, image.size);
    memcpy(disk.durable, image.bytes, image.size);
    disk.size = disk.highest = image.size;
    atomic_store(&disk.synced, image.size);
}
