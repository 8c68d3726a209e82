#define _GNU_SOURCE
#include "shared/stop.h"

#include <signal.h>

/* Ignored, or handled already: LEAT_DUMP has a signal of its own. */
static bool is_taken(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler != SIG_DFL;
}

int stop_signals(leat_scope *scope, const int *signals, size_t n, leat_chan **come)
{
    int heeded[SIGRTMAX];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!is_taken(signals[i]))
            heeded[count++] = signals[i];
    *come = NULL;
    return count ? leat_signals(scope, heeded, count, come) : 0;
}

static int attend(void *arg)
{
    struct stop *s = arg;
    leat_signal got;
    leat_shield();
    while (leat_recv(s->come, &got) == 0) {
        bool pauses = got.signal == SIGTSTP || got.signal == SIGCONT;
        for (unsigned i = 0; i < (pauses ? 1 : got.times); i++)
            s->act(s->arg, got.signal);
    }
    leat_unshield();
    return 0;
}

int stop_open(struct stop *s, leat_scope *scope, bool pauses, stop_fn *act, void *arg)
{
    static const int all[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT };
    *s = (struct stop){ .act = act, .arg = arg };
    int error = stop_signals(scope, all, pauses ? 6 : 4, &s->come);
    return error || !s->come ? error : leat_go(scope, attend, s);
}

void stop_close(struct stop *s)
{
    leat_close(s->come);
}
