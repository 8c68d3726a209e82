/* write.h: writes to a file. */
#pragma once

#include <stddef.h>

/* Writes all bytes: 0 or a negative errno value. For a descriptor that may block. */
int write_all(int fd, const void *bytes, size_t n);
