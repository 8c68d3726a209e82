/* fiber.h: informs ASan, TSan and valgrind about stacks, and about switches between them. Without
 * these tools nothing here has an effect.
 *
 * ASan must know of a switch before it, and be called again first thing on arrival: the next switch
 * would be too late, since until then ASan has the wrong bounds of the stack. TSan must know right
 * before, from code that it did not instrument. */
#pragma once

#include "base/sanitizers.h"

#include <stdbool.h>
#include <stddef.h>

/* Keeps TSan from recording a function's entry and exit. (clang records them in spite of
 * no_sanitize.) */
#if !defined(LT_TSAN)
#define LT_NO_TSAN
#elif defined(__clang__)
#define LT_NO_TSAN __attribute__((disable_sanitizer_instrumentation))
#else
#define LT_NO_TSAN __attribute__((no_sanitize("thread")))
#endif

#ifdef LT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef LT_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define LT_VALGRIND 1
#endif

/* What the tools know of a stack, whether a thread's own or a task's. */
struct lt_fiber {
    char *low;
    size_t size;
#ifdef LT_ASAN
    void *fake_stack;
#endif
#ifdef LT_TSAN
    void *tsan;
#endif
#ifdef LT_VALGRIND
    unsigned valgrind;
#endif
};

/* Registers one of the library's stacks: `size` bytes from `low`. */
static inline void lt_fiber_create(struct lt_fiber *fiber, char *low, size_t size)
{
    fiber->low = low;
    fiber->size = size;
#ifdef LT_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
#ifdef LT_VALGRIND
    fiber->valgrind = VALGRIND_STACK_REGISTER(low, low + size);
#endif
}

/* Whether the program runs on valgrind, which knows fewer system calls, and regards memory below a
 * stack's pointer as unused. */
static inline bool lt_fiber_is_on_valgrind(void)
{
#ifdef LT_VALGRIND
    return RUNNING_ON_VALGRIND != 0;
#else
    return false;
#endif
}

/* Whether a tool must know when a stack is gone. */
static inline bool lt_fiber_is_watched(void)
{
#ifdef LT_TSAN
    return true;
#else
    return lt_fiber_is_on_valgrind();
#endif
}

static inline void lt_fiber_destroy(struct lt_fiber *fiber)
{
#ifdef LT_TSAN
    __tsan_destroy_fiber(fiber->tsan);
#endif
#ifdef LT_VALGRIND
    VALGRIND_STACK_DEREGISTER(fiber->valgrind);
#endif
    (void)fiber;
}

/* Registers the stack that the calling thread runs on. */
static inline void lt_fiber_adopt(struct lt_fiber *fiber)
{
#ifdef LT_TSAN
    fiber->tsan = __tsan_get_current_fiber();
#endif
    (void)fiber;
}

/* Before memory is used anew: an earlier stack there, or frames that have never returned, may have
 * left their red zones. */
static inline void lt_fiber_forget(char *memory, size_t size)
{
#ifdef LT_ASAN
    __asan_unpoison_memory_region(memory, size);
#endif
    (void)memory, (void)size;
}

/* The last call before a switch from `from` to `to`. `for_good`: no frame of `from` is returned
 * to. */
LT_NO_TSAN static inline void lt_fiber_leave(struct lt_fiber *from, struct lt_fiber *to,
                                             int for_good)
{
#ifdef LT_ASAN
    __sanitizer_start_switch_fiber(for_good ? NULL : &from->fake_stack, to->low, to->size);
#endif
#ifdef LT_TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
    (void)from, (void)to, (void)for_good;
}

/* The first call after a switch to `self`. `first`: nothing has run on `self` before. `from`: the
 * stack that was left, if it is a thread's own stack, whose bounds only ASan knows; else NULL. */
static inline void lt_fiber_arrive(struct lt_fiber *self, int first, struct lt_fiber *from)
{
#ifdef LT_ASAN
    const void *low;
    size_t size;
    __sanitizer_finish_switch_fiber(first ? NULL : self->fake_stack, &low, &size);
    if (from && !from->low) {
        from->low = (char *)(size_t)low;
        from->size = size;
    }
#endif
    (void)self, (void)first, (void)from;
}
