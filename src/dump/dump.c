/* dump.c: dumps for the user. */
#include "base/cancel.h"
#include "dump/tell.h"
#include "watch/look.h"

#include <leat/watch.h>

#include <errno.h>
#include <stdlib.h>

typedef void teller(FILE *to, const struct lt_look *look);

/* In one piece, and after the look: a slow reader holds nothing up. */
static int tell_whole(FILE *to, teller *tell, const struct lt_look *look)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return -ENOMEM;
    tell(file, look);
    int error = fclose(file) != 0                                      ? -ENOMEM
                : fwrite(text, 1, size, to) != size || fflush(to) != 0 ? -EIO
                                                                       : 0;
    free(text);
    return error;
}

static int look_and_tell(FILE *to, teller *tell, const void *caller)
{
    struct lt_look look;
    int saved = errno, cancel = lt_cancel_put_off();
    int error = to ? lt_look_begin(&look, caller, NULL) : -EINVAL;
    if (!error) {
        error = tell_whole(to, tell, &look);
        lt_look_end(&look);
    }
    lt_cancel_restore(cancel);
    errno = saved;
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
