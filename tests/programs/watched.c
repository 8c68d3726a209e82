/* watched HOW: a program to be looked after. It returns 0 when it comes to its end. */
#include <leat/leat.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void pause_for(long ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&left, &left) != 0) {
    }
}

static int receives(void *ch)
{
    int item;
    return leat_recv(ch, &item);
}

static int naps(void *unused)
{
    (void)unused;
    return leat_sleep(700 * LEAT_MS);
}

static int blocks(void *unused)
{
    (void)unused;
    pause_for(700);
    return 0;
}

static int calls(void *unused)
{
    (void)unused;
    return leat_blocking(blocks, NULL);
}

static _Atomic int stop;

static int hogs(void *ms)
{
    int64_t end = leat_now() + *(int64_t *)ms * LEAT_MS;
    while (leat_now() < end && !atomic_load(&stop)) {
    }
    return 0;
}

static int asks_for_dump(void *unused)
{
    (void)unused;
    leat_sleep(50 * LEAT_MS);
    kill(getpid(), SIGUSR1);
    int64_t ms = 700;
    return hogs(&ms);
}

static void *sends_later(void *ch)
{
    int item = 0;
    pause_for(700);
    leat_send(ch, &item);
    return NULL;
}

static int serves(void *ch)
{
    int item = 0;
    return leat_send(ch, &item);
}

/* For 700 ms nothing happens but messages from this blocking thread to a task. */
static int talks(void *ch)
{
    int item = 0;
    int64_t end = leat_after(700 * LEAT_MS);
    while (leat_now() < end && !leat_send(ch, &item)) {
    }
    return leat_close(ch);
}

static int listens(void *ch)
{
    int item;
    while (!leat_recv(ch, &item)) {
    }
    return 0;
}

static struct sleeper {
    leat_block block;
    leat_alarm alarm;
} sleeper;

static int sleeps_for_ever(leat_block *block)
{
    struct sleeper *me = (struct sleeper *)block;
    LEAT_BEGIN(block);
    LEAT_AWAIT_SLEEP(block, LEAT_NEVER, &me->alarm);
    LEAT_END(block);
}

static leat_timer timers[4];

static void ring(leat_timer *unused, int status)
{
    (void)unused;
    (void)status;
}

/* Whether leat has started the thread that looks after workers with descriptors. */
static int has_lookout(void)
{
    int found = 0;
    char path[300], name[32] = "";
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        int fd = open(path, O_RDONLY);
        found |= read(fd, name, sizeof name) > 0 && !strncmp(name, "leat-lookout", 12);
        close(fd);
    }
    if (threads)
        closedir(threads);
    return found;
}

static struct {
    leat_io *io;
    int other;
} pair;

static int answers(void *unused)
{
    char byte;
    (void)unused;
    while (leat_read(pair.io, &byte, 1) == 1)
        leat_write(pair.io, &byte, 1);
    return leat_io_close(pair.io);
}

/* From a thread, so that the workers sleep in between. */
static int asks(void *unused)
{
    char byte = 0;
    (void)unused;
    for (int64_t end = leat_after(30 * LEAT_S); !has_lookout() && leat_now() < end;)
        for (int i = 0; i < 20; i++)
            if (write(pair.other, &byte, 1) != 1 || read(pair.other, &byte, 1) != 1)
                return -5;
    return close(pair.other);
}

static void use_descriptors(leat_scope *s)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        leat_io_adopt(s, ends[0], &pair.io) != 0)
        _exit(4);
    pair.other = ends[1];
    leat_go(s, answers, NULL);
    leat_go_blocking(s, asks, NULL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int64_t ms = 400;
    pthread_t thread;
    if (leat_start(&(leat_options){ .workers = 2 }) != 0)
        return 2;
    leat_scope *s =
        leat_scope_open(strcmp(how, "deadline") ? LEAT_NEVER : leat_after(700 * LEAT_MS));
    leat_chan *ch = leat_chan_open(s, &(leat_chan_spec){ .item_size = sizeof(int), .name = "ch" });
    if (!strcmp(how, "deadlock")) {
        leat_go(s, receives, ch);
        leat_go(s, receives, ch);
    } else if (!strcmp(how, "deadlock-of-threads")) {
        leat_go_blocking(s, receives, ch);
        leat_go_blocking(s, receives, ch);
    } else if (!strcmp(how, "deadlock-after-work")) {
        leat_go(s, naps, NULL);
        leat_go(s, calls, NULL);
        leat_go(s, receives, ch);
    } else if (!strcmp(how, "deadlock-after-io")) {
        use_descriptors(s);
        leat_go(s, receives, ch);
    } else if (!strcmp(how, "deadlock-for-ever")) {
        leat_go(s, receives, ch);
        leat_go_block(s, &sleeper.block, sleeps_for_ever);
    } else if (!strcmp(how, "deadlock-with-timers")) {
        leat_go(s, receives, ch);
        for (int i = 0; i < 4; i++) {
            leat_timer_init(&timers[i], s);
            leat_after_func(&timers[i], i < 2 ? LEAT_NEVER : LEAT_MS, ring);
        }
    } else if (!strcmp(how, "sleep")) {
        leat_go(s, naps, NULL);
    } else if (!strcmp(how, "deadline")) {
        leat_go(s, receives, ch);
    } else if (!strcmp(how, "call")) {
        leat_go(s, calls, NULL);
    } else if (!strcmp(how, "blocking")) {
        leat_go_blocking(s, blocks, NULL);
    } else if (!strcmp(how, "thread")) {
        leat_go(s, receives, ch);
        pthread_create(&thread, NULL, sends_later, ch);
    } else if (!strcmp(how, "main")) {
        leat_go(s, receives, ch);
        pause_for(700);
        serves(ch);
    } else if (!strcmp(how, "timed")) {
        int item;
        leat_go(s, receives, ch);
        leat_recv_until(ch, &item, leat_after(700 * LEAT_MS));
        leat_scope_cancel(s);
    } else if (!strcmp(how, "talk")) {
        leat_go_blocking(s, talks, ch);
        leat_go(s, listens, ch);
    } else if (!strcmp(how, "hog")) {
        leat_go(s, hogs, &ms);
        pause_for(600);
    } else if (!strcmp(how, "signal")) {
        leat_go(s, receives, ch);
        leat_go(s, asks_for_dump, NULL);
        pause_for(1000);
        serves(ch);
    }
    int result = leat_scope_close(s);
    if (!strcmp(how, "thread"))
        pthread_join(thread, NULL);
    if (leat_stop() != 0)
        return 3;
    return result == -125 || result == -110 ? 0 : -result;
}
