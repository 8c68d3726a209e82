/* modest.c: a little of everything, for a tool that is slow. */
#include <leat/leat.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct stage {
    leat_chan *in, *out;
};

static int relay(void *arg)
{
    struct stage *stage = arg;
    char text[100];
    while (leat_recv(stage->in, text) == 0) {
        char copy[200];
        memset(copy, 0, sizeof copy);
        memcpy(copy, text, sizeof text);
        if (leat_send(stage->out, copy) < 0)
            break;
    }
    leat_close(stage->out);
    return 0;
}

/* Uses more than a page of its stack. */
static int wait_for_ever(void *arg)
{
    volatile char much[6000];
    for (size_t i = 0; i < sizeof much; i++)
        much[i] = 1;
    return leat_recv(arg, NULL);
}

static int answer(void *arg)
{
    return *(int *)arg;
}

static int choose(void *arg)
{
    struct stage *stage = arg;
    char text[100] = "chosen";
    leat_case cases[] = { LEAT_RECV(stage->in, text), LEAT_SEND(stage->out, text) };
    for (int i = 0; i < 20; i++)
        if (leat_select(cases, 2, leat_after(LEAT_MS)) == -ECANCELED)
            return -ECANCELED;
    return 0;
}

static int run(void *arg)
{
    (void)arg;
    enum { STAGES = 4 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *chans[STAGES + 1];
    struct stage stages[STAGES];
    for (int i = 0; i <= STAGES; i++)
        chans[i] = leat_chan_make(s, 100, (size_t)i % 3);
    for (int i = 0; i < STAGES; i++) {
        stages[i] = (struct stage){ chans[i], chans[i + 1] };
        if (i == 2 ? leat_go_blocking(s, relay, &stages[i])
                   : leat_go_sized(s, i == 1 ? 128 * 1024 : 0, relay, &stages[i]))
            return 1;
    }
    for (int i = 0; i < 50; i++) {
        char text[100] = { 0 };
        snprintf(text, sizeof text, "item %d", i);
        if (leat_send(chans[0], text) || leat_recv(chans[STAGES], text))
            return 2;
    }
    leat_close(chans[0]);
    if (leat_scope_close(s))
        return 3;

    s = leat_scope_open(leat_after(20 * LEAT_MS));
    leat_chan *ch = leat_chan_make(s, 100, 1);
    struct stage both = { ch, ch };
    /* On a busy machine the deadline may pass earlier. */
    for (int i = 0; i < 300; i++) {
        int error = i % 3 ? leat_go(s, wait_for_ever, ch) : leat_go(s, choose, &both);
        if (error && error != -ECANCELED)
            return 4;
    }
    int value = 7, got = leat_blocking(answer, &value);
    if (got != 7 && got != -ECANCELED)
        return 5;
    int why = leat_scope_close(s);
    return why == -ETIMEDOUT || why == 0 ? 0 : 6;
}

int main(void)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        int result = leat_main_with(run, NULL, &(leat_options){ .workers = workers });
        if (result) {
            fprintf(stderr, "with %u workers: %d\n", workers, result);
            return 1;
        }
    }
    return 0;
}
