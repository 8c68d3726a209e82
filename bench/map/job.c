/* job.c: a job that tells when it ran: appends "BEGIN END" in nanoseconds to a file.
 *
 *     job FILE MILLISECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    long long begin = now();
    FILE *file = fopen(argv[1], "a");
    long long pause = atoll(argv[2]) * 1000000;
    nanosleep(&(struct timespec){ pause / 1000000000, pause % 1000000000 }, NULL);
    /* One write, so that lines of several jobs do not mix. */
    return !file || fprintf(file, "%lld %lld\n", begin, now()) < 0 || fclose(file) != 0;
}
