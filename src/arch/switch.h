/* switch.h: from one stack to another.
 *
 * A stack that is not running is one pointer: below it lie the registers the calling convention says a
 * call preserves, and the address to go on at. The floating-point control words (MXCSR and x87's;
 * FPCR) are left alone: by the same convention they belong to the thread, and saving them would cost
 * as much as all the rest. A signal that arrives during a switch finds a whole stack at every
 * instruction. Shadow stacks are not switched, so the files carry no note that claims it. */
#ifndef LT_ARCH_SWITCH_H
#define LT_ARCH_SWITCH_H

/* Saves the running stack in *from and goes on with the one that `to` was saved from. */
void lt_switch(void **from, void *to);

/* Saves the running stack in *from and calls entry(arg) on the empty stack that ends at `top` (16-byte
 * aligned). entry does not return. */
void lt_switch_start(void **from, void *top, void (*entry)(void *arg), void *arg);

#endif
