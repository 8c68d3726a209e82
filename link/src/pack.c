/* pack.c: the task that takes items from the input. */
#include "remote.h"

#include <errno.h>

static void drop_input(const struct lk_remote *remote)
{
    if (remote->spec.in_drop)
        remote->spec.in_drop(remote->item);
}

/* 0; -ESHUTDOWN when the stage ends; or what a receive returns. */
static int take(struct lk_remote *remote)
{
    int error = leat_try_recv(remote->in, remote->item);
    if (error != -EAGAIN)
        return error;
    leat_case cases[] = { LEAT_RECV(remote->quit, NULL), LEAT_RECV(remote->in, remote->item) };
    int i = leat_select_ordered(cases, 2, LEAT_NEVER);
    return i < 0 ? i : i == 0 ? -ESHUTDOWN : cases[1].status;
}

/* -ESHUTDOWN when the stage ends. If `out` is closed, the deliverer's wait for results ends too. */
static int wait_for_window(struct lk_remote *remote)
{
    int error = leat_acquire(remote->window, 1);
    if (!error && leat_chan_closed(remote->out)) {
        lk_engine_shut(&remote->deliverer);
        error = -ESHUTDOWN;
    }
    return error ? error : leat_chan_closed(remote->quit) ? -ESHUTDOWN : 0;
}

static int skip_inputs(struct lk_remote *remote)
{
    for (uint64_t i = 0; i < remote->skip; i++) {
        int error = take(remote);
        if (error)
            return error;
        drop_input(remote);
    }
    return 0;
}

static void pack_item(struct lk_remote *remote, struct lk_packed *to)
{
    const leat_remote_spec *spec = &remote->spec;
    to->bytes.most = spec->max_bytes;
    to->bytes.size = 0;
    to->status = spec->pack ? spec->pack(spec->arg, remote->item, &to->bytes)
                            : leat_bytes_add(&to->bytes, remote->item, spec->in_size);
    drop_input(remote);
}

static int pack_all(struct lk_remote *remote)
{
    for (uint64_t index = remote->skip;; index++) {
        int error = wait_for_window(remote);
        error = error ? error : take(remote);
        if (error)
            return error;
        pack_item(remote, &lk_slot(remote, index)->packed);
        /* Release: the publisher sees the slot. */
        atomic_store_explicit(&remote->packed_to, index + 1, memory_order_release);
        lk_ring(remote);
    }
}

int lk_pack(void *arg)
{
    struct lk_remote *remote = arg;
    leat_case cases[] = { LEAT_RECV(remote->opened, NULL), LEAT_RECV(remote->quit, NULL) };
    int i = leat_select_ordered(cases, 2, LEAT_NEVER);
    if (i != 0)
        return i < 0 ? i : 0;
    int error = skip_inputs(remote);
    error = error ? error : pack_all(remote);
    if (error == -ESHUTDOWN)
        return 0;
    if (error != -EPIPE && leat_cancelled(NULL))
        return error;
    atomic_store_explicit(&remote->cut, error != -EPIPE, memory_order_relaxed);
    /* Release: a reader of the total sees the slots below it, and `cut`. */
    atomic_store_explicit(&remote->total,
                          atomic_load_explicit(&remote->packed_to, memory_order_relaxed),
                          memory_order_release);
    lk_ring(remote);
    return 0;
}
