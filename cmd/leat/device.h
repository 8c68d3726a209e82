/* device.h: disks that turn, and whose turn it is to read from one.
 *
 * A rotational disk is fast as long as one file after the other is read; several at a time have it
 * seek most of the time. So what is not in the system's cache is read from such a disk by as many
 * readers as have a turn, one at first unless the user said otherwise, and a turn lasts until the
 * file is read. What is in the cache needs no turn.
 *
 * Virtual disks often say that they turn and do not. One that has answered a few readers in a row
 * faster than a disk can turn is believed no longer, until it is slow again. Where files are long,
 * so that there are few first answers, further readers get turns for as long as that gains
 * something (pace.h); a reader whose turn is taken away waits in the middle of its file.
 *
 * A reader takes a turn only while it has none, on any device: so no two wait for each other. */
#ifndef LEAT_CMD_DEVICE_H
#define LEAT_CMD_DEVICE_H

#include <leat/leat.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct device;

/* Bounds the readers of every device to `readers`; 0: those of rotational disks, to 1 at first, and
 * no others. */
void devices_open(leat_scope *scope, unsigned readers);
void devices_close(void);

/* The device with that number; NULL when its readers are not bounded. */
struct device *device_of(dev_t number);

/* Whether its readers are bounded now. */
bool device_has_turns(const struct device *d);

/* It took so many nanoseconds to read the first bytes of a file that are not in the cache. */
void device_took(struct device *d, int64_t ns);

/* A reader's turn; with no files, it has none. All files that it reads meanwhile share it. */
struct turn {
    struct device *device;
    unsigned files;
    int (*before_wait)(void *arg); /* what is to be done before a wait; 0 or -ECANCELED */
    void *arg;
};

/* For one more file on the device. 0 or -ECANCELED. */
int turn_take(struct turn *t, struct device *d);

/* Before the reader goes on in its files: waits if there are fewer turns now. 0 or -ECANCELED. */
int turn_keep(struct turn *t);

/* By its turn the reader was given so many bytes. */
void turn_gave(const struct turn *t, size_t bytes);

/* One of the files that it was taken for has been read. */
void turn_end(struct turn *t);

#endif
