#include "link.h"

#include <leat/leat.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void lk_report(const leat_link *link, const char *format, ...)
{
    char message[512];
    if (!link->tell)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    link->tell(link->arg, message);
}

void lk_lock(pthread_mutex_t *lock)
{
    if (!leat_sim_running())
        pthread_mutex_lock(lock);
    else
        while (pthread_mutex_trylock(lock) != 0)
            leat_yield();
}

struct owned {
    void *pointer;
    lk_free_fn *fn;
};

static void drop_owned(void *item)
{
    const struct owned *owned = item;
    owned->fn(owned->pointer);
}

/* A scope drops what is left in its channels after its last task has ended. */
int lk_own(leat_scope *scope, void *pointer, lk_free_fn *fn)
{
    struct owned owned = { pointer, fn };
    leat_chan *owner = leat_chan_open(
        scope, &(leat_chan_spec){
                   .item_size = sizeof owned, .capacity = 1, .drop = drop_owned, .name = "owner" });
    return owner && leat_try_send(owner, &owned) == 0 ? 0 : -ENOMEM;
}
