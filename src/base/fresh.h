/* fresh.h: the library's thread-local variables, read anew each time.
 *
 * After each wait a task may run in another thread. Compilers do not know that: they keep the
 * address of a thread-local variable, or the thread pointer, across a call. So each read here gets
 * the thread pointer by a volatile instruction, which compilers neither leave out nor move across a
 * call. A variable's offset from the thread pointer is the same in all threads and may be kept. The
 * code reads the offset as in the initial-exec model: by one load, which the linker makes a
 * constant where it can, and without a call, also in a shared library. */
#pragma once

#include <stdint.h>

/* For the definition of such a variable. Only assembly names the variable. */
#define LT_FRESH_VARIABLE __attribute__((used, visibility("hidden"), tls_model("initial-exec")))

#if defined(__x86_64__)
#define LT_FRESH_OFFSET(variable, offset) \
    __asm__("movq " #variable "@gottpoff(%%rip), %0" : "=r"(offset))
#define LT_FRESH_BASE(base) __asm__ volatile("movq %%fs:0, %0" : "=r"(base))
#define LT_FRESH_WORD(word, offset, at) \
    __asm__ volatile("movq %%fs:%c2(%1), %0" : "=r"(word) : "r"(offset), "i"(at))
#define LT_FRESH_STORE(word, offset, at) \
    __asm__ volatile("movq %0, %%fs:%c2(%1)" : : "r"(word), "r"(offset), "i"(at) : "memory")
#elif defined(__aarch64__)
#define LT_FRESH_OFFSET(variable, offset) \
    __asm__("adrp %0, :gottprel:" #variable "\n\t" \
            "ldr %0, [%0, #:gottprel_lo12:" #variable "]" \
            : "=r"(offset))
#define LT_FRESH_BASE(base) __asm__ volatile("mrs %0, tpidr_el0" : "=r"(base))
#define LT_FRESH_WORD(word, offset, at) \
    do { \
        uintptr_t base_; \
        LT_FRESH_BASE(base_); \
        (word) = *(__typeof__(word) *)(base_ + (offset) + (uintptr_t)(at)); \
    } while (0)
#define LT_FRESH_STORE(word, offset, at) \
    do { \
        uintptr_t base_; \
        LT_FRESH_BASE(base_); \
        *(__typeof__(word) *)(base_ + (offset) + (uintptr_t)(at)) = (word); \
    } while (0)
#else
#error "leat: how is the thread pointer read on this machine?"
#endif

/* Defines `type *function(void)`, which returns the address of the calling thread's variable. */
#define LT_FRESH(type, function, variable) \
    static inline type *function(void) \
    { \
        uintptr_t offset, base; \
        LT_FRESH_OFFSET(variable, offset); \
        LT_FRESH_BASE(base); \
        return (type *)(base + offset); \
    }

/* LT_FRESH_PART defines `type function(void)`, which reads a word `at` bytes from the beginning of
 * the variable. LT_FRESH_SET defines `void function(type)`, which writes one. On x86-64 each saves
 * the load of the thread pointer. */
#define LT_FRESH_PART(type, function, variable, at) \
    static inline type function(void) \
    { \
        uintptr_t offset; \
        type word; \
        LT_FRESH_OFFSET(variable, offset); \
        LT_FRESH_WORD(word, offset, at); \
        return word; \
    }

#define LT_FRESH_SET(type, function, variable, at) \
    static inline void function(type word) \
    { \
        uintptr_t offset; \
        LT_FRESH_OFFSET(variable, offset); \
        LT_FRESH_STORE(word, offset, at); \
    }
