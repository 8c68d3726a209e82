/* log.h: a write-ahead log whose appenders share their syncs (group commit).
 *
 * An append that returned 0 is on the disk. Many may append at once: what has come together is written with
 * one pwrite and made durable by one fdatasync, by whoever leads (leat/batch.h).
 *
 * The file is a row of cells of 16 bytes, and a record a run of them: first a head with a checksum and the
 * payload's length, then the payload, filled up with zeros. The appender makes these cells itself, and puts
 * them into the batcher as a run of items; so a batch is an array that can be written as it stands.
 *
 * What holds between two batches, unless the log is broken: the file is whole records and nothing else, and
 * all of it is on the disk. So what a crash can spoil is the last batch, of which nobody has been told yet;
 * opening the log again keeps what is whole up to the first record that is not, and cuts off the rest.
 *
 * A log is broken when a sync has failed, or when half a record could not be cut off. It then refuses every
 * append, with the same error, until it is opened again. For after a failed sync nobody can tell what is on
 * the disk: the kernel has reported the loss once and may hold the pages for clean, so that the next sync
 * would succeed without writing them. A record behind such a hole would be told to be durable and be cut off
 * by the next opening. */
#ifndef EXAMPLES_WAL_LOG_H
#define EXAMPLES_WAL_LOG_H

#include <leat/leat.h>

#include <sys/types.h>

enum { WAL_CELL = 16, WAL_MOST = (1 << 20) - WAL_CELL }; /* bytes; of a payload */

/* What the log asks of the system, as unistd.h has it. A test puts a disk of its own here. */
struct wal_calls {
    ssize_t (*pread)(int fd, void *bytes, size_t n, off_t at);
    ssize_t (*pwrite)(int fd, const void *bytes, size_t n, off_t at);
    int (*ftruncate)(int fd, off_t size);
    int (*fdatasync)(int fd);
};

extern const struct wal_calls wal_system;

/* The caller's; fields are the log's own. */
struct wal {
    const struct wal_calls *calls;
    leat_batcher *batcher;
    int fd;
    off_t end;  /* the file is so long; whoever runs a batch may touch it, and `broken` */
    int broken; /* 0, or what every append is told */
};

/* Opens the log at `path`, which is made when it is not there; recovers it; and makes sure that what it
 * found is on the disk. Blocks in the system meanwhile. Its batcher belongs to `scope`. Returns 0; -EBUSY
 * when somebody else has it open; -ENOMEM; what the system said. */
int wal_open(struct wal *wal, leat_scope *scope, const char *path);

/* The same for an open file, which is the log's if this returns 0. */
int wal_open_file(struct wal *wal, leat_scope *scope, int fd, const struct wal_calls *calls);

/* Called when every append has returned; later ones are told -EPIPE. */
void wal_close(struct wal *wal);

/* Appends a record and waits until it is on the disk. Any task or thread may. Returns 0; what the system
 * said of this record, -ENOSPC for example: it is not in the log, and others may be; the log's error when it
 * is broken: the record may be in the log or not; -ECANCELED: the same; -EPIPE; -ENOMEM; -EINVAL when it is
 * longer than WAL_MOST. */
int wal_append(struct wal *wal, const void *payload, size_t n);

/* Gets each record in its turn; what it returns, if it is not 0, ends the reading. */
typedef int wal_visit(void *arg, const void *payload, size_t n);

/* Visits all records up to the first that is not whole; *end is where that begins. `visit` may be NULL.
 * Returns 0, -ENOMEM, what the system said, or what `visit` returned. */
int wal_each(int fd, const struct wal_calls *calls, wal_visit *visit, void *arg, off_t *end);

/* How many bytes a record of n takes, and the record itself. */
size_t wal_frame_size(size_t n);
void wal_frame(unsigned char *frame, const void *payload, size_t n);

#endif
