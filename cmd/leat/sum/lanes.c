/* lanes.c: a digester of many files at once, each in a lane of vector registers
 * (kernels/kernels.h).
 *
 * It works in rounds: claim files, take all lanes forward by the blocks that the emptiest one has,
 * hand over the files that have ended, refill the lanes that are empty. It never waits for a full
 * set of lanes, nor for another digester. A small file is read and closed before it gets its lane,
 * so it takes one round or a few. The active lanes are always the first ones. If they are so few
 * that one message at a time is faster, only the first is at work.
 *
 * A file whose first bytes must come from the disk is put off (later.h).
 *
 * A file that may keep its reader waiting, such as a pipe, gets no lane: it would keep the other
 * lanes waiting. It is digested alone, when all lanes are empty. So is a file that needs a digest
 * other than the first. */
#include "digester.h"
#include "later.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes read at a time, in whole blocks: those of all lanes together fit the core's cache. */
enum { CHUNK = 32 * 1024 };

struct lane {
    struct reading reading;
    unsigned char *bytes; /* CHUNK + LANE_PAD of them */
    size_t at, end;       /* bytes in [at, end) must still be digested */
    uint64_t total;       /* bytes read so far */
    bool ended;           /* the whole file has been read */
};

struct lanes {
    struct digester *digester;
    const struct lane_digest *digest;
    const struct lane_way *way;
    const struct lane_kernel *single; /* for fewer active lanes than `worth` */
    unsigned most, worth, active;
    struct lane_states states;
    struct lane lane[LANE_MOST];
    struct reading alone; /* the file to digest next, without a lane; its slot is NULL if none is */
    struct later later;   /* together with the active lanes, no more than `most` */
    unsigned char *memory;
};

/* Reads into an empty lane until it is full or the file ends. The end adds the padding, so the lane
 * only has whole blocks. `read` reads the first bytes. 0 or the error. */
static int fill(struct lanes *ls, struct lane *l, reading_fn *read)
{
    l->at = l->end = 0;
    uint64_t before = l->total;
    ssize_t n = 1;
    flow_show(ls->digester->flow, l->reading.slot);
    for (; l->end < CHUNK && n > 0; read = reading_next) {
        n = read(&l->reading, l->bytes + l->end, CHUNK - l->end);
        if (n > 0) {
            l->end += (size_t)n;
            l->total += (uint64_t)n;
        }
    }
    atomic_fetch_add_explicit(&ls->digester->flow->digested, l->total - before,
                              memory_order_relaxed);
    if (n > 0)
        return 0;
    if (n == READING_LATER)
        return READING_LATER;
    reading_close(&l->reading);
    if (n < 0)
        return (int)n;
    size_t whole = l->end / LANE_BLOCK * LANE_BLOCK;
    l->end = whole + lane_pad(ls->digest, l->bytes + whole, l->end - whole, l->total);
    l->ended = true;
    return 0;
}

/* Reads the first bytes of the file in the first free lane, or puts the file off. */
static int read_first(struct lanes *ls, reading_fn *read)
{
    struct lane *l = &ls->lane[ls->active];
    int err = fill(ls, l, read);
    if (err == READING_LATER)
        later_add(&ls->later, &l->reading);
    else if (err)
        return digester_end(ls->digester, &l->reading, err);
    else
        lane_begin(ls->digest, &ls->states, ls->active++);
    return 0;
}

static int open_file(struct lanes *ls, struct slot *s)
{
    struct digester *d = ls->digester;
    struct lane *l = &ls->lane[ls->active];
    *l = (struct lane){ .bytes = l->bytes };
    int err = reading_open(&l->reading, d->flow, s, &d->turn);
    if (!err && (l->reading.patient || s->wanted != 1)) {
        ls->alone = l->reading;
        return 0;
    }
    if (err)
        return digester_end(ls->digester, &l->reading, err);
    return read_first(ls, later_has_room(&ls->later) ? reading_begin : reading_next);
}

/* Starts the file that was put off first. */
static int resume_put_off(struct lanes *ls)
{
    struct lane *l = &ls->lane[ls->active];
    *l = (struct lane){ .bytes = l->bytes, .reading = later_take(&ls->later) };
    return read_first(ls, reading_next);
}

/* Ends the lane's file; the last active lane takes its place. */
static void end_lane(struct lanes *ls, unsigned lane, int error)
{
    struct lane *l = &ls->lane[lane], *last = &ls->lane[--ls->active], ended = *l;
    reading_close(&ended.reading);
    lane_end(ls->digest, &ls->states, lane, ended.reading.slot->digest);
    digester_finish(ls->digester, ended.reading.slot, error);
    lane_move(&ls->states, lane, ls->active);
    *l = *last;
    last->bytes = ended.bytes;
}

