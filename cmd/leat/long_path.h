/* long_path.h: paths that are longer than the system takes at once.
 *
 * Such a path is gone along in pieces, each opened in the folder that the one before led to. It takes two
 * descriptors more in passing. All others cost what they always cost. */
#ifndef LEAT_CMD_LONG_PATH_H
#define LEAT_CMD_LONG_PATH_H

#include <sys/stat.h>

/* As openat and fstatat, with a negative errno value for an error. */
int long_path_open(int at, const char *path, int flags);
int long_path_stat(int at, const char *path, struct stat *about, int flags);

#endif
