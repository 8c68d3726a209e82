#include "device.h"

#include "pace.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

/* At 7,200 rotations a minute half a rotation takes 4 ms. */
enum { QUICK = 2 * LEAT_MS, QUICK_IN_A_ROW = 4, TURNS_MOST = 1024 };

struct device {
    struct device *next;
    dev_t number;
    leat_chan *turns;     /* one item for each free turn; NULL: not bounded */
    pthread_mutex_t lock; /* for `pace`, `surplus`, `busy` and `waiting` */
    struct pace pace;
    unsigned surplus;       /* turns to withdraw from their readers */
    unsigned busy, waiting; /* readers that have a turn, and that wait for one */
    /* Quick answers in a row, up to QUICK_IN_A_ROW. Only a guess depends on it: relaxed. */
    atomic_uint quick;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices; /* the newest is first */
static leat_scope *scope;
static unsigned readers; /* of each device, if the user has given the number; else 0 */
static int64_t quick;

void devices_open(leat_scope *of, unsigned count)
{
    scope = of;
    readers = count;
    /* For tests. */
    const char *ns = getenv("LEAT_QUICK");
    quick = ns ? strtoll(ns, NULL, 10) : QUICK;
}

void devices_close(void)
{
    for (struct device *next; devices; devices = next) {
        next = devices->next;
        pthread_mutex_destroy(&devices->lock);
        free(devices);
    }
}

/* A partition has no queue: its disk's is in the folder above. LEAT_SYSFS is for tests. */
static bool is_rotational(dev_t number)
{
    static const char *const places[] = { "", "/.." };
    const char *sysfs = getenv("LEAT_SYSFS");
    for (int i = 0; i < 2; i++) {
        char path[256];
        int len = snprintf(path, sizeof path, "%s/dev/block/%u:%u%s/queue/rotational",
                           sysfs ? sysfs : "/sys", major(number), minor(number), places[i]);
        FILE *file = len < (int)sizeof path ? fopen(path, "re") : NULL;
        if (!file)
            continue;
        int c = fgetc(file);
        fclose(file);
        return c == '1';
    }
    return false;
}

/* NULL if memory has run out; then the device is not bounded. */
static struct device *add_device(dev_t number)
{
    struct device *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    *d = (struct device){ .number = number };
    pthread_mutex_init(&d->lock, NULL);
    pace_open(&d->pace);
    if (readers > 0 || is_rotational(number))
        d->turns = leat_chan_make(scope, 0, TURNS_MOST);
    for (unsigned i = 0; d->turns && i < (readers > 0 ? readers : 1); i++)
        leat_try_send(d->turns, NULL);
    d->next = devices;
    devices = d;
    return d;
}

struct device *device_of(dev_t number)
{
    pthread_mutex_lock(&lock);
    struct device *d = devices;
    while (d && d->number != number)
        d = d->next;
    if (!d)
        d = add_device(number);
    pthread_mutex_unlock(&lock);
    return d && d->turns ? d : NULL;
}

bool device_has_turns(const struct device *d)
{
    return readers > 0 || atomic_load_explicit(&d->quick, memory_order_relaxed) < QUICK_IN_A_ROW;
}

void device_took(struct device *d, int64_t ns)
{
    unsigned row = atomic_load_explicit(&d->quick, memory_order_relaxed);
    if (ns >= quick)
        row = 0;
    else if (row < QUICK_IN_A_ROW)
        row++;
    atomic_store_explicit(&d->quick, row, memory_order_relaxed);
}

static void count_readers(struct device *d, int busy, int waiting)
{
    pthread_mutex_lock(&d->lock);
    d->busy += (unsigned)busy;
    d->waiting += (unsigned)waiting;
    pthread_mutex_unlock(&d->lock);
}

static int begin_turn(const struct turn *t, struct device *d)
{
    int err = leat_try_recv(d->turns, NULL);
    if (err == -EAGAIN) {
        err = t->before_wait(t->arg);
        if (err)
            return err;
        count_readers(d, 0, 1);
        err = leat_recv(d->turns, NULL);
        count_readers(d, 0, -1);
    }
    if (!err)
        count_readers(d, 1, 0);
    return err;
}

int turn_take(struct turn *t, struct device *d)
{
    if (t->files == 0) {
        int err = begin_turn(t, d);
        if (err)
            return err;
        t->device = d;
    }
    t->files++;
    return 0;
}

/* Withdraws the caller's turn if there is a surplus. Returns whether it did. */
static bool take_surplus(struct device *d)
{
    bool is = d->surplus > 0;
    d->surplus -= is;
    d->busy -= is;
    return is;
}

int turn_keep(struct turn *t)
{
    struct device *d = t->device;
    pthread_mutex_lock(&d->lock);
    bool lost = take_surplus(d);
    pthread_mutex_unlock(&d->lock);
    return lost ? begin_turn(t, d) : 0;
}

void turn_end(struct turn *t)
{
    struct device *d = t->device;
    if (--t->files > 0)
        return;
    pthread_mutex_lock(&d->lock);
    bool lost = take_surplus(d);
    d->busy -= !lost;
    pthread_mutex_unlock(&d->lock);
    if (!lost)
        leat_try_send(d->turns, NULL);
}

/* Returns how many turns to add. If there are too many, turn_keep and turn_end withdraw them. */
static unsigned follow_pace(struct device *d, unsigned before)
{
    unsigned now = d->pace.limit;
    if (now <= before) {
        d->surplus += before - now;
        return 0;
    }
    unsigned more = now - before, kept = d->surplus < more ? d->surplus : more;
    d->surplus -= kept;
    return more - kept;
}

void turn_gave(const struct turn *t, size_t bytes)
{
    struct device *d = t->device;
    /* With LEAT_QUICK=0 the disk stays rotational, whatever its pace. */
    if (readers > 0 || quick == 0)
        return;
    pthread_mutex_lock(&d->lock);
    unsigned before = d->pace.limit;
    pace_read(&d->pace, leat_now(), bytes, d->busy, d->waiting);
    unsigned more = follow_pace(d, before);
    pthread_mutex_unlock(&d->lock);
    for (; more > 0; more--)
        leat_try_send(d->turns, NULL);
}
