#include "far.h"

#include <errno.h>

/* How long an answer of the engine may take after the grace. */
#define PATIENCE LEAT_S

static unsigned exchanges(struct lk_far *far)
{
    /* Relaxed: it says only whether the loop has gone on. */
    return atomic_load_explicit(&far->exchanges, memory_order_relaxed);
}

static bool is_over(struct lk_far *far, int64_t until)
{
    return leat_recv_until(far->over, NULL, until) != -ETIMEDOUT;
}

int lk_hurry(void *arg)
{
    struct lk_far *far = arg;
    leat_recv(far->stop, NULL);
    int64_t grace = far->spec.grace;
    if (is_over(far, grace == LEAT_NEVER ? LEAT_NEVER : leat_after(grace)))
        return 0;
    for (;;) {
        unsigned before = exchanges(far);
        if (is_over(far, leat_after(PATIENCE)))
            return 0;
        if (before % 2 && before == exchanges(far))
            break;
    }
    lk_engine_shut(&far->engine);
    return 0;
}
