/* process_pool: runs commands, three at a time, and prints what they say in the order of the list.
 *
 *     process_pool COMMAND…    runs each argument by sh -c
 *     process_pool             runs a list of its own
 *
 *     commands ──▶ run, 3 at a time ──▶ [in order] ──▶ print
 *
 * Without arguments it then shows that a cancelled scope leaves no process behind, not even those
 * that its commands have started. */
#include <leat/leat.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 3, MOST = 1 << 20 };

static char *own_list[] = {
    "sleep 0.2; echo the first is the slowest",
    "echo hello",
    "echo to both; echo of them >&2",
    "exit 3",
    "kill -KILL $$",
    "cat",
    "printf 'two\\nlines\\n'",
    "no-such-command 2>/dev/null",
    NULL,
};

/* ---- the pool ---- */

struct result {
    char *command;
    int error; /* 0, or why it did not run */
    leat_captured captured;
};

/* Drops the result of a command that nobody wants any more. */
static void drop_result(void *item)
{
    struct result *result = item;
    leat_captured_free(&result->captured);
}

static int run_command(void *arg, const void *in, void *out)
{
    (void)arg;
    struct result *result = out;
    *result = (struct result){ .command = *(char *const *)in };
    const char *argv[] = { "sh", "-c", result->command, NULL };
    leat_spawn_options options = { .flags = LEAT_ERR_TO_OUT | LEAT_NULL_IN };
    result->error = leat_capture(argv, &options, &result->captured, MOST, LEAT_NEVER);
    return 0;
}

static void report(const struct result *result)
{
    const leat_captured *got = &result->captured;
    printf("$ %s\n", result->command);
    if (result->error) {
        printf("not run: %s\n", strerror(-result->error));
        return;
    }
    fwrite(got->out, 1, got->out_size, stdout);
    if (got->exit.signal)
        printf("ended by signal %d\n", got->exit.signal);
    else if (got->exit.code)
        printf("exit status %d\n", got->exit.code);
}

static int run_all(char **commands)
{
    size_t n = 0;
    while (commands[n])
        n++;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *list = leat_to_chan(s, commands, sizeof *commands, n, NULL);
    leat_chan *results = leat_pipeline(s, list,
                                       &(leat_pipeline_spec){ .n = AT_ONCE,
                                                              .run = run_command,
                                                              .out_size = sizeof(struct result),
                                                              .drop = drop_result });
    for (struct result result; leat_recv(results, &result) == 0; drop_result(&result))
        report(&result);
    return leat_scope_close(s);
}

/* ---- the end of a cancelled scope ---- */

/* Three commands and what they have started hold one end of a pipe: the other end reads the end of
 * the stream when all of them are gone. */
static int cancel_all(void)
{
    static const char *const argv[] = { "sh", "-c", "sleep 1000 & echo; wait", NULL };
    int ends[2];
    char line[AT_ONCE];
    if (pipe(ends) != 0)
        return -errno;
    leat_io *said;
    leat_scope *outer = leat_scope_open(LEAT_NEVER), *s = leat_scope_open(LEAT_NEVER);
    int error = leat_io_adopt(outer, ends[0], &said);
    if (error)
        close(ends[0]);
    for (int i = 0; i < AT_ONCE && !error; i++) {
        leat_process *process;
        error = leat_spawn(s, argv, &(leat_spawn_options){ .out = ends[1] }, &process);
    }
    close(ends[1]);
    if (!error && leat_read_full(said, line, sizeof line, LEAT_NEVER) == AT_ONCE)
        printf("three commands run\n");
    leat_scope_cancel(s);
    leat_scope_close(s);
    if (waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD)
        printf("no child is left\n");
    if (!error && leat_read(said, line, sizeof line) == 0)
        printf("nothing that they started is left\n");
    leat_scope_close(outer);
    return error;
}

static int run(void *arg)
{
    char **argv = arg;
    if (argv[1])
        return run_all(argv + 1);
    int error = run_all(own_list);
    return error ? error : cancel_all();
}

int main(int argc, char **argv)
{
    (void)argc;
    int error = leat_main(run, argv);
    if (error < 0)
        fprintf(stderr, "process_pool: %s\n", strerror(-error));
    return error < 0;
}
