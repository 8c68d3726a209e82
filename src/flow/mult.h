/* mult.h: mults, for the rest of the room. */
#ifndef LT_FLOW_MULT_H
#define LT_FLOW_MULT_H

#include <leat/flow.h>

#include <stdbool.h>

/* Whether a mult has taps, at some moment during the call. */
bool lt_mult_is_tapped(leat_mult *mult);

#endif
