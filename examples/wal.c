/* wal: a write-ahead log, and what sharing its syncs is worth.
 *
 *     wal append FILE N CALLERS   CALLERS tasks append N records each, through a batcher
 *     wal each FILE N CALLERS     the same by CALLERS threads, with a sync for each record
 *     wal check FILE              counts the records; fails if anything else follows them
 *
 * The log itself is wal/log.c; docs/wal.md tells how it works. */
#include "wal/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAYLOAD = 100, MOST_CALLERS = 10000 };

struct job {
    const char *path;
    long n, callers;
    struct wal wal;
    /* for `each`: */
    pthread_mutex_t lock;
};

static void make_payload(char payload[PAYLOAD], long number)
{
    memset(payload, '.', PAYLOAD);
    payload[snprintf(payload, PAYLOAD, "record %ld of its caller ", number)] = '.';
}

static void report(const struct job *job, int64_t since)
{
    double seconds = (double)(leat_now() - since) / LEAT_S, n = (double)(job->n * job->callers);
    printf("%.0f appends of %d bytes by %ld in %.2f s: %.0f a second\n", n, PAYLOAD, job->callers,
           seconds, n / seconds);
}

/* ---- append ---- */

static int append_some(void *arg)
{
    struct job *job = arg;
    char payload[PAYLOAD];
    int error = 0;
    for (long i = 0; i < job->n && !error; i++) {
        make_payload(payload, i);
        error = wal_append(&job->wal, payload, sizeof payload);
    }
    return error;
}

/* Runs all callers and returns when they have ended. */
static int run_callers(struct job *job)
{
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = s ? 0 : -ENOMEM;
    for (long i = 0; i < job->callers && !error; i++)
        error = leat_go(s, append_some, job);
    int result = leat_scope_close(s);
    return error ? error : result;
}

static int append(void *arg)
{
    struct job *job = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = wal_open(&job->wal, s, job->path);
    if (!error) {
        int64_t since = leat_now();
        error = run_callers(job);
        if (!error)
            report(job, since);
        leat_batcher_counts counts;
        if (!error && leat_batcher_count(job->wal.batcher, &counts) == 0)
            printf("%llu batches, %.1f records each\n", (unsigned long long)counts.batches,
                   (double)(job->n * job->callers) / (double)counts.batches);
        wal_close(&job->wal);
    }
    leat_scope_close(s);
    return error;
}

/* ---- each ---- */

/* The best that is possible without a batcher: records are written in order, and the syncs run
 * side by side, since each covers all that was written before. (This is not yet a log: if a sync
 * fails, the kernel reports it to only one of the threads that sync an open file.) */
static int sync_each(void *arg)
{
    struct job *job = arg;
    char payload[PAYLOAD];
    const size_t size = wal_frame_size(sizeof payload);
    unsigned char frame[2 * WAL_CELL + PAYLOAD];
    int error = 0;
    for (long i = 0; i < job->n && !error; i++) {
        make_payload(payload, i);
        wal_frame(frame, payload, sizeof payload);
        pthread_mutex_lock(&job->lock);
        if (pwrite(job->wal.fd, frame, size, job->wal.end) != (ssize_t)size)
            error = -EIO;
        job->wal.end += (off_t)size;
        pthread_mutex_unlock(&job->lock);
        if (!error && fdatasync(job->wal.fd) != 0)
            error = -errno;
    }
    return error;
}

static int each(void *arg)
{
    struct job *job = arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    int error = wal_open(&job->wal, s, job->path);
    if (error) {
        leat_scope_close(s);
        return error;
    }
    int64_t since = leat_now();
    for (long i = 0; i < job->callers && !error; i++)
        error = leat_go_blocking(s, sync_each, job);
    int result = leat_scope_close(s);
    if (!error && !result)
        report(job, since);
    close(job->wal.fd);
    return error ? error : result;
}

/* ---- check ---- */

static int count(void *arg, const void *payload, size_t n)
{
    (void)payload, (void)n;
    ++*(long *)arg;
    return 0;
}

static int check(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    long records = 0;
    off_t end = 0, size = lseek(fd, 0, SEEK_END);
    int error = wal_each(fd, &wal_system, count, &records, &end);
    close(fd);
    if (error)
        return error;
    printf("%ld records in %lld bytes\n", records, (long long)end);
    if (size > end)
        printf("%lld bytes behind them are no record\n", (long long)(size - end));
    return size == end ? 0 : -EBADMSG;
}

/* ---- the program ---- */

static long number(const char *text, long most)
{
    char *end;
    long n = strtol(text, &end, 10);
    return *text && !*end && n > 0 && n <= most ? n : 0;
}

static int usage(void)
{
    fputs(
        "usage: wal append FILE N CALLERS\n       wal each FILE N CALLERS\n       wal check FILE\n",
        stderr);
    return 2;
}

int main(int argc, char **argv)
{
    struct job job = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int error;
    if (argc == 3 && strcmp(argv[1], "check") == 0) {
        job.path = argv[2];
        error = check(job.path);
    } else if (argc == 5 && (strcmp(argv[1], "append") == 0 || strcmp(argv[1], "each") == 0)) {
        job.path = argv[2];
        job.n = number(argv[3], 1000000000);
        job.callers = number(argv[4], MOST_CALLERS);
        if (!job.n || !job.callers)
            return usage();
        error = leat_main(argv[1][0] == 'a' ? append : each, &job);
    } else {
        return usage();
    }
    if (error)
        fprintf(stderr, "wal: %s: %s\n", job.path, strerror(-error));
    return error != 0;
}
