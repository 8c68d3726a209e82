#include "device.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>

/* A disk of 7,200 turns a minute takes 4 ms for half of one. */
enum { QUICK = 2 * LEAT_MS, QUICK_IN_A_ROW = 4 };

struct device {
    struct device *next;
    dev_t number;
    leat_chan *turns; /* as many items as there are turns taken; NULL: not bounded */
    bool asked_for;   /* bounded by the user, not by what the disk says of itself */
    /* Quick answers in a row, so many at most. Only a guess is made from it: relaxed. */
    atomic_uint quick;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device *devices; /* the last one looked for is the first */
static leat_scope *scope;
static unsigned readers;
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
        free(devices);
    }
}

/* A partition's queue is that of its disk, in the folder above. LEAT_SYSFS is for tests. */
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

/* One that cannot be remembered is not bounded. */
static struct device *add(dev_t number)
{
    struct device *d = malloc(sizeof *d);
    if (!d)
        return NULL;
    *d = (struct device){ .number = number, .asked_for = readers > 0 };
    if (readers > 0 || is_rotational(number))
        d->turns = leat_chan_make(scope, 0, readers > 0 ? readers : 1);
    d->next = devices;
    devices = d;
    return d;
}

static struct device *find(dev_t number)
{
    for (struct device **at = &devices; *at; at = &(*at)->next) {
        struct device *d = *at;
        if (d->number == number) {
            *at = d->next;
            d->next = devices;
            devices = d;
            return d;
        }
    }
    return add(number);
}

struct device *device_of(dev_t number)
{
    pthread_mutex_lock(&lock);
    struct device *d = find(number);
    pthread_mutex_unlock(&lock);
    return d && d->turns ? d : NULL;
}

bool device_has_turns(const struct device *d)
{
    return d->asked_for || atomic_load_explicit(&d->quick, memory_order_relaxed) < QUICK_IN_A_ROW;
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

int turn_take(struct turn *t, struct device *d)
{
    if (t->files == 0) {
        int err = leat_try_send(d->turns, NULL);
        if (err == -EAGAIN) {
            err = t->before_wait(t->arg);
            if (!err)
                err = leat_send(d->turns, NULL);
        }
        if (err)
            return err;
        t->device = d;
    }
    t->files++;
    return 0;
}

void turn_end(struct turn *t)
{
    if (--t->files == 0)
        leat_try_recv(t->device->turns, NULL);
}
