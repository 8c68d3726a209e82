/* descriptors.h: divides the descriptors that this process may open between files and folders.
 *
 * Descriptors that are open at the start count too. So a low limit makes the command slow, down to
 * one file and one folder at a time, but no file fails because of it. */
#pragma once

#include "flow.h"

/* Lowers f->jobs and f->files as far as the limit requires, and sets *folders, the folders that a
 * walk may have open. `others`: descriptors for everything else, including a walk's first folder.
 * Returns 0, or -EMFILE if not even one file can be open. */
int descriptors_share(struct flow *f, size_t others, size_t *folders);
