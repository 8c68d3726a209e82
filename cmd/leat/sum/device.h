/* device.h: rotational disks, and turns at reading from one.
 *
 * A rotational disk is fast while it reads one file at a time; with several it spends most of the
 * time on seeks. So a reader needs a turn to read from such a disk, and has it until the file is
 * read. There is one turn at first, or the number that the user gives. Reading from the system's
 * cache needs no turn.
 *
 * Virtual disks often claim to be rotational and are not. If a disk has answered a few readers in a
 * row faster than a rotational one can, no turns are needed until it is slow again. With long files
 * such first answers are rare; then turns are added as long as that makes reading faster (pace.h).
 * A reader that loses its turn waits in the middle of its file.
 *
 * A reader takes a turn only when it has none on any device, so two readers never wait for each
 * other. */
#pragma once

#include <leat/leat.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct device;

/* Bounds the readers of every device to `readers` at a time. With 0, bounds only the readers of
 * rotational disks, to 1 at first. */
void devices_open(leat_scope *scope, unsigned readers);
void devices_close(void);

/* The device with that number; NULL if its readers are not bounded. */
struct device *device_of(dev_t number);

/* Whether its readers need turns now. */
bool device_has_turns(const struct device *d);

/* Reports that the first bytes of a file that was not in the cache took `ns` nanoseconds. */
void device_took(struct device *d, int64_t ns);

/* A reader's turn. All files that it reads meanwhile share the turn; with 0 files it has none. */
struct turn {
    struct device *device;
    unsigned files;
    int (*before_wait)(void *arg); /* called before a wait; 0 or -ECANCELED */
    void *arg;
};

/* Takes the turn for one more file on the device. 0 or -ECANCELED. */
int turn_take(struct turn *t, struct device *d);

/* Called before the reader reads on. If there are fewer turns now, gives the turn up and waits for
 * the next. 0 or -ECANCELED. */
int turn_keep(struct turn *t);

/* Reports `bytes` read with the turn. */
void turn_gave(const struct turn *t, size_t bytes);

/* One of the turn's files has been read. The last one ends the turn. */
void turn_end(struct turn *t);
