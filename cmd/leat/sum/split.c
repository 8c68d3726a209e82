#include "split.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEAST = 8,   /* subtrees of a file that is split */
    ROUND = 128, /* subtrees after which their values are added, and helpers may join */
};

/* A round. The parties take subtrees in order, and write only their subtrees' values. The digester
 * reads these after the scope of the helpers has closed. So all atomics here are relaxed. */
struct split {
    struct flow *flow;
    const struct reading *file;
    size_t room;           /* bytes of a buffer */
    uint64_t base;         /* the number of the round's first subtree */
    unsigned count;        /* subtrees of the round */
    _Atomic unsigned next; /* the first subtree that no party has taken */
    atomic_bool stop;      /* one subtree could not be read whole */
    bool done[ROUND];
    unsigned char values[ROUND][NODE_VALUE];
};

static bool digest_subtree(struct split *s, unsigned i, unsigned char *buffer)
{
    struct blake3 b;
    uint64_t from = (s->base + i) * BLAKE3_SUBTREE;
    blake3_begin_subtree(&b, node_way_at(0), s->base + i);
    for (size_t at = 0; at < BLAKE3_SUBTREE;) {
        size_t left = BLAKE3_SUBTREE - at;
        ssize_t n = reading_at(s->file, buffer, left < s->room ? left : s->room, from + at, left);
        if (n <= 0)
            return false;
        blake3_add(&b, buffer, (size_t)n);
        at += (size_t)n;
    }
    blake3_end_subtree(&b, s->values[i]);
    s->done[i] = true;
    atomic_fetch_add_explicit(&s->flow->digested, BLAKE3_SUBTREE, memory_order_relaxed);
    return true;
}

static bool adopt(_Atomic unsigned *word, unsigned from, unsigned to)
{
    return atomic_compare_exchange_strong_explicit(word, &from, to, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* Whether the calling helper has given its core to a digester. */
static bool has_left(struct flow *f)
{
    unsigned busy;
    while ((busy = atomic_load_explicit(&f->busy, memory_order_relaxed)) > f->jobs)
        if (adopt(&f->busy, busy, busy - 1))
            return true;
    return false;
}

/* False if the caller, a helper, has left. */
static bool work(struct split *s, unsigned char *buffer, bool helps)
{
    while (!leat_cancelled(NULL) && !atomic_load_explicit(&s->stop, memory_order_relaxed)) {
        if (helps && has_left(s->flow))
            return false;
        unsigned i = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (i >= s->count)
            break;
        if (!digest_subtree(s, i, buffer))
            atomic_store_explicit(&s->stop, true, memory_order_relaxed);
    }
    return true;
}

static int help(void *split)
{
    struct split *s = split;
    struct flow *f = s->flow;
    unsigned char *buffer = malloc(s->room);
    bool stays = !buffer || work(s, buffer, true);
    free(buffer);
    if (stays)
        atomic_fetch_sub_explicit(&f->busy, 1, memory_order_relaxed);
    return 0;
}

static void start_helpers(struct split *s, leat_scope *scope)
{
    struct flow *f = s->flow;
    unsigned busy, started = 1;
    while (started < s->count &&
           (busy = atomic_load_explicit(&f->busy, memory_order_relaxed)) < f->jobs) {
        if (!adopt(&f->busy, busy, busy + 1))
            continue;
        if (leat_go_blocking(scope, help, s)) {
            atomic_fetch_sub_explicit(&f->busy, 1, memory_order_relaxed);
            return;
        }
        started++;
    }
}

/* Digests a round, and adds the subtrees from its beginning up to the first gap. Returns their
 * number. */
static unsigned run_round(struct split *s, struct blake3 *b, unsigned char *buffer)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (!scope)
        return 0;
    atomic_store_explicit(&s->next, 0, memory_order_relaxed);
    memset(s->done, 0, sizeof s->done);
    start_helpers(s, scope);
    work(s, buffer, false);
    leat_scope_close(scope);
    unsigned end = 0;
    while (end < s->count && s->done[end])
        end++;
    if (s->base + end < 2) /* one alone cannot be added */
        end = 0;
    for (unsigned i = 0; i < end; i++)
        blake3_add_subtree(b, s->values[i]);
    for (unsigned i = end; i < s->count; i++)
        if (s->done[i])
            atomic_fetch_sub_explicit(&s->flow->digested, BLAKE3_SUBTREE, memory_order_relaxed);
    return end;
}

int split_digest(struct flow *f, const struct reading *r, struct blake3 *b, size_t begun,
                 unsigned char *buffer, size_t room)
{
    struct stat about;
    if (f->jobs < 2 || r->slot->origin == ORIGIN_STDIN || fstat(r->fd, &about) < 0 ||
        !S_ISREG(about.st_mode) || about.st_size <= (off_t)LEAST * BLAKE3_SUBTREE)
        return 0;
    struct split *s = malloc(sizeof *s);
    if (!s)
        return 0;
    *s = (struct split){ .flow = f, .file = r, .room = room };
    blake3_begin(b, node_way_at(0));
    atomic_fetch_sub_explicit(&f->digested, begun, memory_order_relaxed);
    /* The last byte is left: the root is no subtree. */
    uint64_t all = (uint64_t)(about.st_size - 1) / BLAKE3_SUBTREE;
    unsigned added;
    do {
        s->count = all - s->base < ROUND ? (unsigned)(all - s->base) : ROUND;
        added = run_round(s, b, buffer);
        s->base += added;
    } while (added == s->count && s->base < all);
    off_t at = lseek(r->fd, (off_t)(s->base * BLAKE3_SUBTREE), SEEK_SET);
    free(s);
    return at < 0 ? -errno : leat_cancelled(NULL) ? -ECANCELED : 0;
}
