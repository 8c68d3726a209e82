/* job.c: a job that records when it ran: appends "BEGIN END" in nanoseconds to a file.
 *
 *     job FILE MICROSECONDS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long long begin = now();
    if (argc != 3)
        return 2;
    int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    long long pause = atoll(argv[2]) * 1000;
    nanosleep(&(struct timespec){ pause / 1000000000, pause % 1000000000 }, NULL);
    /* One write, so that lines of several jobs do not mix. */
    char line[64];
    int n = snprintf(line, sizeof line, "%lld %lld\n", begin, now());
    return write(file, line, (size_t)n) != n;
}
