/* show.c: the progress line of a run. */
#include "map/run.h"

#include <stdio.h>

static void describe(struct run *run, char *text, size_t room)
{
    char left[32] = "", of[32] = "";
    pthread_mutex_lock(&run->lock);
    uint64_t running = run->tally.running, failed = run->tally.failed, passed = run->tally.passed;
    uint64_t total = run->total;
    double ended = (double)(run->tally.succeeded + failed);
    pthread_mutex_unlock(&run->lock);
    double seconds = (double)(run_now(run) - run->streams.progress.started) / 1e9;
    double all = (double)total - (double)passed;
    if (total)
        snprintf(of, sizeof of, " of %llu", (unsigned long long)(total - passed));
    if (total && ended > 0 && all >= ended)
        progress_add_left(left, sizeof left, (all - ended) * seconds / ended);
    snprintf(text, room, "%.0f%s jobs done, %llu running, %llu failed, %.1f/s%s", ended, of,
             (unsigned long long)running, (unsigned long long)failed, ended / seconds, left);
}

int draw_progress(void *arg)
{
    struct run *run = arg;
    struct progress *progress = &run->streams.progress;
    if (!progress->on)
        return 0;
    while (leat_sleep_until(progress_due(progress)) == 0) {
        if (!progress_is_due(progress))
            continue;
        char text[PROGRESS_MOST];
        describe(run, text, sizeof text);
        streams_show(&run->streams, text);
    }
    return 0;
}
