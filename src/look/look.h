/* look.h: the look that the environment asks for. */
#ifndef LT_LOOK_LOOK_H
#define LT_LOOK_LOOK_H

/* LEAT_LOOK and LEAT_LOOK_TOKEN: serves from the start of the runtime to its end. 0, or -EINVAL for
 * values that leat does not understand. If the address cannot be had, a line on standard error says
 * so, and the program goes on: another one that inherited the variable may have it. */
int lt_look_serve(void);
void lt_look_serve_end(void);

#endif
