#include "base/bell.h"

#include "base/cancel.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

void lt_bell_ring(int bell)
{
    int saved = errno, cancel = lt_cancel_put_off();
    uint64_t one = 1;
    ssize_t ignored = write(bell, &one, sizeof one);
    (void)ignored;
    lt_cancel_restore(cancel);
    errno = saved;
}
