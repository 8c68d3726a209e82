/* leat.c: N programs, P at a time: by leat_spawn and leat_wait, or with `capture` by a stage of
 * leat_capture, whose results come in order. With THREADS in the environment threads do that, and
 * attend to their programs; else tasks.
 *
 *     leat N P [capture] PROGRAM ARGS… */
#include <leat/leat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 20 };

static const char *const *command;
static int n, width, capture, threads;

static int run_some(void *numbers)
{
    const leat_spawn_options options = { .flags = threads ? LEAT_ATTENDED : 0 };
    int error = 0;
    for (int i; !error && leat_recv(numbers, &i) == 0;) {
        leat_process *process;
        leat_exit how;
        leat_scope *s = leat_scope_open(LEAT_NEVER);
        error = leat_spawn(s, command, &options, &process);
        if (!error)
            error = leat_wait(process, &how, LEAT_NEVER);
        leat_scope_close(s);
    }
    return error;
}

static int capture_one(void *arg, const void *in, void *out)
{
    (void)arg, (void)in;
    return leat_capture(command, NULL, out, MOST, LEAT_NEVER);
}

static int write_all(leat_chan *results)
{
    leat_captured got;
    while (leat_recv(results, &got) == 0) {
        for (size_t done = 0; done < got.out_size;) {
            ssize_t size = write(1, got.out + done, got.out_size - done);
            if (size < 0)
                return -EIO;
            done += (size_t)size;
        }
        leat_captured_free(&got);
    }
    return 0;
}

static int run(void *arg)
{
    (void)arg;
    int *numbers = calloc((size_t)n, sizeof *numbers), error = 0;
    leat_scope *s = leat_scope_open(LEAT_NEVER);
    leat_chan *jobs = leat_to_chan(s, numbers, sizeof *numbers, (size_t)n, NULL);
    leat_pipeline_spec spec = { .n = (unsigned)width,
                                .run = capture_one,
                                .blocking = threads,
                                .out_size = sizeof(leat_captured) };
    if (capture)
        error = write_all(leat_pipeline(s, jobs, &spec));
    for (int i = 0; i < width && !capture && !error; i++)
        error = threads ? leat_go_blocking(s, run_some, jobs) : leat_go(s, run_some, jobs);
    int why = leat_scope_close(s);
    free(numbers);
    return error ? error : why;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    threads = getenv("THREADS") != NULL;
    n = atoi(argv[1]);
    width = atoi(argv[2]);
    capture = strcmp(argv[3], "capture") == 0;
    command = (const char *const *)argv + 3 + capture;
    return leat_main(run, NULL) != 0;
}
