#include "digester.h"
#include "later.h"
#include "split.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CHUNK = 64 * 1024,
    RUN = 32,             /* slots handed over together, */
    LINGER = 1000 * 1000, /* or fewer after this many nanoseconds */
};

int digester_hand_over(struct digester *d)
{
    if (!d->finished.first)
        return 0;
    int err = leat_send(d->flow->done, &d->finished);
    d->finished = (struct chain){ 0 };
    return err;
}

int digester_hand_over_when_due(struct digester *d)
{
    int64_t now = leat_now();
    if (d->finished.count < RUN && now - d->handed_over < LINGER)
        return 0;
    d->handed_over = now;
    return digester_hand_over(d);
}

void digester_finish(struct digester *d, struct slot *s, int error)
{
    if (error == READING_KNOWN) {
        error = 0;
        atomic_fetch_add_explicit(&d->flow->digested, s->stamp->size, memory_order_relaxed);
    }
    flow_unshow(d->flow, s);
    s->error = error;
    chain_add(&d->finished, s);
}

/* Called after the first bytes of a long file. 0 or an error. */
static int begin_long(struct digester *d, const struct reading *r)
{
    struct blake3 *tree = hashers_tree(&d->hashers);
    int err = digester_hand_over(d);
    return err || !tree ? err : split_digest(d->flow, r, tree, CHUNK, d->chunk, CHUNK);
}

static int digest(struct digester *d, struct reading *r, reading_fn *read)
{
    int err = hashers_begin(&d->hashers, r->slot->wanted, r->slot->size);
    for (bool first = true; !err; first = false, read = reading_next) {
        flow_show(d->flow, r->slot);
        /* The finished slots must not wait for a read that may take long. */
        if (r->patient)
            err = digester_hand_over(d);
        if (err)
            return err;
        ssize_t n = read(r, d->chunk, CHUNK);
        if (n <= 0)
            return n < 0 ? (int)n : hashers_end(&d->hashers, r->slot->digest);
        err = hashers_add(&d->hashers, d->chunk, (size_t)n);
        atomic_fetch_add_explicit(&d->flow->digested, (uint64_t)n, memory_order_relaxed);
        if (!err && first && n == CHUNK)
            err = begin_long(d, r);
        if (leat_cancelled(NULL))
            return -ECANCELED;
    }
    return err;
}

int digester_end(struct digester *d, struct reading *r, int error)
{
    reading_close(r);
    if (error == -ECANCELED)
        return error;
    digester_finish(d, r->slot, error);
    return 0;
}

int digester_digest(struct digester *d, struct reading *r, reading_fn *read)
{
    int err = digest(d, r, read);
    return err == READING_LATER ? err : digester_end(d, r, err);
}

static int digest_slot(struct digester *d, struct slot *s, struct later *later)
{
    struct reading r;
    int err = reading_open(&r, d->flow, s, &d->turn);
    if (err)
        return digester_end(d, &r, err);
    err = digester_digest(d, &r, later_has_room(later) ? reading_begin : reading_next);
    if (err != READING_LATER)
        return err;
    later_add(later, &r);
    return 0;
}

static int digest_put_off(struct digester *d, struct later *later)
{
    struct reading r = later_take(later);
    return digester_digest(d, &r, reading_next);
}

static int digest_next(struct digester *d, struct later *later)
{
    later->rounds++;
    if (later_is_due(later))
        return digest_put_off(d, later);
    struct slot *s;
    int err = leat_try_recv(d->flow->todo, &s);
    if ((err == -EAGAIN || err == -EPIPE) && later->count > 0)
        return digest_put_off(d, later);
    if (err == -EAGAIN) {
        err = digester_hand_over(d);
        atomic_fetch_sub_explicit(&d->flow->busy, 1, memory_order_relaxed);
        if (!err)
            err = leat_recv(d->flow->todo, &s);
        atomic_fetch_add_explicit(&d->flow->busy, 1, memory_order_relaxed);
    }
    return err ? err : digest_slot(d, s, later);
}

static int work(struct digester *d)
{
    struct later later = { .most = d->flow->files - 1 };
    int err;
    atomic_fetch_add_explicit(&d->flow->busy, 1, memory_order_relaxed);
    do {
        err = digest_next(d, &later);
        if (!err)
            err = leat_cancelled(NULL) ? -ECANCELED : digester_hand_over_when_due(d);
    } while (!err);
    atomic_fetch_sub_explicit(&d->flow->busy, 1, memory_order_relaxed);
    later_close(&later);
    return err == -EPIPE ? digester_hand_over(d) : err;
}

static int before_wait(void *digester)
{
    return digester_hand_over(digester);
}

int digest_task(void *flow)
{
    struct digester d = { .flow = flow, .handed_over = leat_now() };
    d.turn = (struct turn){ .before_wait = before_wait, .arg = &d };
    d.hashers.selection = d.flow->selection;
    d.chunk = malloc(CHUNK);
    int err = -ENOMEM;
    if (d.chunk)
        err = d.flow->way ? lanes_work(&d) : work(&d);
    hashers_close(&d.hashers);
    free(d.chunk);
    return err;
}
