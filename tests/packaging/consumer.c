/* A task sends, the first one receives. Written in what C and C++ share. */
#include <stdio.h>

#include <leat/leat.h>

static int answer(void *arg)
{
    leat_chan *ch = (leat_chan *)arg;
    int n = 42;
    return leat_send(ch, &n);
}

static int run(void *arg)
{
    (void)arg;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_chan *ch = leat_chan_of(scope, int, 0);
    int err = leat_go(scope, answer, ch);
    int n = 0;
    leat_case cases[] = { LEAT_RECV(ch, &n) };
    if (err == 0 && leat_select(cases, 1, leat_after(10 * LEAT_S)) == 0)
        printf("from a task: %d\n", n);
    return leat_scope_close(scope);
}

int main(void)
{
    return leat_main(run, NULL) != 0;
}
