/* link_near URL STAGE RUN OUTPUTS [NAME=VALUE...]: a near end, until its stage or SIGTERM ends it.
 * link_near URL STAGE RUN forget: removes the run.
 *
 * The items are the lines of the standard input; or, with count=N, the numbers below N, as far as
 * the size of the file that gate=PATH names. The line CUT cuts the input short, and BAD is an item
 * that cannot be packed. The consumer adds each output to the file OUTPUTS, "INDEX STATUS VALUE",
 * and passes over what the file has: then it adds "again INDEX". So a process that was killed can
 * be started again. */
#include "link_common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>

struct output {
    leat_outcome outcome;
    uint64_t value;
};

struct near {
    struct program program;
    leat_chan *in;
    leat_failing failing;
    int file;
    uint64_t received;
    char *has; /* for each index: whether the file has it */
    size_t has_room;
};

/* ---- inputs: not of the stage's scope, which closes when the stage ends ---- */

static int send_text(struct near *near, char *text, size_t size)
{
    leat_line line = { .text = text, .size = size };
    int error = leat_send(near->in, &line);
    if (error)
        leat_line_free(&line);
    return error;
}

/* Waits until the file has more than `bytes` bytes: so the test says how far the input goes. */
static int wait_for_gate(const char *path, int64_t bytes)
{
    struct stat status;
    int error = 0;
    while (!error && stat(path, &status) == 0 && status.st_size <= bytes)
        error = leat_sleep(2 * LEAT_MS);
    return error;
}

static int count_up(struct near *near, int64_t count)
{
    const char *gate = text_option(&near->program, "gate", NULL);
    int error = 0;
    for (int64_t i = 0; !error && i < count; i++) {
        char text[24];
        if (gate && i % 16 == 0)
            wait_for_gate(gate, i);
        int n = snprintf(text, sizeof text, "%" PRId64, i);
        error = send_text(near, strdup(text), (size_t)n);
    }
    return error;
}

static int pass_lines(struct near *near)
{
    leat_io *io;
    leat_chan *lines;
    leat_line line;
    int error = leat_io_adopt(near->program.around, 0, &io);
    error = error ? error : leat_lines(near->program.around, io, NULL, &lines);
    while (!error && leat_recv(lines, &line) == 0) {
        if (strcmp(line.text, "CUT") == 0)
            leat_cut(near->in);
        error = send_text(near, line.text, line.size);
    }
    return error;
}

static int feed(void *arg)
{
    struct near *near = arg;
    int64_t count = option(&near->program, "count", -1);
    int error = count < 0 ? pass_lines(near) : count_up(near, count);
    leat_close(near->in);
    return error == -EPIPE ? 0 : error;
}

static int pack(void *unused, const void *item, leat_bytes *to)
{
    (void)unused;
    const leat_line *line = item;
    return strcmp(line->text, "BAD") ? leat_bytes_add(to, line->text, line->size) : -EBADMSG;
}

/* ---- outputs ---- */

static bool mark(struct near *near, uint64_t index)
{
    if (index >= near->has_room) {
        size_t room = 2 * index + 1024;
        near->has = realloc(near->has, room);
        if (!near->has)
            exit(99);
        memset(near->has + near->has_room, 0, room - near->has_room);
        near->has_room = room;
    }
    bool had = near->has[index];
    near->has[index] = 1;
    return had;
}

/* The part of the file that earlier processes wrote. */
static void read_file(struct near *near, const char *path)
{
    char line[128];
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (*line >= '0' && *line <= '9')
            mark(near, strtoull(line, NULL, 10));
    if (file)
        fclose(file);
}

static void consume(struct near *near, const struct output *output)
{
    char line[128];
    uint64_t index = near->failing == LEAT_FAIL_TELLS ? output->outcome.index : near->received;
    int n = mark(near, index) ? snprintf(line, sizeof line, "again %" PRIu64 "\n", index)
                              : snprintf(line, sizeof line, "%" PRIu64 " %d %" PRIu64 "\n", index,
                                         output->outcome.status, output->value);
    write_line(near->file, line, n);
    near->received++;
}

/* Returns how the output has ended. */
static int consume_all(struct near *near, leat_chan *out)
{
    const uint64_t enough = (uint64_t)option(&near->program, "enough", INT64_MAX);
    const size_t head = near->failing == LEAT_FAIL_TELLS ? 0 : sizeof(leat_outcome);
    struct output output = { 0 };
    int error = near->received == enough ? leat_close(out) : 0;
    while (!error && (error = leat_recv(out, (char *)&output + head)) == 0) {
        consume(near, &output);
        if (near->received == enough)
            leat_close(out);
    }
    return error;
}

/* ---- the stage ---- */

static leat_chan *open_stage(struct near *near)
{
    struct program *p = &near->program;
    leat_scope *scope = p->scope;
    near->in = leat_chan_open(p->around, &(leat_chan_spec){ .item_size = sizeof(leat_line),
                                                            .capacity = 64,
                                                            .drop = leat_line_free });
    const char *failing = text_option(p, "failing", "tells");
    near->failing = *failing == 't'   ? LEAT_FAIL_TELLS
                    : *failing == 'd' ? LEAT_FAIL_DROPS
                                      : LEAT_FAIL_CANCELS;
    leat_chan *out = leat_remote(
        scope, near->in,
        &(leat_remote_spec){ .link = p->link,
                             .stage = p->options[2],
                             .run = p->options[3],
                             .n = (unsigned)option(p, "n", 4),
                             .window = (unsigned)option(p, "window", 0),
                             .pack = pack,
                             .in_size = sizeof(leat_line),
                             .in_drop = leat_line_free,
                             .out_size = near->failing == LEAT_FAIL_TELLS ? sizeof(struct output)
                                                                          : sizeof(uint64_t),
                             .max_bytes = (size_t)option(p, "max", 0),
                             .tries = (unsigned)option(p, "tries", 0),
                             .unordered = (int)option(p, "unordered", 0),
                             .failing = near->failing,
                             .capacity = (size_t)option(p, "capacity", 0) });
    if (out)
        leat_go(p->around, feed, near);
    return out;
}

static int run(void *arg)
{
    struct near *near = arg;
    struct program *p = &near->program;
    int error = begin(p, p->options[1]);
    if (error) {
        printf("open %d\n", error);
    } else if (strcmp(p->options[4], "forget") == 0) {
        printf("forget %d\n", leat_link_forget(p->link, p->options[2], p->options[3]));
    } else {
        near->file = open_log(p->options[4]);
        read_file(near, p->options[4]);
        leat_chan *out = open_stage(near);
        printf("opened %d\n", out ? 0 : -1);
        fflush(stdout);
        printf("ending %d\n", out ? consume_all(near, out) : 0);
    }
    printf("verdict %d\n", end(p));
    free(near->has);
    return 0;
}

int main(int argc, char **argv)
{
    struct near near = { .program = { .options = argv } };
    if (argc < 5)
        return 2;
    return leat_main(run, &near);
}
