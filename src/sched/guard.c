#define _GNU_SOURCE
#include "sched/guard.h"

#include "base/alloc.h"
#include "base/handler.h"
#include "sched/current.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Of a thread of the pool, or lent; zero: of another thread. */
struct own_stack {
    const char *low; /* above its guard */
    size_t size, guard;
    void *for_faults;
};

static _Thread_local struct own_stack own_stack __attribute__((tls_model("initial-exec")));
static struct lt_handler handler;
static _Thread_local stack_t former_stack; /* a sanitizer may have given the thread one */

/* A signal handler may write, but not format, so texts and numbers are written one by one. */
static void write_text(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void write_name(const char *name)
{
    for (; *name; name++)
        write_text((const char[]){ lt_shown(*name), '\0' });
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

static void end_by_overflow(const char *what, const char *name, size_t size, const char *remedy)
{
    write_text("leat: stack overflow in ");
    write_text(what);
    write_name(name);
    write_text(": its stack has ");
    write_number(size / 1024);
    write_text(remedy);
    sigaction(SIGSEGV, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
    raise(SIGSEGV); /* blocked in this handler: delivered on return */
}

static void task_overflows(const struct lt_task *task)
{
    end_by_overflow(
        "task ", task->name ? task->name : "without a name", task->stack->fiber.size,
        " KiB; start it with leat_go_sized for more, or raise leat_options.stack_size\n");
}

static void thread_overflows(void)
{
    const char *name = lt_this_thread()->name;
    end_by_overflow(name ? "task " : "a thread of leat_blocking", name ? name : "", own_stack.size,
                    lt_world() ? " KiB, as all threads of a seeded world\n"
                               : " KiB; raise the limit for threads (ulimit -s)\n");
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct lt_worker *worker = lt_current_worker();
    struct lt_task *task = worker ? lt_worker_running(worker) : NULL;
    const char *at = info->si_addr;
    if (task && lt_stack_guards(task->stack, at)) {
        task_overflows(task);
        return;
    }
    if (at < own_stack.low && at >= own_stack.low - own_stack.guard) {
        thread_overflows();
        return;
    }
    lt_handler_pass_on(&handler, signal, info, context);
}

void lt_guard_install(void)
{
    lt_handler_install(&handler, SIGSEGV, on_fault);
}

void lt_guard_uninstall(void)
{
    lt_handler_remove(&handler, SIGSEGV);
}

void lt_guard_worker_begin(struct lt_worker *worker)
{
    stack_t stack = { .ss_sp = worker->fault_stack, .ss_size = LT_FAULT_STACK };
    sigaltstack(&stack, &former_stack);
}

void lt_guard_worker_end(void)
{
    sigaltstack(&former_stack, NULL);
}

/* If there is no memory for the handler's stack, an overflow has no message. */
void lt_guard_thread_begin(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    own_stack.for_faults = lt_map(LT_FAULT_STACK);
    if (!own_stack.for_faults)
        return;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &own_stack.size);
        pthread_attr_getguardsize(&attributes, &own_stack.guard);
        pthread_attr_destroy(&attributes);
        own_stack.low = low;
    }
    stack_t stack = { .ss_sp = own_stack.for_faults, .ss_size = LT_FAULT_STACK };
    sigaltstack(&stack, &former_stack);
}

void lt_guard_thread_end(void)
{
    if (!own_stack.for_faults)
        return;
    sigaltstack(&former_stack, NULL);
    lt_unmap(own_stack.for_faults, LT_FAULT_STACK);
}

void lt_guard_lend(const struct lt_stack *stack)
{
    own_stack = (struct own_stack){ 0 };
    if (stack)
        own_stack = (struct own_stack){ .low = stack->fiber.low,
                                        .size = stack->fiber.size,
                                        .guard = (size_t)(stack->fiber.low - stack->base) };
}