/* 0, -EAGAIN if there is no file now, -EPIPE if there will be no more, or an error. */
static int claim_one(struct lanes *ls)
{
    if (later_is_due(&ls->later))
        return resume_put_off(ls);
    if (ls->active + ls->later.count == ls->most)
        return -EAGAIN;
    struct slot *s;
    int err = leat_try_recv(ls->digester->flow->todo, &s);
    if (err && ls->later.count > 0)
        return err == -ECANCELED ? err : resume_put_off(ls);
    if (err == -EAGAIN && ls->active == 0) {
        err = digester_hand_over(ls->digester);
        if (!err)
            err = leat_recv(ls->digester->flow->todo, &s);
    }
    return err ? err : open_file(ls, s);
}

/* Claims files for all lanes if many are waiting. If few are, each digester claims few at a time,
 * so that none goes without. Claims none while this digester has a turn at a disk (device.h): that
 * file must be read without a break. */
static int claim(struct lanes *ls)
{
    struct flow *f = ls->digester->flow;
    size_t share = 1 + leat_chan_len(f->todo) / (2 * (size_t)f->jobs);
    ls->later.rounds++;
    for (; share > 0 && ls->active < ls->most && !ls->alone.slot; share--) {
        if (ls->digester->turn.files > 0)
            return 0;
        int err = claim_one(ls);
        if (err)
            return err == -EAGAIN ? 0 : err;
    }
    return 0;
}

/* 0 or -ECANCELED. */
static int run_round(struct lanes *ls)
{
    const struct lane_kernel *k =
        ls->active < ls->worth ? ls->single : lane_kernel_for(ls->way, ls->active);
    unsigned n = k->lanes < ls->active ? k->lanes : ls->active;
    const unsigned char *in[LANE_MOST];
    size_t blocks = SIZE_MAX;
    for (unsigned i = 0; i < n; i++) {
        const struct lane *l = &ls->lane[i];
        size_t here = (l->end - l->at) / LANE_BLOCK;
        in[i] = l->bytes + l->at;
        blocks = here < blocks ? here : blocks;
    }
    lane_run(k, &ls->states, in, n, blocks);
    /* From the last one down: the lane that end_lane moves to place i needs nothing more in this
     * round. */
    for (unsigned i = n; i-- > 0;) {
        struct lane *l = &ls->lane[i];
        l->at += blocks * LANE_BLOCK;
        if (l->at < l->end)
            continue;
        int err = l->ended ? 0 : fill(ls, l, reading_next);
        if (err == -ECANCELED)
            return err;
        if (err || l->at == l->end)
            end_lane(ls, i, err);
    }
    return 0;
}

static int work(struct lanes *ls)
{
    for (;;) {
        int err = claim(ls);
        if (err == -EPIPE && ls->active == 0 && !ls->alone.slot)
            return digester_hand_over(ls->digester);
        if (err && err != -EPIPE)
            return err;
        if (leat_cancelled(NULL))
            return -ECANCELED;
        err = 0;
        if (ls->active > 0) {
            err = run_round(ls);
        } else if (ls->alone.slot) {
            err = digester_digest(ls->digester, &ls->alone, reading_next);
            ls->alone.slot = NULL;
        }
        if (!err)
            err = digester_hand_over_when_due(ls->digester);
        if (err)
            return err;
    }
}

int lanes_work(struct digester *d)
{
    struct lanes *ls = calloc(1, sizeof *ls);
    if (!ls)
        return -ENOMEM;
    const struct algorithm *a = d->flow->selection->at[0];
    ls->digester = d;
    ls->digest = a->lanes;
    ls->single = a->single;
    ls->way = d->flow->way;
    ls->worth = lane_way_worth(ls->way);
    ls->most = d->flow->files;
    ls->later.most = ls->most / 2 < LATER_MOST ? ls->most / 2 : LATER_MOST;
    ls->memory = malloc(ls->most * (size_t)(CHUNK + LANE_PAD));
    for (unsigned i = 0; i < ls->most && ls->memory; i++)
        ls->lane[i].bytes = ls->memory + i * (size_t)(CHUNK + LANE_PAD);
    int err = ls->memory ? work(ls) : -ENOMEM;
    for (unsigned i = 0; i < ls->active; i++)
        reading_close(&ls->lane[i].reading);
    later_close(&ls->later);
    if (ls->alone.slot)
        reading_close(&ls->alone);
    free(ls->memory);
    free(ls);
    return err;
}
