/* process.c: waiting for a process, taking its status, and signals to it. */
#define _GNU_SOURCE
#include "process/process.h"

#include "base/futex.h"
#include "chan/special.h"

#include <leat/select.h>
#include <leat/time.h>

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WAIT_PIDFD = 3 };

/* ---- making and freeing ---- */

static leat_chan *ended(leat_process *process)
{
    return lt_chan_of_extra(process);
}

static void free_process(leat_chan *ch)
{
    leat_process *process = lt_chan_extra(ch);
    for (int i = 0; i < 3; i++)
        leat_io_unref(process->pipes[i]);
    leat_io_unref(process->pidfd);
    leat_chan_unref(process->orders);
}

static void free_owned(struct lt_owned *owned)
{
    leat_process *process = LT_CONTAINER(owned, leat_process, owned);
    /* Its attendant has not come back, and no call of it is running. */
    if (process->attendant && !process->taken) {
        lt_process_cancel(process);
        lt_process_attend_here(process, 0, LEAT_NEVER);
    }
    lt_process_unref(process);
}

static const struct lt_owned_kind owned_kind = { .free = free_owned };
static const struct lt_keeper keeper = { .free = free_process };

leat_process *lt_process_new(struct lt_thread *attendant)
{
    leat_chan *ch = lt_chan_open_kept(&keeper, LEAT_PROMISE, "ended", sizeof(leat_process));
    if (!ch)
        return NULL;
    leat_process *process = lt_chan_extra(ch);
    process->owned.kind = &owned_kind;
    process->attendant = attendant;
    for (int i = 0; i < 3; i++)
        process->kept[i] = -1;
    process->orders = attendant ? NULL : leat_chan_make(NULL, 0, 1);
    if (attendant || process->orders)
        return process;
    lt_process_unref(process);
    return NULL;
}

void lt_process_unref(leat_process *process)
{
    leat_chan_unref(ended(process));
}

/* ---- the status ---- */

static long ask(leat_process *process, siginfo_t *info, int how, struct rusage *usage)
{
    info->si_pid = 0;
    return syscall(SYS_waitid, WAIT_PIDFD, leat_io_fd(process->pidfd), info,
                   WEXITED | WNOHANG | how, usage);
}

/* With the lock held, before the status is taken. */
static bool is_our_child(leat_process *process)
{
    siginfo_t info;
    return ask(process, &info, WNOWAIT, NULL) == 0;
}

bool lt_process_has_ended(leat_process *process)
{
    siginfo_t info;
    int saved = errno;
    bool over = ask(process, &info, WNOWAIT, NULL) != 0 || info.si_pid;
    errno = saved;
    return over;
}

static void note(leat_process *process, const siginfo_t *info)
{
    leat_exit *how = &process->exit;
    bool left = info->si_code == CLD_EXITED;
    how->code = left ? info->si_status : -1;
    how->signal = left ? 0 : info->si_status;
    how->core = info->si_code == CLD_DUMPED;
}

/* `alone`: no other process of its group is left. False: others are spared; or the process has not
 * ended, or a debugger still has it. */
static bool take_status(leat_process *process, bool alone)
{
    siginfo_t info;
    int saved = errno;
    lt_lock(&process->lock);
    if (alone || !process->spared) {
        if (process->ending && process->has_group && is_our_child(process))
            kill(-process->pid, SIGKILL);
        process->error = ask(process, &info, 0, &process->exit.usage) == 0 ? 0 : -errno;
        process->taken = process->error || info.si_pid;
        if (process->taken && !process->error)
            note(process, &info);
    }
    bool taken = process->taken;
    lt_unlock(&process->lock);
    errno = saved;
    return taken;
}

static void raise_ended(leat_process *process)
{
    leat_chan *ch = ended(process);
    struct lt_party *woken = NULL;
    lt_chan_lock(ch);
    lt_special_raise(ch, &woken);
    lt_chan_unlock(ch);
    lt_ready_all(woken);
}

/* ---- signals ---- */

static int send_to_one(leat_process *process, int signal)
{
    return syscall(SYS_pidfd_send_signal, leat_io_fd(process->pidfd), signal, NULL, 0) == 0
               ? 0
               : -errno;
}

/* With the lock held. */
static int send_to_group(leat_process *process, int signal)
{
    if (!is_our_child(process))
        return -ESRCH;
    int error = kill(-process->pid, signal) == 0 ? 0 : -errno;
    /* It may have gone to another group: then only the others, if any, have got the signal. */
    return getpgid(process->pid) == process->pid ? error : send_to_one(process, signal);
}

static int send_signal(leat_process *process, int signal, bool all)
{
    if (!process)
        return -EINVAL;
    int saved = errno, error = -ESRCH;
    lt_lock(&process->lock);
    if (!process->taken)
        error = all && process->has_group ? send_to_group(process, signal)
                                          : send_to_one(process, signal);
    lt_unlock(&process->lock);
    errno = saved;
    return error;
}

int leat_kill(leat_process *process, int signal)
{
    return send_signal(process, signal, false);
}

int leat_kill_all(leat_process *process, int signal)
{
    return send_signal(process, signal, true);
}

/* ---- ending a process ---- */

static int ask_to_end(leat_process *process, int signal)
{
    int error = leat_kill_all(process, signal);
    leat_kill_all(process, SIGCONT);
    return error;
}

