#include "shared/shortage.h"

#include <errno.h>

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
        *patience = (struct patience){ leat_mutex_lock(turn) == 0, SHORTAGE_TRIES + 1 };
        return patience->has_turn;
    }
    patience->left = alone ? patience->left - 1 : SHORTAGE_TRIES + 1;
    if (patience->left == 0)
        return false;
    return ends ? leat_recv_until(ends, NULL, leat_after(SHORTAGE_PAUSE)) == -ETIMEDOUT
                : leat_sleep(SHORTAGE_PAUSE) == 0;
}

void shortage_over(leat_mutex *turn, const struct patience *patience)
{
    if (patience->has_turn)
        leat_mutex_unlock(turn);
}
