/* floor.c: what running a command over items costs at least: a thread for each place, posix_spawn,
 * waitpid. With -k the outputs are captured and written in order, without a bound.
 *
 *     floor [-k] PLACES COMMAND [ARG]... <items
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turns = PTHREAD_COND_INITIALIZER;
static long taken, written; /* jobs; under the lock */
static bool keep;
static char **command; /* its arguments, room for the item, and NULL */
static int arguments;

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

/* The whole output. */
static size_t capture(int from, char **bytes)
{
    size_t n = 0, room = 0;
    for (;;) {
        if (room - n < 65536) {
            room = 2 * room + 65536;
            *bytes = realloc(*bytes, room);
            if (!*bytes)
                fail("realloc");
        }
        ssize_t got = read(from, *bytes + n, room - n);
        if (got < 0)
            fail("read");
        if (got == 0)
            return n;
        n += (size_t)got;
    }
}

static void write_in_turn(long number, const char *bytes, size_t n)
{
    pthread_mutex_lock(&lock);
    while (written != number)
        pthread_cond_wait(&turns, &lock);
    pthread_mutex_unlock(&lock);
    while (n > 0) {
        ssize_t wrote = write(STDOUT_FILENO, bytes, n);
        if (wrote < 0)
            fail("write");
        bytes += wrote;
        n -= (size_t)wrote;
    }
    pthread_mutex_lock(&lock);
    written++;
    pthread_cond_broadcast(&turns);
    pthread_mutex_unlock(&lock);
}

static void run(char **argv, long number)
{
    posix_spawn_file_actions_t actions;
    int ends[2] = { -1, -1 };
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
    if (keep) {
        if (pipe2(ends, O_CLOEXEC) != 0)
            fail("pipe2");
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    }
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0)
        fail(argv[0]);
    posix_spawn_file_actions_destroy(&actions);
    if (keep) {
        char *bytes = NULL;
        close(ends[1]);
        size_t n = capture(ends[0], &bytes);
        close(ends[0]);
        write_in_turn(number, bytes, n);
        free(bytes);
    }
    if (waitpid(pid, NULL, 0) < 0)
        fail("waitpid");
}

static void *place(void *arg)
{
    char *line = NULL, *argv[64];
    size_t room = 0;
    memcpy(argv, command, (size_t)arguments * sizeof *argv);
    argv[arguments + 1] = NULL;
    for (;;) {
        pthread_mutex_lock(&lock);
        ssize_t n = getline(&line, &room, stdin);
        long number = taken;
        taken += n > 0;
        pthread_mutex_unlock(&lock);
        if (n <= 0)
            break;
        line[strcspn(line, "\n")] = '\0';
        argv[arguments] = line;
        run(argv, number);
    }
    free(line);
    return arg;
}

int main(int argc, char **argv)
{
    keep = argc > 1 && strcmp(argv[1], "-k") == 0;
    argv += keep;
    argc -= keep;
    int places = argc > 2 ? atoi(argv[1]) : 0;
    if (places < 1 || places > 256 || argc > 60) {
        fputs("usage: floor [-k] PLACES COMMAND [ARG]... <items\n", stderr);
        return 2;
    }
    command = argv + 2;
    arguments = argc - 2;
    pthread_t threads[256];
    for (int i = 0; i < places; i++)
        if (pthread_create(&threads[i], NULL, place, NULL) != 0)
            fail("pthread_create");
    for (int i = 0; i < places; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
