#define _GNU_SOURCE
#include "base/barrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

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
