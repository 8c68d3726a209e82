/* spawn.c: leat_spawn: checks, pipes, and the start on a thread that may block. */
#define _GNU_SOURCE
#include "process/process.h"

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/world.h"
#include "io/io.h"
#include "process/program.h"

#include <leat/task.h>

#include <fcntl.h>
#include <unistd.h>

#define DEFAULT_GRACE (5 * LEAT_S)

/* ---- checks ---- */

/* Checks that at most one option sets each of 0, 1 and 2. */
static bool are_clear(const leat_spawn_options *options)
{
    unsigned flags = options->flags;
    bool in = !!options->in + !!(flags & LEAT_PIPE_IN) + !!(flags & LEAT_NULL_IN) <= 1;
    bool out = !!options->out + !!(flags & LEAT_PIPE_OUT) <= 1;
    bool err = !!options->err + !!(flags & LEAT_PIPE_ERR) + !!(flags & LEAT_ERR_TO_OUT) <= 1;
    return in && out && err && flags < 2 * LEAT_ATTENDED;
}

static int check(leat_scope *scope, const leat_spawn_options *options)
{
    if (options->in < 0 || options->out < 0 || options->err < 0 || options->grace < 0 ||
        !are_clear(options))
        return -EINVAL;
    if (lt_world())
        return -ENOTSUP;
    int error = lt_wait_prepare(lt_current_party());
    return error ? error : leat_cancelled(scope) ? -ECANCELED : 0;
}

/* ---- pipes ---- */

struct spawning {
    struct lt_program program;
    leat_process *process;
    int theirs[3]; /* the process's ends, which leat closes afterwards; -1: none */
};

/* leat's end does not block. A pipe's two ends are two open files. */
static int open_pipe(struct spawning *spawning, int place)
{
    int ends[2], error = lt_io_open_pipe(ends);
    if (error)
        return error;
    int ours = place == 0 ? ends[1] : ends[0];
    spawning->theirs[place] = place == 0 ? ends[0] : ends[1];
    error = fcntl(ours, F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
    if (!error)
        error = lt_io_new(NULL, ours, LT_IO_NEVER, false, &spawning->process->pipes[place]);
    if (error)
        close(ours);
    return error;
}

static int open_descriptors(struct spawning *spawning, const leat_spawn_options *options)
{
    static const unsigned pipes[3] = { LEAT_PIPE_IN, LEAT_PIPE_OUT, LEAT_PIPE_ERR };
    const int given[3] = { options->in, options->out, options->err };
    int error = 0;
    if (options->flags & LEAT_NULL_IN) {
        spawning->theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        error = spawning->theirs[0] < 0 ? -errno : 0;
    }
    for (int i = 0; i < 3 && !error; i++)
        if (options->flags & pipes[i])
            error = open_pipe(spawning, i);
    for (int i = 0; i < 3; i++)
        spawning->program.given[i] = given[i] ? given[i] : spawning->theirs[i];
    return error;
}

/* An attendant keeps the write ends (attend.c). */
static void close_theirs(struct spawning *spawning, bool keep)
{
    for (int i = 0; i < 3; i++) {
        if (keep && i > 0)
            spawning->process->kept[i] = spawning->theirs[i];
        else if (spawning->theirs[i] >= 0)
            close(spawning->theirs[i]);
    }
}

/* ---- the start ---- */

static int start_warden(leat_process *process, leat_scope *scope)
{
    leat_chan_ref(leat_process_ended(process));
    int error = leat_go_named(scope, lt_process_attend, process, "process", 0);
    if (error)
        lt_process_unref(process);
    return error;
}

/* The warden and all memory come first: if they failed later, the process would have to be ended.
 * With an attendant there is no warden, and `orders` is NULL. */
static int start(struct spawning *spawning, leat_scope *scope)
{
    leat_process *process = spawning->process;
    int error = lt_io_new(NULL, -1, LT_IO_NEVER, false, &process->pidfd);
    if (!error && !process->attendant)
        error = start_warden(process, scope);
    if (error)
        return error;
    error = leat_blocking(lt_program_start, &spawning->program);
    if (error) {
        leat_close(process->orders);
        return error;
    }
    lt_io_set_fd(process->pidfd, spawning->program.pidfd);
    process->pid = spawning->program.pid;
    lt_scope_own(scope, &process->owned);
    leat_try_send(process->orders, NULL); /* there is room for one */
    return 0;
}

static int spawn(struct spawning *spawning, leat_scope *scope, const leat_spawn_options *options)
{
    struct lt_program *plan = &spawning->program;
    leat_process *process = spawning->process;
    static const char *const none[] = { NULL };
    const char *const *own = (const char *const *)(uintptr_t)environ; /* NULL after clearenv */
    plan->environment = options->environment ? options->environment : own ? own : none;
    plan->folder = options->folder;
    plan->err_to_out = options->flags & LEAT_ERR_TO_OUT;
    plan->group = process->has_group = !(options->flags & LEAT_NO_GROUP);
    plan->inherit = options->flags & LEAT_INHERIT;
    process->grace = options->grace ? options->grace : DEFAULT_GRACE;
    plan->files = lt_program_files(plan->argv[0], plan->environment);
    if (!plan->files)
        return -ENOMEM;
    int error = open_descriptors(spawning, options);
    if (!error)
        error = start(spawning, scope);
    close_theirs(spawning, process->attendant && !error);
    lt_free(plan->files);
    return error;
}

int leat_spawn(leat_scope *scope, const char *const *argv, const leat_spawn_options *options,
               leat_process **process)
{
    static const leat_spawn_options defaults;
    if (!options)
        options = &defaults;
    if (!scope || !argv || !argv[0] || !process)
        return -EINVAL;
    int error = check(scope, options);
    if (error)
        return error;
    /* A task always has a warden, since its worker must not block. And it may go on in another
     * worker; workers are never cancelled. */
    bool foreign = !lt_current_worker(), attends = foreign && options->flags & LEAT_ATTENDED;
    struct spawning spawning = { .program.argv = argv, .theirs = { -1, -1, -1 } };
    spawning.process = lt_process_new(attends ? lt_this_thread() : NULL);
    if (!spawning.process)
        return -ENOMEM;
    int saved = errno, cancel = foreign ? lt_cancel_put_off() : 0;
    error = spawn(&spawning, scope, options);
    if (foreign)
        lt_cancel_restore(cancel);
    errno = saved;
    if (error)
        lt_process_unref(spawning.process);
    else
        *process = spawning.process;
    return error;
}
