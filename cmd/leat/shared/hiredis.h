/* hiredis.h: libhiredis, loaded (library.h) when an address of a queue is read.
 *
 * hiredis.c defines the functions of hiredis that libleat-link calls, and passes the calls on. So
 * it is for a command that is linked with libleat-link's objects and without an archive of hiredis.
 * None of these functions is called before hiredis_load has returned true. No lock: no other thread
 * runs yet. */
#pragma once

#include <stdbool.h>

/* Loads the library, once. False: the system does not have it. */
bool hiredis_load(void);
