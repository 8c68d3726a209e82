#include "remote.h"

#include <errno.h>
#include <stdlib.h>

enum { N_MOST = 65536, WINDOW_MOST = 1 << 20, WINDOW_LEAST = 4096, ITEM_MOST = 1 << 20, TRIES = 5 };

static void free_remote(void *pointer)
{
    struct lk_remote *remote = pointer;
    for (uint64_t i = 0; remote->slots && i < remote->ring; i++) {
        lk_bytes_free(&remote->slots[i].packed.bytes);
        free(remote->slots[i].result.data);
    }
    free(remote->slots);
    free(remote->entries);
    free(remote->failed);
    free(remote->item);
    free(remote->output);
    lk_keys_free(&remote->keys);
    lk_engine_free(&remote->publisher);
    lk_engine_free(&remote->deliverer);
    pthread_mutex_destroy(&remote->lock);
    free(remote);
}

/* ---- the description ---- */

static int check(const leat_scope *scope, const leat_chan *in, const leat_remote_spec *spec)
{
    size_t least = spec && spec->failing == LEAT_FAIL_TELLS ? sizeof(leat_outcome) : 0;
    if (!scope || !in || !spec || !spec->link)
        return -EINVAL;
    if (!lk_is_name(spec->stage) || !lk_is_name(spec->run) || !spec->n || spec->n > N_MOST)
        return -EINVAL;
    if (spec->window && (spec->window < spec->n || spec->window > WINDOW_MOST))
        return -EINVAL;
    if (spec->in_size != leat_chan_item_size(in))
        return -EINVAL;
    if (spec->out && spec->out_size != leat_chan_item_size(spec->out))
        return -EINVAL;
    if (spec->out_size > ITEM_MOST || spec->out_size < least)
        return -EINVAL;
    if ((unsigned)spec->failing > LEAT_FAIL_TELLS || (unsigned)spec->ending > LEAT_ENDS_OPEN)
        return -EINVAL;
    return spec->max_bytes > LK_BYTES_MOST ? -EINVAL : 0;
}

static void fill_in(leat_remote_spec *spec)
{
    unsigned window = spec->n > WINDOW_LEAST / 4 ? 4 * spec->n : WINDOW_LEAST;
    spec->window = spec->window ? spec->window : window;
    spec->max_bytes = spec->max_bytes ? spec->max_bytes : LK_MAX_BYTES;
    spec->tries = spec->tries ? spec->tries : TRIES;
}

/* ---- making it ---- */

static int make_channels(struct lk_remote *remote)
{
    const leat_remote_spec *spec = &remote->spec;
    leat_scope *scope = remote->scope;
    remote->out = spec->out;
    if (!remote->out)
        remote->out = leat_chan_open(scope, &(leat_chan_spec){ .item_size = spec->out_size,
                                                               .capacity = spec->capacity,
                                                               .drop = spec->drop,
                                                               .name = spec->stage });
    remote->opened = leat_chan_make(scope, 0, 0);
    remote->quit = leat_chan_make(scope, 0, 0);
    remote->bell = leat_chan_make(scope, 0, 1);
    remote->window = leat_semaphore_open(scope, spec->window);
    return remote->out && remote->opened && remote->quit && remote->bell && remote->window
               ? 0
               : -ENOMEM;
}

static struct lk_remote *make(leat_scope *scope, leat_chan *in, const leat_remote_spec *spec)
{
    struct lk_remote *remote = malloc(sizeof *remote);
    if (!remote)
        return NULL;
    *remote = (struct lk_remote){ .spec = *spec, .scope = scope, .in = in, .total = UINT64_MAX };
    fill_in(&remote->spec);
    pthread_mutex_init(&remote->lock, NULL);
    lk_engine_init(&remote->publisher, spec->link);
    lk_engine_init(&remote->deliverer, spec->link);
    remote->item = calloc(1, spec->in_size + 1);
    remote->output = calloc(1, spec->out_size + 1);
    bool drops = spec->failing == LEAT_FAIL_DROPS;
    if (drops)
        remote->failed = malloc(remote->spec.window * sizeof *remote->failed);
    if (!remote->item || !remote->output || (drops && !remote->failed) ||
        lk_keys_make(&remote->keys, spec->link, spec->stage, spec->run) != 0 ||
        make_channels(remote) != 0 || lk_own(scope, remote, free_remote) != 0) {
        free_remote(remote);
        return NULL;
    }
    return remote;
}

leat_chan *leat_remote(leat_scope *scope, leat_chan *in, const leat_remote_spec *spec)
{
    if (check(scope, in, spec) != 0)
        return NULL;
    struct lk_remote *remote = make(scope, in, spec);
    if (!remote)
        return NULL;
    /* A task that has started waits for `opened`: `quit` ends it before it takes an item. */
    if (leat_go_named(scope, lk_deliver, remote, "deliver", 0) != 0)
        return NULL;
    if (leat_go_named(scope, lk_pack, remote, "pack", 0) != 0 ||
        leat_go_named(scope, lk_publish, remote, "publish", 0) != 0) {
        leat_close(remote->quit);
        return NULL;
    }
    return remote->out;
}
