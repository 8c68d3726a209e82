/* processes: runs programs: one that fails, two in a pipeline, and one that is ended after a
 * time. */
#define _GNU_SOURCE
#include <leat/leat.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* printf | sort */
static int sort_words(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    leat_scope *scope = leat_scope_open(LEAT_NEVER);
    leat_process *words, *sort;
    const char *words_argv[] = { "printf", "pear\\napple\\nfig\\n", NULL };
    const char *sort_argv[] = { "sort", NULL };
    int error = leat_spawn(scope, words_argv, &(leat_spawn_options){ .out = ends[1] }, &words);
    if (!error)
        error = leat_spawn(scope, sort_argv,
                           &(leat_spawn_options){ .in = ends[0], .flags = LEAT_PIPE_OUT }, &sort);
    close(ends[0]);
    close(ends[1]);
    char text[64];
    int64_t n;
    while (!error && (n = leat_read(leat_process_out(sort), text, sizeof text)) > 0)
        printf("%.*s", (int)n, text);
    int result = leat_scope_close(scope);
    return error ? error : result;
}

/* A program that would take too long. */
static int give_up(void)
{
    const char *argv[] = { "sleep", "1000", NULL };
    leat_captured captured;
    int error = leat_capture(argv, NULL, &captured, 1000, leat_after(50 * LEAT_MS));
    printf("sleep: %s\n", strerror(-error));
    leat_captured_free(&captured); /* has what the program had written */
    return error == -ETIMEDOUT ? 0 : error;
}

static int body(void *arg)
{
    (void)arg;
    const char *argv[] = { "sh", "-c", "echo to standard error >&2; exit 3", NULL };
    leat_captured captured;
    int error = leat_capture(argv, NULL, &captured, 1000, LEAT_NEVER);
    if (!error)
        printf("sh: %d, %s", captured.exit.code, captured.err);
    leat_captured_free(&captured);
    if (!error)
        error = sort_words();
    return error ? error : give_up();
}

int main(void)
{
    return leat_main(body, NULL) != 0;
}
