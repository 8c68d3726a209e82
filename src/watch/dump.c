#include "base/cancel.h"
#include "watch/graph.h"
#include "watch/tell.h"

#include <leat/watch.h>

#include <errno.h>

static int look_and_write(FILE *to, void (*tell)(struct lt_text *text, const struct lt_look *look))
{
    struct lt_look look;
    if (!to)
        return -EINVAL;
    int error = lt_look_begin(&look);
    if (error)
        return error;
    struct lt_text text = { 0 };
    tell(&text, &look);
    lt_look_end(&look);
    return lt_text_end(&text, to);
}

static int look_and_tell(FILE *to, void (*tell)(struct lt_text *text, const struct lt_look *look))
{
    int cancel = lt_cancel_put_off(), error = look_and_write(to, tell);
    lt_cancel_restore(cancel);
    return error;
}

int leat_dump(FILE *to)
{
    return look_and_tell(to, lt_tell);
}

int leat_dump_graph(FILE *to)
{
    return look_and_tell(to, lt_draw);
}
