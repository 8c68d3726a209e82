#include "base/cancel.h"
#include "watch/graph.h"
#include "watch/tell.h"

#include <leat/watch.h>

#include <errno.h>

typedef void teller(struct lt_text *text, const struct lt_look *look);

static int look_and_write(FILE *to, teller *tell, const void *caller)
{
    struct lt_look look;
    if (!to)
        return -EINVAL;
    int error = lt_look_begin(&look, caller, NULL);
    if (error)
        return error;
    struct lt_text text = { 0 };
    tell(&text, &look);
    lt_look_end(&look);
    return lt_text_end(&text, to);
}

static int look_and_tell(FILE *to, teller *tell, const void *caller)
{
    int cancel = lt_cancel_put_off(), error = look_and_write(to, tell, caller);
    lt_cancel_restore(cancel);
    return error;
}

/* Not inlined, as link-time optimization may do it: the address would be that of another call. */
__attribute__((noinline)) int leat_dump(FILE *to)
{
    return look_and_tell(to, lt_tell, lt_frames_wanted() ? __builtin_return_address(0) : NULL);
}

int leat_dump_graph(FILE *to)
{
    return look_and_tell(to, lt_draw, NULL);
}
