/* bare: a program with nothing but leat's own threads, until it is killed. */
#include <leat/leat.h>

static int wait_for_ever(void *unused)
{
    (void)unused;
    return leat_sleep_until(LEAT_NEVER);
}

int main(void)
{
    return leat_main(wait_for_ever, NULL) != 0;
}
