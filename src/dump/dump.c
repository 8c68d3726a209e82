/* dump.c: dumps for the user. */
#include "base/cancel.h"
#include "dump/print.h"
#include "watch/look.h"

#include <leat/watch.h>

#include <errno.h>
#include <stdlib.h>

typedef void printer(FILE *to, const struct lt_look *look);

/* In one piece, and after the look, so that a slow reader delays nothing else. */
static int print_whole(FILE *to, printer *print, const struct lt_look *look)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return -ENOMEM;
    print(file, look);
    int error = fclose(file) != 0                                      ? -ENOMEM
                : fwrite(text, 1, size, to) != size || fflush(to) != 0 ? -EIO
                                                                       : 0;
    free(text);
    return error;
}

static int look_and_print(FILE *to, printer *print, const void *caller)
{
    struct lt_look look;
    int saved = errno, cancel = lt_cancel_put_off();
    int error = to ? lt_look_begin(&look, caller, NULL) : -EINVAL;
    if (!error) {
        error = print_whole(to, print, &look);
        lt_look_end(&look);
    }
    lt_cancel_restore(cancel);
    errno = saved;
    return error;
}

/* Not inlined (link-time optimization might do it): the address would be that of another call. */
__attribute__((noinline)) int leat_dump(FILE *to)
{
    return look_and_print(to, lt_print, lt_frames_wanted() ? __builtin_return_address(0) : NULL);
}

int leat_dump_graph(FILE *to)
{
    return look_and_print(to, lt_draw, NULL);
}
