#define _GNU_SOURCE
#include "map/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 256 * 1024 }; /* bytes read back at a time */

struct piece {
    struct piece *next;
    size_t n;
    int64_t at; /* in the file; -1: the bytes are here */
    enum stream stream;
    char bytes[];
};

void store_open(struct store *s, int64_t room)
{
    *s = (struct store){ .room = room, .fd = -1 };
    pthread_mutex_init(&s->lock, NULL);
}

void store_close(struct store *s)
{
    if (s->fd >= 0)
        close(s->fd);
    pthread_mutex_destroy(&s->lock);
}

/* ---- adding ---- */

static void append(struct held *to, struct piece *piece)
{
    if (to->last)
        to->last->next = piece;
    else
        to->first = piece;
    to->last = piece;
}

static bool keep(struct held *to, enum stream stream, const char *bytes, size_t n)
{
    struct piece *piece = malloc(sizeof *piece + n);
    if (!piece)
        return false;
    *piece = (struct piece){ .n = n, .at = -1, .stream = stream };
    memcpy(piece->bytes, bytes, n);
    append(to, piece);
    return true;
}

static int open_file(void)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    char *name = NULL;
    if (asprintf(&name, "%s/leat-map-XXXXXX", folder) < 0)
        return -1;
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

static bool write_all(int fd, const char *bytes, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t wrote = pwrite(fd, bytes, n, at);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote;
        n -= (size_t)wrote;
        at += wrote;
    }
    return true;
}

/* With the lock held. A file that cannot take more bytes takes none until it is empty. */
static bool spill(struct store *s, struct held *to, enum stream stream, const char *bytes, size_t n)
{
    if (s->spilled + (int64_t)n > s->room)
        return false;
    if (s->fd < 0)
        s->fd = open_file();
    if (s->fd < 0 || !write_all(s->fd, bytes, n, s->end)) {
        s->room = s->spilled;
        return false;
    }
    struct piece *last = to->last;
    if (last && last->at >= 0 && last->stream == stream && last->at + (int64_t)last->n == s->end) {
        last->n += n;
    } else {
        if (!keep(to, stream, bytes, 0))
            return false;
        to->last->n = n;
        to->last->at = s->end;
    }
    s->end += (int64_t)n;
    s->spilled += (int64_t)n;
    return true;
}

bool store_add(struct store *s, struct held *to, enum stream stream, const char *bytes, size_t n,
               bool first)
{
    int64_t most = first ? 2 * STORE_MEMORY : STORE_MEMORY;
    pthread_mutex_lock(&s->lock);
    bool fits = s->memory + (int64_t)n <= most && keep(to, stream, bytes, n);
    if (fits)
        s->memory += (int64_t)n;
    else
        fits = spill(s, to, stream, bytes, n);
    pthread_mutex_unlock(&s->lock);
    return fits;
}

/* ---- taking ---- */

/* Gives room in the file back, if the file system can do that. */
static void forget(struct store *s, int64_t at, size_t n)
{
    pthread_mutex_lock(&s->lock);
    if (at < 0) {
        s->memory -= (int64_t)n;
    } else {
        s->spilled -= (int64_t)n;
        if (s->spilled > 0)
            fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t)n);
        else if (ftruncate(s->fd, 0) == 0)
            s->end = 0;
    }
    pthread_mutex_unlock(&s->lock);
}

static void drop_first(struct held *from)
{
    struct piece *piece = from->first;
    from->first = piece->next;
    if (!from->first)
        from->last = NULL;
    free(piece);
}

static int64_t read_back(struct store *s, struct piece *piece, char *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pread(s->fd, to + done, n - done, piece->at + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        done += (size_t)got;
    }
    return (int64_t)n;
}

int64_t store_take(struct store *s, struct held *from, enum stream *stream, char **bytes)
{
    struct piece *piece = from->first;
    if (!piece)
        return 0;
    size_t n = piece->at >= 0 && piece->n > AT_ONCE ? AT_ONCE : piece->n;
    *stream = piece->stream;
    *bytes = malloc(n);
    if (!*bytes)
        return -ENOMEM;
    int64_t got = (int64_t)n;
    if (piece->at >= 0)
        got = read_back(s, piece, *bytes, n);
    else
        memcpy(*bytes, piece->bytes, n);
    if (got < 0) {
        free(*bytes);
        return got;
    }
    forget(s, piece->at, n);
    piece->n -= n;
    piece->at += piece->at >= 0 ? (int64_t)n : 0;
    if (piece->n == 0)
        drop_first(from);
    return got;
}

void store_drop(struct store *s, struct held *held)
{
    while (held->first) {
        forget(s, held->first->at, held->first->n);
        drop_first(held);
    }
}

void store_drop_stream(struct store *s, struct held *held, enum stream stream)
{
    struct held kept = { 0 };
    while (held->first) {
        struct piece *piece = held->first;
        if (piece->stream == stream) {
            forget(s, piece->at, piece->n);
            drop_first(held);
            continue;
        }
        held->first = piece->next;
        piece->next = NULL;
        append(&kept, piece);
    }
    *held = kept;
}
