#define _GNU_SOURCE
#include "map/log.h"

#include "map/job.h"
#include "shared/write.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

static const char header[] =
    "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n";

static int refuse(const char *name, const char *why)
{
    fprintf(stderr, "leat map: %s: %s\n", name, why);
    return EXIT_TROUBLE;
}

/* ---- the table ---- */

/* A job of an earlier run. */
struct log_entry {
    XXH128_hash_t digest; /* of its command */
    uint64_t times;       /* 0: the place is free */
};

static XXH128_hash_t digest(const char *command)
{
    return XXH3_128bits(command, strlen(command));
}

/* The entry, or the free place for it. */
static struct log_entry *find(const struct log *l, XXH128_hash_t wanted)
{
    size_t i = wanted.low64 & (l->size - 1);
    while (l->entries[i].times && !XXH128_isEqual(l->entries[i].digest, wanted))
        i = (i + 1) & (l->size - 1);
    return &l->entries[i];
}

static bool grow(struct log *l)
{
    struct log larger = { .size = l->size ? 2 * l->size : 1024 };
    larger.entries = calloc(larger.size, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < l->size; i++)
        if (l->entries[i].times)
            *find(&larger, l->entries[i].digest) = l->entries[i];
    free(l->entries);
    l->entries = larger.entries;
    l->size = larger.size;
    return true;
}

/* An entry stays when its count is used up: otherwise the search for others would end there. Its
 * count is one more than the number of remaining lines. */
static bool add(struct log *l, const char *command)
{
    XXH128_hash_t wanted = digest(command);
    if (2 * l->count >= l->size && !grow(l))
        return false;
    struct log_entry *entry = find(l, wanted);
    if (!entry->times) {
        *entry = (struct log_entry){ wanted, 1 };
        l->count++;
    }
    entry->times++;
    return true;
}

bool log_has(struct log *l, const char *command)
{
    if (!l->count)
        return false;
    struct log_entry *entry = find(l, digest(command));
    if (entry->times < 2)
        return false;
    entry->times--;
    return true;
}

/* ---- reading ---- */

/* Finds the Command of a line whose job is done; NULL: it is not done, or not a line of a log. */
static char *done_command(const struct plan *p, char *line)
{
    char *fields[9];
    size_t n = 0;
    for (; n < 8 && line; n++)
        fields[n] = strsep(&line, "\t");
    if (n < 8 || !line)
        return NULL;
    bool succeeded = strcmp(fields[6], "0") == 0 && strcmp(fields[7], "0") == 0;
    return succeeded || p->resume_ended ? line : NULL;
}

/* Reads all whole lines; *end is the position after them. */
static int read_all(struct log *l, const struct plan *p, FILE *file, off_t *end)
{
    char begin[sizeof header - 1], *line = NULL;
    size_t n = fread(begin, 1, sizeof begin, file), room = 0;
    ssize_t len = 0;
    int wrong = 0;
    if (n && (n < sizeof begin || memcmp(begin, header, n) != 0))
        wrong = refuse(p->log, "this is not a log of leat map or GNU parallel");
    *end = (off_t)n;
    while (!wrong && (len = getline(&line, &room, file)) > 0 && line[len - 1] == '\n') {
        *end += len;
        line[len - 1] = '\0';
        char *command = done_command(p, line);
        if (command && !add(l, command))
            wrong = refuse(p->log, "memory exhausted");
    }
    /* Not ferror(3): a line may also need more memory than there is. */
    if (!wrong && len < 0 && !feof(file))
        wrong = refuse(p->log, strerror(errno));
    free(line);
    return wrong;
}

static int read_old(struct log *l, const struct plan *p, off_t size)
{
    off_t end;
    FILE *file = fopen(p->log, "re");
    if (!file)
        return refuse(p->log, strerror(errno));
    int wrong = read_all(l, p, file, &end);
    fclose(file);
    /* Removes a line that a killed run did not write whole. */
    if (!wrong && end < size && ftruncate(l->fd, end) < 0)
        wrong = refuse(p->log, strerror(errno));
    return wrong;
}

int log_open(struct log *l, const struct plan *p)
{
    *l = (struct log){ .fd = -1 };
    if (!p->log)
        return 0;
    l->fd = open(p->log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
    off_t size = l->fd < 0 ? -1 : lseek(l->fd, 0, SEEK_END);
    if (size < 0 && (errno == ESPIPE || errno == ENXIO)) /* ENXIO: a FIFO without a reader */
        return refuse(p->log, "--log needs a file, and this is a pipe, a socket or a terminal");
    if (size < 0)
        return refuse(p->log, strerror(errno));
    if (size > 0)
        return p->resume ? read_old(l, p, size)
                         : refuse(p->log, "the log is not empty; --resume goes on with it");
    int error = write_all(l->fd, header, sizeof header - 1);
    return error ? refuse(p->log, strerror(-error)) : 0;
}

void log_close(struct log *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->entries);
}

int log_write(struct log *l, const struct job *job)
{
    char *text;
    const char *where = job_where(job);
    int len = asprintf(
        &text, "%llu\t%s\t%.3f\t%10.3f\t%llu\t%llu\t%d\t%d\t%s\n", (unsigned long long)job->number,
        *where ? where : ":", job->start, (double)job->took / 1e9, (unsigned long long)job->sent,
        (unsigned long long)job->received, job->timed_out || job->exit.signal ? -1 : job->exit.code,
        job->timed_out ? SIGTERM : job->exit.signal, job->command);
    if (len < 0)
        return -ENOMEM;
    int error = write_all(l->fd, text, (size_t)len);
    free(text);
    if (error) {
        close(l->fd);
        l->fd = -1;
    }
    return error;
}
