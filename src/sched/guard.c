#define _GNU_SOURCE
#include "sched/guard.h"

#include "base/alloc.h"
#include "base/util.h"
#include "sched/current.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static struct sigaction former_action;
static _Thread_local stack_t former_stack; /* a sanitizer may have given the thread one */

/* A signal handler may write, but not format, so texts and numbers are written one by one. */
static void write_text(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void write_number(size_t n)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    write_text(at);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct lt_worker *worker = lt_current_worker();
    struct lt_task *task = worker ? lt_worker_running(worker) : NULL;
    if (task && lt_stack_guards(task->stack, info->si_addr)) {
        write_text("leat: stack overflow in task ");
        write_text(task->name ? task->name : "without a name");
        write_text(": its stack has ");
        write_number(task->stack->fiber.size / 1024);
        write_text(
            " KiB; start it with leat_go_sized for more, or raise leat_options.stack_size\n");
        sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
        raise(SIGSEGV); /* blocked in this handler: delivered on return */
        return;
    }
    if (former_action.sa_flags & SA_SIGINFO) {
        former_action.sa_sigaction(signal, info, context);
    } else if (former_action.sa_handler != SIG_DFL && former_action.sa_handler != SIG_IGN) {
        former_action.sa_handler(signal);
    } else {
        /* On return a fault happens again, and is handled as usual. A signal that was sent (kill,
         * raise) does not happen again, so send it again. */
        sigaction(SIGSEGV, &former_action, NULL);
        if (info->si_code <= 0)
            raise(SIGSEGV);
    }
}

void lt_guard_install(void)
{
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &former_action);
}

void lt_guard_uninstall(void)
{
    struct sigaction current;
    /* A handler that was installed after ours stays. */
    if (sigaction(SIGSEGV, NULL, &current) == 0 && current.sa_sigaction == on_fault)
        sigaction(SIGSEGV, &former_action, NULL);
}

void lt_guard_worker_begin(struct lt_worker *worker)
{
    stack_t stack = { .ss_sp = worker->fault_stack, .ss_size = LT_FAULT_STACK };
    sigaltstack(&stack, &former_stack);
}

void lt_guard_worker_end(struct lt_worker *worker)
{
    (void)worker;
    sigaltstack(&former_stack, NULL);
}
