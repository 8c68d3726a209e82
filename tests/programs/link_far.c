/* link_far URL STAGE LOG [NAME=VALUE...]: a far end, until SIGTERM.
 *
 * An item is a text: a number, and then words that say what happens to it. Its result is the square
 * of the number. LOG gets a line when the work on an item begins and ends; and, with late=MS, one
 * when the machine has held up this process for longer. */
#include "link_common.h"

#include <errno.h>

static int log_file;
static int64_t work_us; /* how long an item takes on average, unless it has words */

static void note(const char *what, const leat_far_item *item, int number)
{
    char line[256];
    int n = snprintf(line, sizeof line, "%s %s %d %d\n", what, item->key, number, (int)getpid());
    write_line(log_file, line, n);
}

/* The number of the word NAME=NUMBER; -1: there is no such word. */
static long word(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* 0, or what a cancelled wait returns. */
static int wait_for_file(const char *path)
{
    int error = 0;
    while (!error && access(path, F_OK) != 0)
        error = leat_sleep(2 * LEAT_MS);
    return error;
}

static int follow_words(const leat_far_item *item, const char *words)
{
    const char *file = strstr(words, "wait=");
    if (strstr(words, "deaf"))
        leat_shield();
    if ((long)item->again < word(words, "die="))
        kill(getpid(), SIGKILL);
    if ((long)item->again < word(words, "fail="))
        return -EIO;
    int error = file ? wait_for_file(file + strlen("wait=")) : 0;
    if (strstr(words, "deaf"))
        leat_unshield();
    return error;
}

static int put_result(const char *words, uint64_t number, leat_bytes *result)
{
    uint64_t square = number * number;
    long raw = word(words, "raw=");
    if (raw < 0)
        return leat_bytes_add(result, &square, sizeof square);
    for (; raw > 0; raw--) {
        int error = leat_bytes_add(result, "x", 1);
        if (error)
            return error;
    }
    return 0;
}

static int run(void *unused, const leat_far_item *item, leat_bytes *result)
{
    (void)unused;
    char *words;
    uint64_t number = strtoull(item->data, &words, 10);
    note("start", item, (int)item->again);
    int error = work_us && !*words ? leat_sleep((int64_t)(rand() % (2 * work_us)) * LEAT_US)
                                   : follow_words(item, words);
    error = error ? error : put_result(words, number, result);
    note("end", item, error);
    return error;
}

static int watch_clock(void *program)
{
    const struct program *p = program;
    const int64_t late = option(p, "late", 0) * LEAT_MS;
    for (;;) {
        char line[64];
        int64_t begun = leat_now();
        int error = leat_sleep(10 * LEAT_MS);
        if (error)
            return error;
        if (leat_now() - begun > late)
            write_line(log_file, line, snprintf(line, sizeof line, "late - 0 %d\n", (int)getpid()));
    }
}

static int serve(void *program)
{
    struct program *p = program;
    int error = begin(p, p->options[1]);
    if (error) {
        printf("open %d\n", error);
    } else {
        if (option(p, "late", 0))
            leat_go(p->around, watch_clock, p);
        printf("serves\n");
        fflush(stdout);
        error = leat_serve_stage(
            p->link, &(leat_serve_stage_spec){ .stage = p->options[2],
                                               .n = (unsigned)option(p, "places", 1),
                                               .run = run,
                                               .blocking = (int)option(p, "blocking", 0),
                                               .max_bytes = (size_t)option(p, "max", 0),
                                               .grace = time_option(p, "grace") });
        printf("served %d\n", error);
    }
    end(p);
    return 0;
}

int main(int argc, char **argv)
{
    struct program p = { .options = argv };
    if (argc < 4)
        return 2;
    log_file = open_log(argv[3]);
    work_us = option(&p, "work", 0);
    srand((unsigned)getpid());
    return leat_main(serve, &p);
}
