/* listing.h: the names in one folder, sorted.
 *
 * A folder's name is sorted as if it ended in '/', so a walk that descends where it meets a folder
 * yields all paths in the order of their bytes. The result is one piece of memory with nothing but
 * the names, since a walk keeps one for each folder above the present one. */
#ifndef LEAT_CMD_LISTING_H
#define LEAT_CMD_LISTING_H

#include <stdbool.h>
#include <stddef.h>

enum entry_kind {
    ENTRY_FILE = 1,
    ENTRY_FOLDER,
    ENTRY_FIFO,
    ENTRY_SOCKET,
    ENTRY_DEVICE,
    ENTRY_UNKNOWN, /* it went away, or leads nowhere: opening it will tell */
};

/* The next entry; `kind` is 0 after the last. */
struct entry {
    enum entry_kind kind;
    const char *name;
};

/* Memory used again from folder to folder. A zeroed struct is ready. */
struct lister {
    char *block; /* what the system hands out at once */
    char *bytes; /* one after the other: kind, name, '/' for a folder, NUL */
    size_t len, cap;
    size_t *starts; /* where each begins */
    size_t count, starts_cap;
};

void lister_free(struct lister *l);

/* Lists the folder open as `fd`; links are left out, or, when followed, count as what they lead to.
 * Puts into *names what listing_next reads, to be freed with free(),
 * also after an error: what could be read until then. NULL when there is
 * nothing.
 * Returns 0, -ENOMEM, or what the system said. */
int list_folder(struct lister *l, int fd, bool follow_links, char **names);

/* Moves *at, which starts at `names`, over one entry. */
struct entry listing_next(const char **at);

#endif
