#include "base/barrier.h"

#include "base/util.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PROCESSORS = 8192 /* the most that Linux can be built for */ };

static long call_membarrier(int command)
{
    int saved = errno;
    long result = syscall(SYS_membarrier, command, 0, 0);
    errno = saved;
    return result;
}

bool lt_barrier_is_there(void)
{
    return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

/* Registering takes the kernel 10 to 20 ms in a process that already has threads, since it waits
 * until all processors have seen it. Without threads it takes no time. */
static __attribute__((constructor)) void register_early(void)
{
    lt_barrier_is_there();
}

bool lt_barrier(void)
{
    return call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

/* Moves the calling thread to a processor. False if it may not run there: then no thread of the
 * process does, unless some threads have been put into other cpusets. */
static bool move_to(size_t processor)
{
    enum { BITS = CHAR_BIT * sizeof(unsigned long) };
    unsigned long set[PROCESSORS / BITS] = { 0 };
    set[processor / BITS] = 1UL << processor % BITS;
    return syscall(SYS_sched_setaffinity, 0, sizeof set, set) == 0;
}

/* A thread that arrives on a processor replaces the thread that ran there, and this switch is a
 * barrier for both. A thread that has left a processor before has passed one, too. */
LT_COLD static bool visit_processors(void)
{
    unsigned long before[PROCESSORS / CHAR_BIT / sizeof(unsigned long)] = { 0 };
    long size = syscall(SYS_sched_getaffinity, 0, sizeof before, before);
    size_t visited = 0;
    bool refused = size <= 0;
    for (size_t i = 0; !refused && i < (size_t)size * CHAR_BIT; i++) {
        if (move_to(i))
            visited++;
        else
            refused = errno != EINVAL;
    }
    if (visited && syscall(SYS_sched_setaffinity, 0, sizeof before, before) != 0) {
        /* The cpuset has none of these processors any more: any that it has will do. */
        memset(before, 0xff, sizeof before);
        syscall(SYS_sched_setaffinity, 0, sizeof before, before);
    }
    return visited && !refused;
}

bool lt_barrier_anyhow(void)
{
    if (LT_LIKELY(lt_barrier()))
        return true;
    int saved = errno;
    bool passed = visit_processors();
    errno = saved;
    return passed;
}
