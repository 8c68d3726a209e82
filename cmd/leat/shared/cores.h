/* cores.h: how many cores this process may use. */
#ifndef LEAT_CMD_CORES_H
#define LEAT_CMD_CORES_H

/* Returns 1 or more. */
unsigned cores_usable(void);

#endif
