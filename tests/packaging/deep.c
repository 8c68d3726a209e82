/* A task whose variables are larger than its stack and the guard below it together. It touches only
 * their far end, so nothing but the flags that leat passes on to its users catches that. */
#include <leat/leat.h>

static int deep_task(void *arg)
{
    volatile char much[1 << 20];
    (void)arg;
    much[0] = 1;
    return much[0] - 1;
}

static int run(void *arg)
{
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_go(scope, deep_task, arg);
    return leat_scope_close(scope);
}

int main(void)
{
    return leat_main(run, NULL) != 0;
}
