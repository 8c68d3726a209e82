#include "look/head.h"

#include "look/cells.h"
#include "look/format.h"

#include <math.h>

static void draw_program(struct canvas *c, const struct document *d)
{
    char up[FORMATTED], members[FORMATTED], pid[FORMATTED];
    canvas_put(c, BOLD, d->program);
    canvas_print(c, NORMAL, " %s, up %s, %s members", format_count(pid, d->pid),
                 format_seconds(up, d->uptime), format_count(members, d->members));
    if (d->sampled)
        canvas_put(c, YELLOW, ", sampled");
    canvas_print(c, NORMAL, ", leat %s", d->leat);
}

static void draw_gone(struct canvas *c, const struct document *d, const struct trouble *why)
{
    char pid[FORMATTED];
    canvas_put(c, BOLD, d->program);
    canvas_print(c, RED, " %s%s: %s; trying again", format_count(pid, d->pid),
                 why->gone ? " is gone" : "", why->said);
}

static void draw_counts(struct canvas *c, const struct document *d, const struct document *before)
{
    double seconds = before ? d->uptime - before->uptime : d->uptime;
    char n[5][FORMATTED];
    for (size_t i = 0; i < COUNT_TIMERS; i++) {
        double more = d->counts.n[i] - (before ? before->counts.n[i] : 0);
        double rate = seconds > 0 ? more / seconds : (double)NAN;
        canvas_print(c, NORMAL, "%s %s/s  ", document_counts[i], format_count(n[0], fmax(rate, 0)));
    }
    canvas_print(c, NORMAL, "timers %s  stacks %s, %s free  threads %s, %s free",
                 format_count(n[0], d->counts.n[COUNT_TIMERS]), format_count(n[1], d->stacks_used),
                 format_count(n[2], d->stacks_free), format_count(n[3], d->threads),
                 format_count(n[4], d->threads_free));
}

void head_draw(struct canvas *c, const struct document *d, const struct document *before,
               const struct trouble *why)
{
    if (is_trouble(why))
        draw_gone(c, d, why);
    else
        draw_program(c, d);
    canvas_end_line(c);
    draw_counts(c, d, before);
    canvas_end_line(c);
}

/* ---- workers ---- */

static size_t bar_width(const struct canvas *c)
{
    return c->columns < 60 ? 0 : c->columns < 140 ? 10 : 20;
}

/* The number of past loads that there is room for. */
static size_t line_width(const struct canvas *c)
{
    return c->columns < 100 ? 0 : c->columns < 140 ? 20 : c->columns < 180 ? 40 : 60;
}

static void draw_load(struct canvas *c, double load)
{
    static const char full[] = "||||||||||||||||||||";
    size_t width = bar_width(c);
    enum style style = load < 0.5 ? GREEN : load < 0.9 ? YELLOW : RED;
    if (width) {
        size_t begin = c->at + 1;
        canvas_put(c, NORMAL, "[");
        canvas_print(c, style, "%.*s", isnan(load) ? 0 : (int)lround(load * (double)width), full);
        canvas_to(c, NORMAL, begin + width);
        canvas_put(c, NORMAL, "] ");
    }
    if (isnan(load))
        canvas_put(c, NORMAL, "  -  ");
    else
        canvas_print(c, style, "%3.0f%% ", load * 100);
}

static void draw_runs(struct canvas *c, const struct document *d, const struct worker *w)
{
    if (!w->runs) {
        canvas_put(c, NORMAL, w->answered ? "runs nothing" : "");
        return;
    }
    canvas_print(c, NORMAL, "runs %s", w->runs);
    const struct party *p = document_find(d, w->runs, A_PARTY);
    if (!p || !cells_title(p))
        return;
    struct text name = { 0 };
    cells_add_name(&name, cells_title(p));
    const char *shown = text_string(&name);
    canvas_print(c, NORMAL, " %s", shown ? shown : "");
    text_free(&name);
}

static void draw_worker(struct canvas *c, const struct document *d, const struct document *before,
                        const struct history *h, const struct worker *w)
{
    char n[4][FORMATTED];
    canvas_print(c, BOLD, "worker %-3s ", format_count(n[0], w->number));
    draw_load(c, history_load(w, d, before));
    if (h)
        history_draw(h, w->number, line_width(c), c);
    canvas_print(c, NORMAL, " ready %-5s queued %-5s timers %-5s ", format_count(n[1], w->ready),
                 format_count(n[2], w->queued), format_count(n[3], w->counts.n[COUNT_TIMERS]));
    canvas_put(c, RED, w->answered ? "" : "does not answer ");
    draw_runs(c, d, w);
    canvas_end_line(c);
}

static void draw_others(struct canvas *c, const struct document *d, const struct document *before,
                        size_t first)
{
    double load = 0;
    size_t count = d->worker_count - first;
    for (size_t i = first; i < d->worker_count; i++)
        load += history_load(&d->workers[i], d, before);
    canvas_print(c, BOLD, "%zu more   ", count);
    draw_load(c, load / (double)count);
    canvas_end_line(c);
}

void head_draw_workers(struct canvas *c, const struct document *d, const struct document *before,
                       const struct history *h, size_t most)
{
    size_t shown = d->worker_count <= most ? d->worker_count : most ? most - 1 : 0;
    for (size_t i = 0; i < shown; i++)
        draw_worker(c, d, before, h, &d->workers[i]);
    if (most && shown < d->worker_count)
        draw_others(c, d, before, shown);
}
