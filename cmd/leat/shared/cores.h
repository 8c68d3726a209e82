/* cores.h: how many cores this process may use. */
#pragma once

/* Returns 1 or more. */
unsigned cores_usable(void);