/* The grace may be LEAT_NEVER. */
static bool is_spared(leat_process *process)
{
    lt_lock(&process->lock);
    bool spared = process->spared;
    lt_unlock(&process->lock);
    return spared;
}

/* Called when the grace is over. The party that takes the status waits for the end of this call,
 * and may then free the process. */
static void kill_all(struct lt_shared_timer *killer)
{
    leat_process *process = LT_CONTAINER(killer, leat_process, killer);
    leat_kill_all(process, SIGKILL);
    lt_lock(&process->lock);
    process->spared = false;
    lt_unlock(&process->lock);
}

/* The timer, and the warden or the attendant, do the rest. The process's scope is open, and holds
 * the runtime. */
static void order_end(leat_process *process)
{
    struct lt_shared_timers *timers = NULL;
    lt_lock(&process->lock);
    if (!process->ending && !process->taken) {
        process->ending = process->spared = true;
        process->spared_until = leat_after(process->grace);
        process->killer.fire = kill_all;
        timers = lt_shared_timer_set(&process->killer, process->spared_until);
    }
    lt_unlock(&process->lock);
    lt_shared_timers_notify(timers);
    leat_close(process->orders);
}

void lt_process_cancel(leat_process *process)
{
    if (process->cancelled)
        return;
    process->cancelled = true;
    order_end(process);
    ask_to_end(process, SIGTERM);
}

static void disarm(leat_process *process)
{
    if (lt_shared_timer_stop(&process->killer))
        return;
    while (is_spared(process))
        lt_nap(100 * LEAT_US);
}

bool lt_process_finish(leat_process *process)
{
    if (!take_status(process, !process->has_group) &&
        (!is_spared(process) || lt_process_has_followers(process) || !take_status(process, true)))
        return false;
    disarm(process);
    for (int i = 0; i < 3; i++)
        if (process->kept[i] >= 0)
            close(process->kept[i]);
    leat_io_close(process->pidfd);
    raise_ended(process);
    return true;
}

/* ---- the warden ---- */

/* Waits. 0: the process has ended. -EINTR: it must end, by the channel `orders`, which may be NULL.
 * -ECANCELED: the scope is cancelled. */
static int await_end(leat_process *process, leat_chan *orders)
{
    for (;;) {
        leat_case cases[] = { LEAT_RECV(orders, NULL), LEAT_READABLE(process->pidfd) };
        /* If the system cannot watch one more descriptor, it checks now and then. */
        int64_t next = cases[1].ch ? LEAT_NEVER : leat_after(LT_PROCESS_LOOK);
        int got = leat_select_ordered(cases, 2, next);
        if (got == 0 || got == -ECANCELED)
            return got == 0 ? -EINTR : got;
        if (got == 1 || lt_process_has_ended(process))
            return 0;
    }
}

static void attend(leat_process *process)
{
    int why = await_end(process, process->orders);
    leat_shield();
    if (why == -ECANCELED)
        lt_process_cancel(process);
    if (why)
        await_end(process, NULL);
    while (!lt_process_finish(process))
        leat_sleep(LT_PROCESS_LOOK);
    leat_unshield();
}

int lt_process_attend(void *arg)
{
    leat_process *process = arg;
    leat_shield();
    bool started = leat_recv(process->orders, NULL) == 0;
    leat_unshield();
    if (started)
        attend(process);
    lt_process_unref(process);
    return 0;
}

/* ---- the attendant ---- */

bool lt_process_is_mine(const leat_process *process)
{
    return process->attendant == lt_this_thread();
}

int64_t lt_process_kill_in_time(leat_process *process)
{
    lt_lock(&process->lock);
    int64_t until = process->spared ? process->spared_until : LEAT_NEVER;
    lt_unlock(&process->lock);
    if (until == LEAT_NEVER || leat_now() < until)
        return until;
    if (lt_shared_timer_stop(&process->killer))
        kill_all(&process->killer);
    return LEAT_NEVER;
}

/* ---- for the user ---- */

int leat_wait(leat_process *process, leat_exit *how, int64_t deadline)
{
    if (!process || deadline < 0)
        return -EINVAL;
    bool mine = lt_process_is_mine(process);
    int error = mine ? lt_process_attend_here(process, 0, deadline)
                     : leat_recv_until(ended(process), NULL, deadline);
    if (!error && !mine) /* the cancel may have ended it */
        error = lt_wait_ended(lt_current_party());
    if (error || process->error)
        return error ? error : process->error;
    if (how)
        *how = process->exit;
    return 0;
}

int leat_process_end(leat_process *process, int signal)
{
    if (!process || signal <= 0 || signal > SIGRTMAX)
        return -EINVAL;
    int error = leat_kill_all(process, 0);
    if (error)
        return error;
    order_end(process); /* before the process can end by the signal */
    return ask_to_end(process, signal);
}

leat_chan *leat_process_ended(leat_process *process)
{
    return process ? ended(process) : NULL;
}

leat_io *leat_process_in(leat_process *process)
{
    return process ? process->pipes[0] : NULL;
}

leat_io *leat_process_out(leat_process *process)
{
    return process ? process->pipes[1] : NULL;
}

leat_io *leat_process_err(leat_process *process)
{
    return process ? process->pipes[2] : NULL;
}

pid_t leat_process_id(const leat_process *process)
{
    return process ? process->pid : -EINVAL;
}
