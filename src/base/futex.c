#include "base/futex.h"

#include "base/sanitizers.h"
#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* WAIT_BITSET takes an absolute time; plain WAIT a relative one that would drift on retries.
 * Returns 0, or -1 with errno. */
static long sleep_until(_Atomic uint32_t *word, uint32_t expected, int64_t deadline)
{
    struct timespec at, *timeout = NULL;
    if (deadline != LEAT_NEVER) {
        at.tv_sec = (time_t)(deadline / LEAT_S);
        at.tv_nsec = (long)(deadline % LEAT_S);
        timeout = &at;
    }
    return syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, timeout, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

#ifdef LT_TSAN
/* The thread sanitizer keeps a signal until the thread calls a function that the sanitizer has
 * replaced: this one, which is no cancellation point. A signal may come just before the sleep, so
 * the sleep has an end. Workers take no signals, and sleep as elsewhere. */
static void sleep_with_signals(_Atomic uint32_t *word, uint32_t expected, int64_t deadline)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    if (sigismember(&mask, SIGTERM)) {
        sleep_until(word, expected, deadline);
        return;
    }
    for (;;) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t slice = now.tv_sec * LEAT_S + now.tv_nsec + 20 * LEAT_MS;
        long slept = sleep_until(word, expected, slice < deadline ? slice : deadline);
        int error = slept == 0 ? 0 : errno;
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        if ((error != ETIMEDOUT && error != EINTR) || (error == ETIMEDOUT && slice >= deadline))
            return;
    }
}
#endif

void lt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline)
{
    if (LT_UNLIKELY(lt_world() != NULL) && lt_world()->sleep(word, expected, deadline))
        return;
    int saved = errno;
#ifdef LT_TSAN
    sleep_with_signals(word, expected, deadline);
#else
    sleep_until(word, expected, deadline);
#endif
    errno = saved;
}

void lt_futex_nap(_Atomic uint32_t *word, uint32_t expected, int64_t ns)
{
    int saved = errno;
    struct timespec time = { .tv_sec = (time_t)(ns / LEAT_S), .tv_nsec = (long)(ns % LEAT_S) };
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, &time, NULL, 0);
    errno = saved;
}

void lt_nap(int64_t ns)
{
    static _Atomic uint32_t never;
    lt_futex_nap(&never, 0, ns);
}

void lt_futex_rouse(_Atomic uint32_t *word)
{
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    errno = saved;
}

void lt_futex_wake(_Atomic uint32_t *word)
{
    if (LT_LIKELY(lt_world() == NULL) || !lt_world()->wake(word))
        lt_futex_rouse(word);
}
