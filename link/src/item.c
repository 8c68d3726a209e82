#include "far.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void lk_item_link(struct lk_item **list, struct lk_item *item)
{
    item->next = *list;
    item->before = list;
    if (*list)
        (*list)->before = &item->next;
    *list = item;
}

void lk_item_unlink(struct lk_item *item)
{
    *item->before = item->next;
    if (item->next)
        item->next->before = item->before;
}

void lk_item_free(struct lk_item *item)
{
    lk_bytes_free(&item->result);
    free(item);
}

struct lk_item *lk_item_find(struct lk_item *item, const char *index)
{
    while (item && (item->lost || strcmp(item->index, index) != 0))
        item = item->next;
    return item;
}

void lk_item_lose(struct lk_item *item)
{
    lk_lock(&item->far->lock);
    item->lost = true;
    if (item->scope)
        leat_scope_cancel(item->scope);
    pthread_mutex_unlock(&item->far->lock);
}

/* Sets the scope of the function that runs. Returns whether the item is lost. */
static bool set_scope(struct lk_item *item, leat_scope *scope)
{
    lk_lock(&item->far->lock);
    item->scope = scope;
    bool lost = item->lost;
    pthread_mutex_unlock(&item->far->lock);
    return lost;
}

static int work(void *arg)
{
    struct lk_item *item = arg;
    struct lk_far *far = item->far;
    item->status = -ENOMEM;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    if (scope) {
        item->status = set_scope(item, scope)
                           ? -ECANCELED
                           : far->spec.run(far->spec.arg, &item->argument, &item->result);
        set_scope(item, NULL);
        leat_scope_close(scope);
    }
    leat_try_send(far->ended, &item); /* `ended` has room for n items */
    return 0;
}

int lk_item_start(struct lk_far *far, struct lk_run *run, const char *index, unsigned again,
                  const void *data, size_t size)
{
    struct lk_item *item = malloc(sizeof *item + size + 1);
    if (!item)
        return -ENOMEM;
    *item = (struct lk_item){ .far = far, .run = run, .result = { .most = far->spec.max_bytes } };
    if (size)
        memcpy(item->data, data, size);
    item->data[size] = '\0';
    int name = snprintf(item->key, sizeof item->key, "%s/", run->keys.run);
    snprintf(item->key + name, sizeof item->key - (size_t)name, "%s", index);
    item->index = item->key + name;
    item->argument = (leat_far_item){ .data = item->data,
                                      .size = size,
                                      .run = run->keys.run,
                                      .index = strtoull(index, NULL, 10),
                                      .again = again,
                                      .key = item->key };
    int error = far->spec.blocking
                    ? leat_go_blocking_named(far->crowd, work, item, far->spec.stage)
                    : leat_go_named(far->crowd, work, item, far->spec.stage, far->spec.stack_size);
    if (error) {
        lk_item_free(item);
        return error;
    }
    lk_item_link(&run->held, item);
    far->running++;
    far->free--;
    return 0;
}
