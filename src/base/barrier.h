/* barrier.h: a memory barrier that one thread makes for all threads of the process (membarrier).
 *
 * The side of a protocol that runs often then needs no fence. That side writes one word and reads
 * another, and only keeps the compiler from changing the order. The side that runs rarely writes
 * the other word, calls lt_barrier, and reads the first. So at least one of the two sees what the
 * other wrote. */
#pragma once

#include <stdbool.h>

/* Whether the kernel has the barrier. The first call takes some 10 ms in a process that already has
 * threads: so the library makes it when it is loaded. */
bool lt_barrier_is_there(void);

/* Makes the barrier. False if the kernel refuses: then nothing is ordered. Keeps errno. */
bool lt_barrier(void);

/* As lt_barrier. If the kernel refuses a barrier that it has, because a sandbox came later, this
 * visits each processor instead, which takes some 50 microseconds each. False if the kernel refuses
 * that, too. */
bool lt_barrier_anyhow(void);
