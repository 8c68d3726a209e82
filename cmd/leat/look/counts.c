#include "look/counts.h"

#include "look/cells.h"

#include <math.h>

static void fill_count(struct table *t, const char *name, double number, double rate,
                       const char *meaning)
{
    table_row(t, name, 0);
    table_text(t, name);
    cells_add_count(t, number);
    cells_add_count(t, rate);
    table_text(t, meaning);
}

void counts_fill(struct table *t, const struct document *d, const struct document *before)
{
    const struct counts *now = &d->counts,
                        *was = document_follows(d, before) ? &before->counts : NULL;
    double none = (double)NAN, seconds = was ? d->uptime - before->uptime : none;
    static const struct counts nothing;
    if (!was)
        was = &nothing;
    fill_count(t, "switches", now->switches, (now->switches - was->switches) / seconds,
               "a task, block or callback began to run or ran again");
    fill_count(t, "started", now->started, (now->started - was->started) / seconds,
               "tasks have started");
    fill_count(t, "received", now->received, (now->received - was->received) / seconds,
               "parties were made ready by another thread");
    fill_count(t, "stolen", now->stolen, (now->stolen - was->stolen) / seconds,
               "parties were stolen before they started");
    fill_count(t, "moved", now->moved, (now->moved - was->moved) / seconds,
               "started parties were stolen");
    fill_count(t, "sleeps", now->sleeps, (now->sleeps - was->sleeps) / seconds,
               "a worker found nothing to do");
    fill_count(t, "timers", now->timers, none, "deadlines have not passed yet");
    fill_count(t, "stacks", d->stacks_used, none, "stacks are in use");
    fill_count(t, "stacks, free", d->stacks_free, none, "stacks are mapped and not in use");
    fill_count(t, "threads", d->threads, none, "threads are in the pool for calls that block");
    fill_count(t, "threads, free", d->threads_free, none, "of these have no work");
}
