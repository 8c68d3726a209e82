#define _GNU_SOURCE
#include "map/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 256 * 1024 }; /* bytes read back at a time */

/* Room in the file is given to pieces in blocks of this size. So there are few pieces, even if many
 * jobs write a few bytes at a time. */
enum { BLOCK = 4096 };

struct piece {
    struct piece *next;
    size_t n;
    int64_t at;  /* in the file; -1: the bytes are here */
    size_t room; /* bytes that it takes there; or here, with all that it needs */
    enum stream stream;
    char bytes[];
};

enum { PIECE = sizeof(struct piece) + 2 * sizeof(size_t) }; /* what one takes without its bytes */

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
    *piece = (struct piece){ .n = n, .at = -1, .room = PIECE + n, .stream = stream };
    if (n)
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

/* The room in the file that a piece needs for `n` more bytes. */
static int64_t more_room(const struct piece *piece, size_t n)
{
    size_t left = piece ? piece->room - piece->n : 0;
    return n > left ? (int64_t)((n - left + BLOCK - 1) / BLOCK * BLOCK) : 0;
}

/* The last piece, if the bytes can come right behind it in the file; else NULL. */
static struct piece *piece_before(const struct store *s, const struct held *to, enum stream stream,
                                  size_t n)
{
    struct piece *last = to->last;
    if (!last || last->at < 0 || last->stream != stream)
        return NULL;
    return more_room(last, n) == 0 || last->at + (int64_t)last->room == s->end ? last : NULL;
}

/* With the lock held. A file that cannot take more bytes takes none until it is empty. */
static bool spill(struct store *s, struct held *to, enum stream stream, const char *bytes, size_t n)
{
    struct piece *piece = piece_before(s, to, stream, n);
    int64_t more = more_room(piece, n);
    if (s->spilled + more > s->room)
        return false;
    if (s->fd < 0)
        s->fd = open_file();
    if (s->fd < 0 || !write_all(s->fd, bytes, n, piece ? piece->at + (int64_t)piece->n : s->end)) {
        s->room = s->spilled;
        return false;
    }
    if (!piece) {
        if (!keep(to, stream, NULL, 0))
            return false;
        piece = to->last;
        piece->at = s->end;
        piece->room = 0;
    }
    piece->n += n;
    piece->room += (size_t)more;
    s->end += more;
    s->spilled += more;
    return true;
}

bool store_add(struct store *s, struct held *to, enum stream stream, const char *bytes, size_t n,
               bool first)
{
    int64_t most = first ? 2 * STORE_MEMORY : STORE_MEMORY;
    pthread_mutex_lock(&s->lock);
    bool fits = s->memory + PIECE + (int64_t)n <= most && keep(to, stream, bytes, n);
    if (fits)
        s->memory += PIECE + (int64_t)n;
    else
        fits = spill(s, to, stream, bytes, n);
    pthread_mutex_unlock(&s->lock);
    return fits;
}

/* ---- taking ---- */

/* Forgets the first bytes of a piece. Gives their room in the file back, if that is possible. */
static void forget(struct store *s, struct piece *piece, size_t n)
{
    size_t room = n == piece->n ? piece->room : n;
    pthread_mutex_lock(&s->lock);
    if (piece->at < 0) {
        s->memory -= (int64_t)room;
    } else {
        s->spilled -= (int64_t)room;
        if (s->spilled > 0)
            fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, piece->at, (off_t)room);
        else if (ftruncate(s->fd, 0) == 0)
            s->end = 0;
        piece->at += (int64_t)n;
    }
    pthread_mutex_unlock(&s->lock);
    piece->n -= n;
    piece->room -= room;
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
    forget(s, piece, n);
    if (piece->n == 0)
        drop_first(from);
    return got;
}

void store_drop(struct store *s, struct held *held)
{
    while (held->first) {
        forget(s, held->first, held->first->n);
        drop_first(held);
    }
}

void store_drop_stream(struct store *s, struct held *held, enum stream stream)
{
    struct held kept = { 0 };
    while (held->first) {
        struct piece *piece = held->first;
        if (piece->stream == stream) {
            forget(s, piece, piece->n);
            drop_first(held);
            continue;
        }
        held->first = piece->next;
        piece->next = NULL;
        append(&kept, piece);
    }
    *held = kept;
}
