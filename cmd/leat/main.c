/* main.c: the command `leat`, which has commands of its own. */
#define _GNU_SOURCE
#include "sum.h"

#include <fcntl.h>
#include <leat/base.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "Usage: leat COMMAND [ARGUMENT]...\n"
                           "\n"
                           "  leat sum [OPTION]... [PATH]...  print or check digests of files\n"
                           "  leat --help                     print this and exit\n"
                           "  leat --version                  print the version and exit\n"
                           "\n"
                           "leat sum --help tells about the command.\n";

static const struct persona leat_sum = { .program = "leat sum", .algorithm = "md5", .walks = true };

/* Whoever opens a file must not be given one of the first three numbers, which everybody takes for
 * the standard streams. What was closed stays of no use: reading or writing it is still an error. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            exit(EXIT_FAILURE);
}

static int usage(const char *what, const char *argument)
{
    if (argument)
        fprintf(stderr, "leat: %s '%s'\n", what, argument);
    else
        fprintf(stderr, "leat: %s\n", what);
    fputs("Try 'leat --help' for more information.\n", stderr);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    occupy_standard_streams();
    setlocale(LC_ALL, "");
    if (argc < 2)
        return usage("missing command", NULL);
    if (strcmp(argv[1], "sum") == 0) {
        /* getopt begins its messages with the name it finds here. */
        static char name[] = "leat sum";
        argv[1] = name;
        return sum_main(&leat_sum, argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return sum_finish_stdio("leat", EXIT_SUCCESS);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("leat %s\n", leat_version());
        return sum_finish_stdio("leat", EXIT_SUCCESS);
    }
    return usage(argv[1][0] == '-' ? "unrecognized option" : "unknown command", argv[1]);
}
