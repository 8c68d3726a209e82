/* barrier.h: a barrier that all threads of the process pass, made by one of them (membarrier).
 *
 * It lets a common side go without a fence: that side writes a word and reads another with nothing but the compiler
 * kept from changing the order; the rare side writes the other word, calls lt_barrier, and reads the first. Then one
 * of the two sees what the other wrote. */
#ifndef LT_BASE_BARRIER_H
#define LT_BASE_BARRIER_H

#include <stdbool.h>

/* Whether the kernel has the barrier. Costs a system call the first time, in a process that has threads already some
 * 10 ms: so the library asks when it is loaded. */
bool lt_barrier_is_there(void);

/* Makes it; false: the kernel has refused, and nothing is certain. Keeps errno. */
bool lt_barrier(void);

/* The same; where the kernel refuses it although it has said that it has it, since a sandbox came later, another way,
 * which takes some 50 microseconds for each processor. False: refused as well. Keeps errno. */
bool lt_barrier_anyhow(void);

#endif
