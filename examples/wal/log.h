/* log.h: a write-ahead log whose appenders share their syncs (group commit).
 *
 * When an append returns 0, its record is on the disk. Any number of tasks may append at once: one
 * of them, the leader (leat/batch.h), writes the records of all with one pwrite and makes them
 * durable with one fdatasync.
 *
 * The file consists of cells of 16 bytes. A record is a run of cells: a head with a checksum and
 * the payload's length, then the payload, filled up with zeros. The appender makes these cells and
 * puts them into the batcher as a run of items, so a batch is an array that can be written as is.
 *
 * Between two batches, unless the log is broken, the file consists of whole records only, and all
 * of them are on the disk. So a crash can spoil only the last batch, whose appends have not
 * returned. Opening the log keeps the records before the first that is not whole and cuts off the
 * rest.
 *
 * The log breaks when a sync fails, or when half a record cannot be cut off. It then refuses every
 * append with the same error until it is opened again. The reason: after a failed sync nobody
 * knows what is on the disk. The kernel has reported the loss once and may treat the pages as
 * clean, so the next sync would succeed without writing them. An append after such a hole would
 * return 0, and the next opening would cut its record off. */
#ifndef EXAMPLES_WAL_LOG_H
#define EXAMPLES_WAL_LOG_H

#include <leat/leat.h>

#include <sys/types.h>

enum { WAL_CELL = 16, WAL_MOST = (1 << 20) - WAL_CELL }; /* bytes; of a payload */

/* The system calls that the log uses, as in unistd.h. A test replaces them with its own disk. */
struct wal_calls {
    ssize_t (*pread)(int fd, void *bytes, size_t n, off_t at);
    ssize_t (*pwrite)(int fd, const void *bytes, size_t n, off_t at);
    int (*ftruncate)(int fd, off_t size);
    int (*fdatasync)(int fd);
};

extern const struct wal_calls wal_system;

/* The caller provides the memory; only the log uses the fields. */
struct wal {
    const struct wal_calls *calls;
    leat_batcher *batcher;
    int fd;
    off_t end;  /* bytes in the file; only append_batch() touches `end` and `broken` once open */
    int broken; /* 0, or the error that every append returns */
};

/* Opens and recovers the log at `path`, and creates the file if it does not exist. Makes sure that
 * the records that it found are on the disk. Blocks the thread meanwhile. The batcher belongs to
 * `scope`. Returns 0; -EBUSY if the log is open elsewhere; -ENOMEM; or the system's error. */
int wal_open(struct wal *wal, leat_scope *scope, const char *path);

/* The same for an open file. If it returns 0, wal_close() closes `fd`. */
int wal_open_file(struct wal *wal, leat_scope *scope, int fd, const struct wal_calls *calls);

/* Closes the log and its file. Call it when every append has returned. Later appends return
 * -EPIPE. */
void wal_close(struct wal *wal);

/* Appends a record and waits until it is on the disk. Any task or thread may call it.
 * Returns
 *   0           the record is on the disk;
 *   -EINVAL     n is greater than WAL_MOST;
 *   -ENOMEM, -EPIPE (the log is closed);
 *   -ECANCELED  the caller's scope was cancelled: the record may be in the log or not;
 *   the error of a broken log: the record may be in the log or not;
 *   the system's error for this record, for example -ENOSPC: the record is not in the log, but
 *               other records of its batch may be. */
int wal_append(struct wal *wal, const void *payload, size_t n);

/* Receives each record in order. If it returns something other than 0, the reading ends. */
typedef int wal_visit(void *arg, const void *payload, size_t n);

/* Visits the records before the first that is not whole, and sets *end to the offset in the file
 * where they end. `visit` may be NULL.
 * Returns 0; -ENOMEM; the system's error; or what `visit` returned. */
int wal_each(int fd, const struct wal_calls *calls, wal_visit *visit, void *arg, off_t *end);

/* The bytes in the file for a payload of n bytes; and the record itself, written to `frame`. */
size_t wal_frame_size(size_t n);
void wal_frame(unsigned char *frame, const void *payload, size_t n);

#endif
