#include "chan/linger.h"

#include "base/clock.h"
#include "chan/now.h"
#include "sched/global_queue.h"
#include "sched/nudge.h"

#include <sched.h>

/* Whether no party but the running task needs the worker just now. */
static bool is_free(struct lt_worker *worker)
{
    /* Relaxed: hints. */
    int64_t timer = LT_HINT(worker->next_timer);
    return !LT_HINT(worker->ready_head) && lt_local_queue_length(&worker->local_queue) == 0 &&
           !lt_global_queue_any() && !lt_worker_has_mail(worker) && !lt_worker_is_nudged(worker) &&
           (timer == LEAT_NEVER || timer > lt_clock_now());
}

/* For a caller with nothing else to do: waits a moment for a full or empty buffer to change. Each
 * look takes the channel's cache line from the partners. So the looks become less and less
 * frequent. Then a look mostly finds room, or items, for many operations at once. */
static void wait_for_change(leat_chan *ch, enum lt_side side, struct lt_spin *spin,
                            struct lt_worker *here)
{
    enum { LONGEST = 128, YIELDS = 4 };
    unsigned left = lt_spin_looks(spin), yields = !here && lt_spin_paid(spin) ? YIELDS : 0;
    bool ready = false;
    for (unsigned pauses = 16; !ready && left >= pauses && (!here || is_free(here));
         ready = lt_chan_looks_ready(ch, side)) {
        for (unsigned i = 0; i < pauses; i++)
            lt_pause();
        left -= pauses;
        if (pauses < LONGEST)
            pauses *= 2;
    }
    for (; !ready && yields > 0; yields--) {
        sched_yield();
        ready = lt_chan_looks_ready(ch, side);
    }
    lt_spin_learn(spin, ready);
}

/* Before an operation at one end of a split buffer: waits while the other end gets some distance
 * ahead. Otherwise both ends use the same cache lines of the buffer, and these move at every item.
 * The wait ends when a look finds no more than the look before. If items have come one by one
 * lately, it waits only one time in LT_SPIN_PROBE. */
static void wait_for_distance(leat_chan *ch, struct lt_split *split, enum lt_side side,
                              struct lt_spin *spin)
{
    enum { FIRST = 16, LAST = 128 };
    size_t before = 0, left = lt_split_left(ch, split, side), found = left;
    if (left == 0 || (spin->alone >= LT_SPIN_PROBE && ++spin->alone % LT_SPIN_PROBE != 0))
        return;
    for (unsigned pauses = FIRST; left > before && left < 2 * split->few && pauses <= LAST;
         pauses *= 2) {
        for (unsigned i = 0; i < pauses; i++)
            lt_pause();
        before = left;
        left = lt_split_left(ch, split, side);
    }
    spin->alone = left > found || left >= 2 * split->few ? 0 : spin->alone + 1;
}

/* The spin state of a caller that should spin before it waits; else NULL. Spinning pays if there is
 * another processor to wait for and nothing else to do here: in a thread, or in a task that is
 * alone on its worker. (That worker would spin otherwise.) */
static struct lt_spin *spin_to_use(struct lt_party *self, struct lt_worker *here, int64_t deadline)
{
    struct lt_spin *spin = NULL;
    if (deadline == LEAT_NOW || lt_world())
        return NULL;
    if (self->kind == LT_THREAD)
        spin = &LT_CONTAINER(self, struct lt_thread, party)->spin;
    else if (self->kind == LT_TASK && is_free(here))
        spin = &here->spin;
    return spin && spin->most ? spin : NULL;
}

int lt_linger_at_end(leat_chan *ch, struct lt_split *split, enum lt_side side, void *item,
                     int64_t deadline, struct lt_party *self)
{
    int status = lt_split_move(ch, split, side, item, split->few);
    if (status == 0 || lt_chan_is_closed(ch))
        return status;
    struct lt_worker *here = lt_current_worker();
    struct lt_spin *spin = spin_to_use(self, here, deadline);
    if (spin && !lt_chan_looks_ready(ch, side))
        wait_for_change(ch, side, spin, here);
    if (spin && (!here || is_free(here)))
        wait_for_distance(ch, split, side, spin);
    return lt_split_move(ch, split, side, item, 1);
}

void lt_linger(leat_chan *ch, enum lt_side side, struct lt_thread *thread)
{
    if (thread->spin.most)
        wait_for_change(ch, side, &thread->spin, NULL);
}
