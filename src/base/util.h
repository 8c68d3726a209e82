/* util.h: macros and helpers for every file. */
#pragma once

#include <stddef.h>
#include <string.h>

#define LT_LIKELY(x) __builtin_expect(!!(x), 1)
#define LT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LT_COLD __attribute__((cold, noinline))
#define LT_CACHE_LINE 64
#define LT_INLINE __attribute__((always_inline)) static inline
/* For a function that only prefetches. gcc 12 believes that such a function has no effect, and
 * leaves out calls that it has not inlined. */
#define LT_FETCHES LT_INLINE

/* The structure of type T whose member M is at P. */
#define LT_CONTAINER(P, T, M) ((T *)(void *)((char *)(P)-offsetof(T, M)))

/* Zeroes a few cache lines; the compiler knows the size. In pieces: for one large memset gcc makes
 * a string instruction, which takes 10 ns to begin. */
LT_INLINE void lt_clear(void *memory, size_t size)
{
    unsigned char *at = memory;
    for (; size > LT_CACHE_LINE; size -= LT_CACHE_LINE, at += LT_CACHE_LINE)
        memset(at, 0, LT_CACHE_LINE);
    memset(at, 0, size);
}

/* A byte of a name as a message shows it: a control character is a question mark. */
static inline char lt_shown(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7F ? '?' : c;
}

/* Moves a new descriptor of the library's own above 0, 1 and 2. If these are closed, the program
 * may take them at any time: by dup2, or because it writes to standard error all the same. A
 * negative `fd` stays as it is. Returns the descriptor; -1 with errno, and then `fd` is closed. */
int lt_move_up(int fd);

/* Ends the program with one line on standard error, where it would otherwise corrupt memory. */
_Noreturn void lt_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
