#include "shared/finish.h"

#include <errno.h>
#include <leat/base.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int finish_output(void)
{
    int copy = dup(STDOUT_FILENO); /* each descriptor of a file asks when it is closed */
    return copy >= 0 && close(copy) < 0 ? -errno : 0;
}

int finish_stdio(const char *program, int status, int failure)
{
    int failed = ferror(stdout);
    if (fflush(stdout) == 0 && !failed && finish_output() == 0)
        return status;
    fprintf(stderr, "%s: write error: %s\n", program, strerror(errno));
    return failure;
}

int finish_text(const char *program, const char *text, int failure)
{
    fputs(text, stdout);
    return finish_stdio(program, 0, failure);
}

int finish_version(const char *program, int failure)
{
    printf("%s %s\n", program, leat_version());
    return finish_stdio(program, 0, failure);
}

int finish_by_signal(int number)
{
    sigset_t alone;
    sigemptyset(&alone);
    sigaddset(&alone, number);
    signal(number, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &alone, NULL);
    raise(number);
    return 128 + number;
}
