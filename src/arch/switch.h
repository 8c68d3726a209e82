/* switch.h: switches from one stack to another.
 *
 * A stack that does not run is one pointer: to the registers that a call preserves and the address
 * at which to continue. The floating-point control words (MXCSR and x87's; FPCR) are left alone: by
 * the calling convention they belong to the thread, and saving them would cost as much as all the
 * rest. A signal that arrives during a switch finds a whole stack at every instruction. Shadow
 * stacks are not switched, so the object files have no note that says so.
 *
 * On x86-64 the assembly saves only rbp, and declares to the compiler that all other registers
 * change. So a caller saves each of them at most once, in its own frame. */
#pragma once

#include "arch/fiber.h"

/* The assembly, called only by the functions below. */
void lt_switch_left(void **from, void *to);
void lt_switch_begin(void **from, void *top, void (*entry)(void *arg), void *arg);

/* Calls fn(arg) on the running stack. To an unwinder in fn, the callers of lt_switch_pretend are
 * those of the stack that was saved as `sp`. The unwinder only reads that stack, and needs none of
 * its room. fn returns. A backtrace has the address lt_switch_pretended between the frames of fn
 * and of that stack. */
void lt_switch_pretend(void *sp, void (*fn)(void *arg), void *arg);
extern const char lt_switch_pretended[];

#ifdef __x86_64__
#ifdef __AVX512F__
#define LT_SWITCH_CHANGES_MORE \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", \
        "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
        "k6", "k7"
#else
#define LT_SWITCH_CHANGES_MORE
#endif
/* All registers but rsp, rbp and the arguments. */
#define LT_SWITCH_CHANGES \
    "rax", "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", \
        "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
        "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", \
        "st(7)", "cc", "memory" LT_SWITCH_CHANGES_MORE
#endif

/* Saves the running stack in *from and continues the stack that was saved as `to`. */
static inline __attribute__((always_inline)) void lt_switch(void **from, void *to)
{
#ifdef __x86_64__
    /* The files that switch are compiled without a red zone, which the call would overwrite. */
    __asm__ volatile("call lt_switch_left"
                     : "+D"(from), "+S"(to)
                     :
                     : "rcx", "rdx", LT_SWITCH_CHANGES);
#else
    lt_switch_left(from, to);
#endif
}

/* The same, but nothing continues the running stack. AddressSanitizer may keep frames elsewhere,
 * and has freed them when a stack is left for good: so this function's frame stays on the stack.
 * ThreadSanitizer would count an entry without an exit. */
LT_NO_TSAN static inline __attribute__((noreturn, no_sanitize("address"))) void
lt_switch_away(void *to)
{
    void *nowhere;
    lt_switch_left(&nowhere, to);
    __builtin_unreachable();
}

/* Saves the running stack in *from and calls entry(arg) on the empty stack that ends at `top`
 * (16-byte aligned). entry does not return. */
static inline __attribute__((always_inline)) void
lt_switch_start(void **from, void *top, void (*entry)(void *arg), void *arg)
{
#ifdef __x86_64__
    __asm__ volatile("call lt_switch_begin"
                     : "+D"(from), "+S"(top), "+d"(entry), "+c"(arg)
                     :
                     : LT_SWITCH_CHANGES);
#else
    lt_switch_begin(from, top, entry, arg);
#endif
}
