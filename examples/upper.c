/* upper: writes its input in capital letters: standard input, or the file that it is given. Eight
 * lines at a time are worked on, and they come out in their order.
 *
 *     stdin ──▶ leat_lines ──▶ capitals, 8 tasks ──▶ leat_write_lines ──▶ stdout
 */
#include <leat/leat.h>

#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

/* The line passes through: it is this function's now, and then the next receiver's. */
static int capitals(void *arg, const void *in, void *out)
{
    (void)arg;
    leat_line *line = out;
    *line = *(const leat_line *)in;
    for (size_t i = 0; i < line->size; i++)
        line->text[i] = (char)toupper((unsigned char)line->text[i]);
    return 0;
}

static int upper(void *arg)
{
    int in = arg ? open(arg, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO), out = dup(STDOUT_FILENO);
    leat_io *from = NULL, *to = NULL;
    leat_chan *lines = NULL;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_io_adopt(s, in, &from);
    leat_io_adopt(s, out, &to);
    int error = leat_lines(s, from, NULL, &lines);
    leat_chan *done = leat_pipeline(s, lines,
                                    &(leat_pipeline_spec){ .n = 8,
                                                           .window = 64,
                                                           .run = capitals,
                                                           .out_size = sizeof(leat_line),
                                                           .capacity = 64,
                                                           .drop = leat_line_free });
    if (!error)
        error = leat_write_lines(s, done, to);
    if (error)
        leat_scope_cancel(s);
    int result = leat_scope_close(s); /* the first error of a reader, a stage or a writer */
    return error ? error : result;
}

int main(int argc, char **argv)
{
    return leat_main(upper, argc > 1 ? argv[1] : NULL) < 0;
}
