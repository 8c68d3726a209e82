#define _GNU_SOURCE
#include "base/barrier.h"

#include "base/util.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSORS = 8192 /* as many as Linux can be built for */ };

static long call(int command)
{
    int saved = errno;
    long result = syscall(SYS_membarrier, command, 0, 0);
    errno = saved;
    return result;
}

bool lt_barrier_is_there(void)
{
    return call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

/* The kernel takes 10 to 20 ms over this in a process that has threads already (it waits for all processors
 * to have seen it), and none in one that has not. */
static __attribute__((constructor)) void register_early(void)
{
    lt_barrier_is_there();
}

bool lt_barrier(void)
{
    return call(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

/* Whether the calling thread has been there; false also where it may not go: no thread of the process runs there,
 * unless somebody has put its threads into cpusets of their own. */
static bool go_to(size_t processor)
{
    enum { BITS = CHAR_BIT * sizeof(unsigned long) };
    unsigned long set[PROCESSORS / BITS] = { 0 };
    set[processor / BITS] = 1UL << processor % BITS;
    return syscall(SYS_sched_setaffinity, 0, sizeof set, set) == 0;
}

/* Who comes to a processor takes the place of whoever ran there, and that is a barrier for both. Whoever leaves a
 * processor before passes one, too. */
LT_COLD static bool go_everywhere(void)
{
    unsigned long before[PROCESSORS / CHAR_BIT / sizeof(unsigned long)] = { 0 };
    long size = syscall(SYS_sched_getaffinity, 0, sizeof before, before);
    size_t been = 0;
    bool refused = size <= 0;
    for (size_t i = 0; !refused && i < (size_t)size * CHAR_BIT; i++) {
        if (go_to(i))
            been++;
        else
            refused = errno != EINVAL;
    }
    if (been)
        syscall(SYS_sched_setaffinity, 0, sizeof before, before);
    return been && !refused;
}

bool lt_barrier_anyhow(void)
{
    if (LT_LIKELY(lt_barrier()))
        return true;
    int saved = errno;
    bool passed = go_everywhere();
    errno = saved;
    return passed;
}
