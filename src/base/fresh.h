/* fresh.h: thread-local variables of the library, read anew each time.
 *
 * A task may go on in another thread after each wait. Compilers do not know that: they keep the address of a
 * thread-local variable, or the thread pointer itself, over a call. So each read here takes the thread pointer by a
 * volatile instruction, which compilers neither leave out nor move over a call. The offset of a variable from
 * the thread pointer is the same in all threads and may be kept. It is taken as for the initial-exec model: one load
 * that the linker turns into a constant where it can, and no call, also in a shared library. */
#ifndef LT_BASE_FRESH_H
#define LT_BASE_FRESH_H

#include <stdint.h>

/* For the definition of such a variable, which only assembly names. */
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

/* Defines `TYPE *function(void)`: the address, in the calling thread, of a variable of that type. */
#define LT_FRESH(type, function, variable) \
    static inline type *function(void) \
    { \
        uintptr_t offset, base; \
        LT_FRESH_OFFSET(variable, offset); \
        LT_FRESH_BASE(base); \
        return (type *)(base + offset); \
    }

/* Defines `TYPE function(void)`: a word of such a variable, `at` bytes from its beginning; and `function(TYPE)`, which
 * sets one. An instruction less where the machine has one that reads and writes so. */
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

#endif
