/* collect.c: the collector puts results in order, prints them and gives the slots back.
 *
 * It prints each result as soon as the order allows, and flushes when no other is ready. So output
 * comes in large pieces if results come fast, and at once if they come slowly. */
#include "flow.h"

#include <errno.h>
#include <stdlib.h>

struct collector {
    struct flow *flow;
    struct slot **ring; /* finished slots, at seq % FLOW_WINDOW; NULL: not finished */
    uint64_t next;      /* the seq of the slot to be printed next */
    struct chain spent;
};

static int give_back(struct collector *c)
{
    if (!c->spent.first)
        return 0;
    int err = leat_send(c->flow->spare, &c->spent);
    c->spent = (struct chain){ 0 };
    return err;
}

/* Returns 1 if no more must be printed: the output failed, or --fail-fast applies. */
static int print_ready(struct collector *c)
{
    struct emitter *e = c->flow->emitter;
    for (;;) {
        struct slot **place = &c->ring[c->next % FLOW_WINDOW], *s = *place;
        if (!s)
            return 0;
        *place = NULL;
        c->next++;
        bool more = emit(e, s);
        flow_wipe(c->flow, s);
        chain_add(&c->spent, s);
        if (!more || e->out.error)
            return 1;
    }
}

/* The first of the files that are being digested. A digester removes its slot from here before it
 * hands the slot over, and only this thread lets a slot be reused. So a slot that is here keeps its
 * name until then. */
static const struct slot *first_in_hand(struct flow *f)
{
    const struct slot *first = NULL;
    for (size_t i = 0; i < FLOW_IN_HAND; i++) {
        const struct slot *s = atomic_load_explicit(&f->in_hand[i], memory_order_acquire);
        if (s && (!first || s->seq < first->seq))
            first = s;
    }
    return first;
}

static void show_progress(struct flow *f)
{
    uint64_t digested = atomic_load_explicit(&f->digested, memory_order_relaxed);
    emit_progress(f->emitter, digested, &f->goal, first_in_hand(f));
}

static int next_finished(struct collector *c, struct chain *finished)
{
    struct flow *f = c->flow;
    int err = leat_try_recv(f->done, finished);
    if (err != -EAGAIN)
        return err;
    err = emit_flush(f->emitter);
    if (!err)
        err = give_back(c);
    if (err)
        return err;
    do {
        show_progress(f);
        err = leat_recv_until(f->done, finished, progress_due(&f->emitter->progress));
    } while (err == -ETIMEDOUT);
    return err;
}

static int collect(struct collector *c)
{
    for (;;) {
        struct chain finished;
        int err = next_finished(c, &finished);
        if (err)
            return err;
        if (leat_cancelled(NULL))
            return -ECANCELED;
        for (struct slot *s; (s = chain_take(&finished));)
            c->ring[s->seq % FLOW_WINDOW] = s;
        if (print_ready(c))
            return -EPIPE;
        show_progress(c->flow);
        if (c->spent.count >= FLOW_WINDOW / 4) {
            err = give_back(c);
            if (err)
                return err;
        }
    }
}

int collect_task(void *flow)
{
    struct collector c = { .flow = flow };
    c.ring = calloc(FLOW_WINDOW, sizeof *c.ring);
    if (!c.ring)
        return -ENOMEM;
    int err = collect(&c);
    /* -EPIPE: all results are printed, or no more must be. An error of the output is in
     * out.error. */
    if (err == -EPIPE)
        emit_flush(c.flow->emitter);
    free(c.ring);
    return err == -EPIPE || c.flow->emitter->out.error ? 0 : err;
}
