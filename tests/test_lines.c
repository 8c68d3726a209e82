/* test_lines.c: lines from descriptors to channels, and back. Random texts are compared with a slow
 * model. */
#define _GNU_SOURCE
#include "feeds.h"

#include "io/io.h"

#include <fcntl.h>

static leat_chan *open_lines(leat_scope *scope, size_t capacity)
{
    leat_chan *ch = leat_chan_open(scope, &(leat_chan_spec){ .item_size = sizeof(leat_line),
                                                             .capacity = capacity,
                                                             .drop = leat_line_free });
    CHECK(ch);
    return ch;
}

static leat_line line_of(const char *text)
{
    leat_line line = { strdup(text), strlen(text), 0 };
    CHECK(line.text);
    return line;
}

static int refuses_wrong_arguments(void *arg)
{
    (void)arg;
    const leat_lines_options too_long = { .most = (size_t)2 << 30 };
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    leat_chan *ch = NULL, *bytes = leat_chan_of(s, char, 1);
    leat_chan *lines = open_lines(s, 1);
    CHECK_IS(-EINVAL, leat_lines(NULL, pipe.out, NULL, &ch));
    CHECK_IS(-EINVAL, leat_lines(s, NULL, NULL, &ch));
    CHECK_IS(-EINVAL, leat_lines(s, pipe.out, NULL, NULL));
    CHECK_IS(-EINVAL, leat_lines(s, pipe.out, &too_long, &ch));
    CHECK_IS(-ENOMEM, leat_lines(s, pipe.out, &(leat_lines_options){ .capacity = SIZE_MAX }, &ch));
    CHECK(!ch);
    CHECK_IS(-EINVAL, leat_write_lines(NULL, lines, pipe.in));
    CHECK_IS(-EINVAL, leat_write_lines(s, NULL, pipe.in));
    CHECK_IS(-EINVAL, leat_write_lines(s, lines, NULL));
    CHECK_IS(-EINVAL, leat_write_lines(s, bytes, pipe.in));
    leat_line_free(NULL);
    leat_line_free(&(leat_line){ 0 });
    return leat_scope_close(s);
}
ON_WORKERS(refuses_wrong_arguments);

/* ---- chosen texts ---- */

/* The items: after the last piece of a line stands "|", after the others "+". */
static const struct chosen {
    const char *text, *items;
    size_t n; /* of the text; 0: up to its 0 byte */
    leat_lines_options options;
} chosen[] = {
    { .text = "", .items = "" },
    { .text = "\n", .items = "|" },
    { .text = "\n\n\n", .items = "|||" },
    { .text = "a", .items = "a|" },
    { .text = "a\nbc\n", .items = "a|bc|" },
    { .text = "a\n\nbc", .items = "a||bc|" },
    { .text = "a\0b\n\0\nc", .n = 7, .items = "a0b|0|c|" },
    { .text = "a\r\n\r\nb\r", .items = "aR|R|bR|" },
    { .text = "a\r\n\r\nb\r", .options = { .crlf = 1 }, .items = "a||bR|" },
    { .text = "a\r\r\n\rb\n", .options = { .crlf = 1 }, .items = "aR|Rb|" },
    { .text = "abc\nabcd\nabcde\n", .options = { .most = 4 }, .items = "abc|abcd|abcd+e|" },
    { .text = "abcdefgh\nx\n", .options = { .most = 4 }, .items = "abcd+efgh|x|" },
    { .text = "abcdefghi", .options = { .most = 4 }, .items = "abcd+efgh+i|" },
    { .text = "abcd", .options = { .most = 4 }, .items = "abcd|" },
    { .text = "abcde", .options = { .most = 4 }, .items = "abcd+e|" },
    { .text = "abc\r\nabcd\r\n", .options = { .most = 4 }, .items = "abcR|abcd+R|" },
    { .text = "abcd\r\ne", .options = { .most = 4, .crlf = 1 }, .items = "abcd|e|" },
    { .text = "abcde\r\ne", .options = { .most = 4, .crlf = 1 }, .items = "abcd+e|e|" },
    { .text = "abcd\re\n", .options = { .most = 4, .crlf = 1 }, .items = "abcd+Re|" },
    { .text = "abcd\r", .options = { .most = 4, .crlf = 1 }, .items = "abcd+R|" },
    { .text = "abcd\r\r\n", .options = { .most = 4, .crlf = 1 }, .items = "abcd+R|" },
    { .text = "ab\n", .options = { .most = 1, .capacity = 1 }, .items = "a+b|" },
};

