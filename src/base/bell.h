/* bell.h: rings a bell, which is an eventfd. */
#pragma once

/* Makes the eventfd readable. From any thread, also in a signal handler, with any lock held: keeps
 * errno, and is no cancellation point. A full counter refuses, but then the eventfd is readable. */
void lt_bell_ring(int bell);
