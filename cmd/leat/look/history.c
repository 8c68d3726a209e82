#include "look/history.h"

#include <langinfo.h>
#include <math.h>
#include <string.h>

double history_load(const struct worker *w, const struct document *d, const struct document *before)
{
    const struct worker *was = document_worker(before, w->number);
    double seconds = was ? d->uptime - before->uptime : d->uptime;
    double load = (w->cpu - (was ? was->cpu : 0)) / seconds;
    return isnan(load) ? load : fmin(fmax(load, 0), 1);
}

void history_add(struct history *h, const struct document *d, const struct document *before)
{
    if (d->pid != h->pid || d->uptime < h->uptime)
        *h = (struct history){ .pid = d->pid };
    h->uptime = d->uptime;
    for (size_t i = 0; i < HISTORY_WORKERS; i++)
        h->loads[i][h->next] = 0;
    for (size_t i = 0; i < d->worker_count; i++) {
        const struct worker *w = &d->workers[i];
        double load = before ? history_load(w, d, before) : (double)NAN;
        if (w->number < HISTORY_WORKERS && !isnan(load))
            h->loads[(size_t)w->number][h->next] = (unsigned char)(1 + lround(load * 254));
    }
    h->next = (h->next + 1) % HISTORY_POINTS;
}

void history_draw(const struct history *h, double worker, size_t points, struct canvas *to)
{
    static const char *const blocks[] = { " ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588" };
    static const char *const letters[] = { " ", "_", ".", ".", "-", "-", "=", "=", "#" };
    const char *const *marks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : letters;
    for (size_t i = points; worker < HISTORY_WORKERS && i-- > 0;) {
        size_t at = (h->next + HISTORY_POINTS - 1 - i) % HISTORY_POINTS;
        unsigned load = i < HISTORY_POINTS ? h->loads[(size_t)worker][at] : 0;
        canvas_put(to, NORMAL, marks[load ? 1 + load / 32 : 0]);
    }
}
