/* switch.c: switches between two stacks, saving only the registers that the calling convention
 * makes the callee save. */
#include "limits.h"

#ifdef __x86_64__

void switch_to(void **save, void *to);

/* Jumps instead of returning: the processor would predict a return to this call's own caller. */
__asm__(".text\n"
        ".globl switch_to\n"
        ".type switch_to, @function\n"
        ".p2align 4\n"
        "switch_to:\n"
        "push %rbp\n"
        "push %rbx\n"
        "push %r12\n"
        "push %r13\n"
        "push %r14\n"
        "push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n"
        "pop %r14\n"
        "pop %r13\n"
        "pop %r12\n"
        "pop %rbx\n"
        "pop %rbp\n"
        "pop %rcx\n"
        "jmp *%rcx\n"
        ".size switch_to, .-switch_to\n");

static void *stacks[2], *outside;
static int64_t switches, last;

static void go_round(void)
{
    int me = (int)(switches % 2);
    for (;;) {
        void *next = ++switches == last ? outside : stacks[!me];
        switch_to(&stacks[me], next);
    }
}

static void *stack_make(char *bytes, size_t size)
{
    enum { REGISTERS = 6 };
    uintptr_t *top = (uintptr_t *)(void *)(bytes + size - 64);
    *--top = 0; /* no return address; and the alignment that a call leaves */
    *--top = (uintptr_t)go_round;
    return top - REGISTERS;
}

uint64_t limit_switch(int64_t n)
{
    static _Alignas(64) char bytes[2][16 * 1024 + 128];
    for (int i = 0; i < 2; i++) {
        memset(bytes[i], 0, sizeof bytes[i]);
        stacks[i] = stack_make(bytes[i], sizeof bytes[i]);
    }
    switches = 0;
    last = n;
    uint64_t start = bench_now();
    switch_to(&outside, stacks[0]);
    uint64_t ns = bench_now() - start;
    bench_check("switch", switches, n);
    return ns;
}

#endif