static size_t add_item(char *items, const leat_line *line)
{
    size_t n = 0;
    for (size_t i = 0; i < line->size; i++) {
        char c = line->text[i];
        items[n++] = (char)(c == '\r' ? 'R' : c ? c : '0');
    }
    items[n++] = line->cut ? '+' : '|';
    CHECK_IS(0, line->text[line->size]);
    return n;
}

static int splits_chosen_texts(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < 2 * sizeof chosen / sizeof *chosen; i++) {
        const struct chosen *c = &chosen[i / 2];
        char items[100];
        size_t n = 0;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pipe pipe = open_pipe(s);
        struct feed f = { pipe.in, c->text, c->n ? c->n : strlen(c->text), i % 2 ? 100 : 1, 0 };
        leat_chan *lines;
        CHECK_IS(0, leat_lines(s, pipe.out, &c->options, &lines));
        CHECK_IS(c->options.capacity ? c->options.capacity : 64, leat_chan_cap(lines));
        CHECK_IS(0, leat_go(s, feed, &f));
        int error;
        for (leat_line line; (error = leat_recv(lines, &line)) == 0; leat_line_free(&line))
            n += add_item(items + n, &line);
        CHECK_IS(-EPIPE, error);
        items[n] = '\0';
        if (strcmp(items, c->items) != 0)
            check_failed(__FILE__, __LINE__, "text %zu yields \"%s\"", i / 2, items);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(splits_chosen_texts);

static void expect_line(leat_chan *lines, size_t n)
{
    for (size_t left = n;;) {
        leat_line line;
        CHECK_IS(0, leat_recv(lines, &line));
        CHECK_IS(left < 65536 ? left : 65536, line.size);
        CHECK_IS(left > 65536, line.cut);
        left -= line.size;
        leat_line_free(&line);
        if (!left)
            return;
    }
}

static int cuts_at_64_kib(void *arg)
{
    (void)arg;
    static const size_t sizes[] = { 65535, 65536, 65537, 131072, 400000, 1 };
    enum { N = sizeof sizes / sizeof *sizes, BYTES = 800000 };
    char *text = malloc(BYTES);
    size_t n = 0;
    CHECK(text);
    memset(text, 'x', BYTES);
    for (int i = 0; i < N; i++, n++)
        text[n += sizes[i]] = '\n';
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    struct feed f = { pipe.in, text, n, 100000, 0 };
    leat_chan *lines;
    CHECK_IS(0, leat_go(s, feed, &f));
    CHECK_IS(0, leat_lines(s, pipe.out, NULL, &lines));
    for (int i = 0; i < N; i++)
        expect_line(lines, sizes[i]);
    CHECK_IS(-EPIPE, leat_recv(lines, &(leat_line){ 0 }));
    CHECK_IS(0, leat_scope_close(s));
    free(text);
    return 0;
}
ON_WORKERS(cuts_at_64_kib);

/* ---- random texts ---- */

/* Receives the items of one line of n bytes, in pieces of `most`. */
static void expect_pieces(leat_chan *lines, const char *text, size_t n, size_t most)
{
    leat_line line;
    do {
        size_t size = n < most ? n : most;
        CHECK_IS(0, leat_recv(lines, &line));
        CHECK_IS(size, line.size);
        CHECK(memcmp(line.text, text, size) == 0);
        text += size;
        n -= size;
        CHECK_IS(n != 0, line.cut);
        leat_line_free(&line);
    } while (n);
}

static void expect_text(leat_chan *lines, const char *text, size_t n,
                        const leat_lines_options *options)
{
    while (n) {
        const char *newline = memchr(text, '\n', n);
        size_t size = newline ? (size_t)(newline - text) : n, taken = size + (newline != NULL);
        if (newline && options->crlf && size && text[size - 1] == '\r')
            size--;
        expect_pieces(lines, text, size, options->most);
        text += taken;
        n -= taken;
    }
    CHECK_IS(-EPIPE, leat_recv(lines, &(leat_line){ 0 }));
}

static int splits_random_texts(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    for (int i = 0; i < 2000 / SCALE; i++) {
        char text[60];
        size_t n = below(&chance, sizeof text);
        for (size_t at = 0; at < n; at++)
            text[at] = "abc\n\n\r\r"[below(&chance, 8)];
        leat_lines_options options = { .most = 1 + below(&chance, 6),
                                       .capacity = 1 + below(&chance, 4),
                                       .crlf = (int)below(&chance, 2) };
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pipe pipe = open_pipe(s);
        struct feed f = { pipe.in, text, n, 1 + below(&chance, 20), 1 + below(&chance, 1000) };
        leat_chan *lines;
        CHECK_IS(0, leat_lines(s, pipe.out, &options, &lines));
        CHECK_IS(0, leat_go(s, feed, &f));
        expect_text(lines, text, n, &options);
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(splits_random_texts);

/* Lines of any bytes; mostly short ones, and a few that are much longer than a read. */
static char *random_lines(uint64_t *chance, int lines, size_t *n)
{
    size_t room = (size_t)lines * 200 + 1000000, at = 0;
    char *text = malloc(room);
    CHECK(text);
    for (int i = 0; i < lines && at < room - 300001; i++) {
        size_t size = below(chance, below(chance, 20000) == 0 ? 300000 : 80);
        for (size_t k = 0; k < size; k++) {
            char c = (char)below(chance, 256);
            text[at++] = (char)(c == '\n' ? ' ' : c);
        }
        text[at++] = '\n';
    }
    *n = at;
    return text;
}

static void go_there_and_back(const char *text, size_t n, uint64_t *chance)
{
    char got[5000];
    int64_t more;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe there = open_pipe(s), back = open_pipe(s);
    struct feed f = { there.in, text, n, 1 + below(chance, 50000), 1 + below(chance, 1000) };
    leat_lines_options options = { .most = below(chance, 200), .capacity = below(chance, 200) };
    leat_chan *lines;
    CHECK_IS(0, leat_go(s, feed, &f));
    CHECK_IS(0, leat_lines(s, there.out, &options, &lines));
    CHECK_IS(0, leat_write_lines(s, lines, back.in));
    for (size_t at = 0; at < n; at += (size_t)more) {
        more = leat_read(back.out, got, 1 + below(chance, sizeof got));
        CHECK(more > 0 && (size_t)more <= n - at);
        CHECK(memcmp(got, text + at, (size_t)more) == 0);
    }
    CHECK_IS(0, leat_scope_close(s));
}

static int random_lines_go_there_and_back(void *arg)
{
    (void)arg;
    uint64_t chance = seed_of_test();
    size_t n;
    char *text = random_lines(&chance, 100000 / SCALE, &n);
    go_there_and_back(text, n, &chance);
    free(text);
    return 0;
}
ON_WORKERS(random_lines_go_there_and_back);

/* ---- ends ---- */

static const char many[] = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

static int receiver_leaves(void *arg)
{
    (void)arg;
    for (int i = 0; i < 8; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pipe pipe = open_pipe(s);
        leat_lines_options options = { .capacity = 2 };
        leat_chan *lines;
        leat_line line;
        CHECK_IS(sizeof many, leat_write(pipe.in, many, sizeof many));
        CHECK_IS(0, leat_lines(s, pipe.out, &options, &lines));
        CHECK_IS(0, leat_recv(lines, &line));
        CHECK(strcmp(line.text, "one") == 0);
        leat_line_free(&line);
        if (i % 2)
            WAIT_UNTIL(senders_of(lines));
        if (i & 4)
            CHECK_IS(0, leat_scope_cancel(s));
        else
            CHECK_IS(0, leat_close(lines));
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(receiver_leaves);

static int reports_read_errors(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(outer);
    struct outsider o = { 0 };
    CHECK_IS(sizeof many, leat_write(pipe.in, many, sizeof many));
    if (IN_SIM) /* some bytes may come late */
        CHECK_IS(0, leat_sleep(LEAT_S));
    CHECK_IS(0, leat_lines(s, pipe.out, NULL, &o.ch));
    CHECK_IS(0, leat_go(outer, receive_all, &o));
    WAIT_UNTIL(receivers_of(o.ch) && receivers_of(leat_io_readable(pipe.out)));
    CHECK_IS(0, leat_io_close(pipe.out));
    WAIT_UNTIL(atomic_load(&o.done));
    CHECK_IS(10, o.n); /* not the 0 byte after the last newline */
    CHECK_IS(-ECANCELED, o.error);
    CHECK_IS(-EBADF, leat_scope_close(s));
    return leat_scope_close(outer);
}
ON_WORKERS(reports_read_errors);

/* For instance /dev/kmsg says so, and goes on. */
static int a_read_error_is_no_end(void *arg)
{
    (void)arg;
    for (int frames = 0; frames < 2; frames++) {
        leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
        leat_io *out = open_pipe(outer).out;
        leat_chan *items;
        lt_io_keep(out, LT_IN, -EPIPE, LEAT_NEVER);
        CHECK_IS(0, frames ? leat_frames(s, out, sizeof(leat_line), 1, &items)
                           : leat_lines(s, out, NULL, &items));
        CHECK_IS(-ECANCELED, leat_recv(items, &(leat_line){ 0 }));
        CHECK_IS(-EPIPE, leat_scope_close(s));
        CHECK_IS(0, leat_scope_close(outer));
    }
    return 0;
}
ON_WORKERS(a_read_error_is_no_end);

/* The writer finds its input cut short, but that is not why the scope ends. */
static int first_error_counts(void *arg)
{
    (void)arg;
    for (int i = 0; i < 400 / SCALE; i++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pipe there = open_pipe(s), back = open_pipe(s);
        leat_chan *lines;
        CHECK_IS(0, leat_lines(s, there.out, NULL, &lines));
        CHECK_IS(0, leat_write_lines(s, lines, back.in));
        if (i % 2)
            WAIT_UNTIL(receivers_of(lines) && receivers_of(leat_io_readable(there.out)));
        CHECK_IS(0, leat_io_close(there.out));
        CHECK_IS(-EBADF, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(first_error_counts);

static int send_until_closed(void *arg)
{
    struct outsider *o = arg;
    for (;;) {
        leat_line line = line_of("to nobody");
        o->error = leat_send(o->ch, &line);
        if (o->error) {
            leat_line_free(&line);
            break;
        }
        o->n++;
    }
    atomic_store(&o->done, true);
    return 0;
}

static int reports_write_errors(void *arg)
{
    (void)arg;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(outer);
    struct outsider o = { .ch = open_lines(outer, 3) };
    CHECK_IS(0, leat_write_lines(s, o.ch, pipe.in));
    CHECK_IS(0, leat_go(outer, send_until_closed, &o));
    WAIT_UNTIL(receivers_of(leat_io_writable(pipe.in)) && senders_of(o.ch)); /* the pipe is full */
    CHECK_IS(0, leat_io_close(pipe.out));
    WAIT_UNTIL(atomic_load(&o.done));
    CHECK_IS(-EPIPE, o.error);
    CHECK_IS(-EPIPE, leat_scope_close(s));
    return leat_scope_close(outer);
}
ON_WORKERS(reports_write_errors);

static void expect_bytes(leat_io *io, const char *expected)
{
    char got[100];
    size_t n = strlen(expected);
    CHECK_IS(n, leat_read_full(io, got, n, LEAT_NEVER));
    CHECK(memcmp(got, expected, n) == 0);
    CHECK_IS(-EAGAIN, leat_read_until(io, got, 1, LEAT_NOW));
}

static int writes_what_it_receives(void *arg)
{
    (void)arg;
    for (int cut = 0; cut < 2; cut++) {
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        struct pipe pipe = open_pipe(s);
        leat_chan *lines = open_lines(s, 4);
        leat_line some[] = { line_of("a"), { .size = 0 }, line_of("bcd"), line_of("") };
        some[2].cut = some[3].cut = 1;
        CHECK_IS(4, leat_send_many(lines, some, 4, LEAT_NOW));
        CHECK_IS(0, cut ? leat_cut(lines) : leat_close(lines));
        leat_scope *writing = leat_scope_open(LEAT_NEVER);
        CHECK_IS(0, leat_write_lines(writing, lines, pipe.in));
        CHECK_IS(cut ? -ECANCELED : 0, leat_scope_close(writing));
        expect_bytes(pipe.out, "a\n\nbcd");
        CHECK_IS(0, leat_scope_close(s));
    }
    return 0;
}
ON_WORKERS(writes_what_it_receives);

enum { SLOW_LINES = IN_SIM ? 5000 : 20000 / SCALE }; /* more than a pipe takes */

static int send_numbers(void *arg)
{
    for (int i = 0; i < SLOW_LINES; i++) {
        char text[40];
        snprintf(text, sizeof text, "line %d of many", i);
        leat_line line = line_of(text);
        CHECK_IS(0, leat_send(arg, &line));
    }
    return leat_close(arg);
}

static int slow_reader_holds_up_senders(void *arg)
{
    (void)arg;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    struct pipe pipe = open_pipe(s);
    leat_chan *to = open_lines(s, 5), *from;
    CHECK(IN_SIM || fcntl(leat_io_fd(pipe.in), F_SETPIPE_SZ, 4096) >= 0);
    CHECK_IS(0, leat_write_lines(s, to, pipe.in));
    CHECK_IS(0, leat_go(s, send_numbers, to));
    WAIT_UNTIL(senders_of(to)); /* the pipe is full */
    CHECK_IS(0, leat_lines(s, pipe.out, &(leat_lines_options){ .capacity = 1 }, &from));
    for (int i = 0; i < SLOW_LINES; i++) {
        char text[40];
        leat_line line;
        snprintf(text, sizeof text, "line %d of many", i);
        CHECK_IS(0, leat_recv(from, &line));
        CHECK(strcmp(text, line.text) == 0);
        leat_line_free(&line);
        if (i % 64 == 0)
            nap();
    }
    CHECK_IS(0, leat_io_close(pipe.in));
    CHECK_IS(-EPIPE, leat_recv(from, &(leat_line){ 0 }));
    return leat_scope_close(s);
}
ON_WORKERS(slow_reader_holds_up_senders);

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS_ON_WORKERS(refuses_wrong_arguments),
        TESTS_ON_WORKERS(splits_chosen_texts),
        TESTS_ON_WORKERS(cuts_at_64_kib),
        TESTS_ON_WORKERS(splits_random_texts),
        TESTS_ON_WORKERS(random_lines_go_there_and_back),
        TESTS_ON_WORKERS(receiver_leaves),
        TESTS_ON_WORKERS(reports_read_errors),
        TESTS_ON_WORKERS(a_read_error_is_no_end),
        TESTS_ON_WORKERS(first_error_counts),
        TESTS_ON_WORKERS(reports_write_errors),
        TESTS_ON_WORKERS(writes_what_it_receives),
        TESTS_ON_WORKERS(slow_reader_holds_up_senders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
