#define _GNU_SOURCE
#include "base/futex.h"

#include "base/util.h"
#include "base/world.h"

#include <leat/base.h>

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void lt_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t deadline)
{
    if (LT_UNLIKELY(lt_world() != NULL) && lt_world()->sleep(word, expected, deadline))
        return;
    int saved = errno;
    struct timespec at, *timeout = NULL;
    if (deadline != LEAT_NEVER) {
        at.tv_sec = (time_t)(deadline / LEAT_S);
        at.tv_nsec = (long)(deadline % LEAT_S);
        timeout = &at;
    }
    /* WAIT_BITSET takes an absolute time; plain WAIT a relative one that would drift on retries. */
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, expected, timeout, NULL,
            FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void lt_futex_nap(_Atomic uint32_t *word, uint32_t expected, int64_t ns)
{
    int saved = errno;
    struct timespec time = { .tv_sec = (time_t)(ns / LEAT_S), .tv_nsec = (long)(ns % LEAT_S) };
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, expected, &time, NULL, 0);
    errno = saved;
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
