/* descriptors.h: the descriptors that this process may have, shared between files and folders.
 *
 * Those that it was started with count, so a limit that leaves few free ones makes it slow, down to one
 * file and one folder at a time, but has no file fail. */
#ifndef LEAT_CMD_DESCRIPTORS_H
#define LEAT_CMD_DESCRIPTORS_H

#include "flow.h"

/* Sets how many digesters the flow has and how many files each of them may have open, as many as it has now
 * at most; and *folders, for a walk. `others` is how many descriptors all else needs, a walk's first folder too.
 * 0, or -EMFILE when not even one file can be open. */
int descriptors_share(struct flow *f, size_t others, size_t *folders);

#endif
