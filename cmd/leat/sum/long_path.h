/* long_path.h: paths longer than the system takes.
 *
 * Such a path is opened piece by piece, each in the folder that the piece before leads to. That
 * needs two more descriptors for a moment. Shorter paths cost nothing extra. */
#pragma once

#include <sys/stat.h>

/* As openat and fstatat, but return a negative errno value for an error. */
int long_path_open(int at, const char *path, int flags);
int long_path_stat(int at, const char *path, struct stat *about, int flags);
