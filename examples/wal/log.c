#include "log.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

const struct wal_calls wal_system = { pread, pwrite, ftruncate, fdatasync };

/* ---- records ---- */

/* Little-endian. The checksum covers the rest of the record. Zeros are no record: their checksum
 * would not be 0. */
struct head {
    uint64_t checksum, length;
};
_Static_assert(sizeof(struct head) == WAL_CELL, "a head is a cell");

static uint64_t checksum(const unsigned char *frame, size_t size)
{
    const size_t skip = sizeof(uint64_t);
    return XXH3_64bits(frame + skip, size - skip);
}

size_t wal_frame_size(size_t n)
{
    return WAL_CELL + (n + WAL_CELL - 1) / WAL_CELL * WAL_CELL;
}

void wal_frame(unsigned char *frame, const void *payload, size_t n)
{
    size_t size = wal_frame_size(n);
    memset(frame + size - WAL_CELL, 0, WAL_CELL);
    struct head head = { 0, htole64(n) };
    memcpy(frame, &head, sizeof head);
    if (n)
        memcpy(frame + sizeof head, payload, n);
    head.checksum = htole64(checksum(frame, size));
    memcpy(frame, &head, sizeof head);
}

static size_t payload_size(const unsigned char *frame)
{
    struct head head;
    memcpy(&head, frame, sizeof head);
    return le64toh(head.length);
}

/* The size of the record that begins at `bytes` and is whole within n bytes; 0 if none is. */
static size_t whole_record(const unsigned char *bytes, size_t n)
{
    struct head head;
    if (n < sizeof head)
        return 0;
    memcpy(&head, bytes, sizeof head);
    if (le64toh(head.length) > WAL_MOST)
        return 0;
    size_t size = wal_frame_size(le64toh(head.length));
    return size <= n && checksum(bytes, size) == le64toh(head.checksum) ? size : 0;
}

static size_t whole_records(const unsigned char *bytes, size_t n)
{
    size_t whole = 0;
    for (size_t size; (size = whole_record(bytes + whole, n - whole)) > 0;)
        whole += size;
    return whole;
}

/* ---- reading ---- */

/* A window on the file, with room for the longest record. */
struct window {
    unsigned char *bytes;
    size_t from, to; /* the part that is not visited yet */
    off_t at;        /* the offset of bytes[from] in the file */
};

static const size_t window_room = WAL_CELL + WAL_MOST;

/* Moves the window on and returns the number of bytes that this added. 0: the file ends here, or
 * the window is full. Any record fits into a full window, so the one at its start is not whole. */
static ssize_t read_on(struct window *window, int fd, const struct wal_calls *calls)
{
    memmove(window->bytes, window->bytes + window->from, window->to - window->from);
    window->to -= window->from;
    window->from = 0;
    ssize_t got;
    do
        got = calls->pread(fd, window->bytes + window->to, window_room - window->to,
                           window->at + (off_t)window->to);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    window->to += (size_t)got;
    return got;
}

int wal_each(int fd, const struct wal_calls *calls, wal_visit *visit, void *arg, off_t *end)
{
    struct window window = { .bytes = malloc(window_room) };
    if (!window.bytes)
        return -ENOMEM;
    ssize_t more = 1;
    int stop = 0;
    while (more > 0 && !stop) {
        const unsigned char *frame = window.bytes + window.from;
        size_t size = whole_record(frame, window.to - window.from);
        if (!size) {
            more = read_on(&window, fd, calls);
            continue;
        }
        if (visit)
            stop = visit(arg, frame + sizeof(struct head), payload_size(frame));
        window.from += size;
        window.at += (off_t)size;
    }
    free(window.bytes);
    *end = window.at;
    return stop ? stop : (int)more;
}

/* ---- appending ---- */

/* Returns the number of bytes written; *error says why there are not more. */
static size_t write_all(struct wal *wal, const unsigned char *bytes, size_t n, int *error)
{
    size_t done = 0;
    *error = 0;
    while (done < n && !*error) {
        ssize_t wrote = wal->calls->pwrite(wal->fd, bytes + done, n - done, wal->end + (off_t)done);
        if (wrote > 0)
            done += (size_t)wrote;
        else if (wrote == 0)
            *error = -EIO;
        else if (errno != EINTR)
            *error = -errno;
    }
    return done;
}

/* Makes the first `size` bytes durable; with `cut`, cuts off the others first. */
static int settle(struct wal *wal, off_t size, bool cut)
{
    if ((cut && wal->calls->ftruncate(wal->fd, size) != 0) || wal->calls->fdatasync(wal->fd) != 0)
        return -errno;
    wal->end = size;
    return 0;
}

/* Writes and syncs the batch. If the write ends early, the whole records are made durable, and the
 * begun one is cut off before any other batch is written. */
static int append_batch(void *arg, leat_batch_view *batch)
{
    struct wal *wal = arg;
    if (wal->broken)
        return wal->broken;
    int error;
    size_t whole = write_all(wal, batch->items, batch->n * WAL_CELL, &error);
    if (error)
        whole = whole_records(batch->items, whole);
    wal->broken = settle(wal, wal->end + (off_t)whole, error != 0);
    if (wal->broken) {
        /* These records may be in the page cache only: the next opening must not find them and
         * take them for durable. */
        int ignored = wal->calls->ftruncate(wal->fd, wal->end);
        (void)ignored;
        return wal->broken;
    }
    for (size_t i = 0; i < batch->n; i++)
        batch->status[i] = i < whole / WAL_CELL ? 0 : error;
    return 0;
}

int wal_append(struct wal *wal, const void *payload, size_t n)
{
    if (n > WAL_MOST)
        return -EINVAL;
    size_t size = wal_frame_size(n);
    unsigned char *frame = malloc(size);
    if (!frame)
        return -ENOMEM;
    wal_frame(frame, payload, n);
    int status = leat_batch_many(wal->batcher, frame, size / WAL_CELL, NULL, NULL, LEAT_NEVER);
    free(frame);
    return status;
}

/* ---- opening and closing ---- */

int wal_open_file(struct wal *wal, leat_scope *scope, int fd, const struct wal_calls *calls)
{
    *wal = (struct wal){ .calls = calls, .fd = fd };
    off_t end;
    int error = wal_each(fd, calls, NULL, NULL, &end);
    /* Sync even if there is nothing to cut off: the records of a killed process may be in the page
     * cache only. */
    if (!error)
        error = settle(wal, end, true);
    if (error)
        return error;
    wal->batcher = leat_batcher_open(
        scope,
        &(leat_batcher_spec){
            .item_size = WAL_CELL, .run = append_batch, .arg = wal, .name = "wal", .blocking = 1 });
    return wal->batcher ? 0 : -ENOMEM;
}

/* A new file survives a crash only if its directory has been synced. */
static int sync_directory(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return -errno;
    int error = fsync(fd) == 0 ? 0 : -errno;
    close(fd);
    return error;
}

int wal_open(struct wal *wal, leat_scope *scope, const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int error = flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (!error)
        error = sync_directory(path);
    if (!error)
        error = wal_open_file(wal, scope, fd, &wal_system);
    if (error)
        close(fd);
    return error;
}

void wal_close(struct wal *wal)
{
    leat_batcher_close(wal->batcher);
    close(wal->fd);
}
