/* environment.h: what is said to leat through the environment.
 *
 * Who sets a variable there may know the program only from outside, and hardly sees what leat returns to it. So
 * what is not understood is also named on standard error. */
#ifndef LT_BASE_ENVIRONMENT_H
#define LT_BASE_ENVIRONMENT_H

#include <stdint.h>

/* The variable's value; NULL when it has none, or an empty one. */
const char *lt_env(const char *variable);

/* Says that its value is not what is wanted. Returns -EINVAL. */
int lt_env_refuse(const char *variable, const char *wanted);

/* Its value, a decimal number from 1 to `most`; 0 when it has none, -EINVAL when it has another. */
int64_t lt_env_number(const char *variable, long most);

/* Names on standard error, the first time that it is called, each variable that begins with LEAT_ and is none that leat
 * reads. */
void lt_env_tell_unknown(void);

#endif
