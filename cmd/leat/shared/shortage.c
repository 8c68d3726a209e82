#include "shared/shortage.h"

#include <errno.h>

enum { tries = 101 };

static const int64_t moment = 10 * LEAT_MS;

bool shortage_is(int error)
{
    return error == -EAGAIN || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

bool shortage_of_watches(int error)
{
    return error == -ENOSPC || error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

bool shortage_wait(leat_mutex *turn, struct patience *patience, bool alone, leat_chan *ends)
{
    if (!patience->has_turn) {
        *patience = (struct patience){ leat_mutex_lock(turn) == 0, tries };
        return patience->has_turn;
    }
    patience->left = alone ? patience->left - 1 : tries;
    if (patience->left == 0)
        return false;
    return ends ? leat_recv_until(ends, NULL, leat_after(moment)) == -ETIMEDOUT
                : leat_sleep(moment) == 0;
}

void shortage_over(leat_mutex *turn, const struct patience *patience)
{
    if (patience->has_turn)
        leat_mutex_unlock(turn);
}
