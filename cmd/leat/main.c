/* main.c: the program `leat`, which runs one of its commands. */
#define _GNU_SOURCE
#include "look/look.h"
#include "map/map.h"
#include "shared/finish.h"
#include "shared/usage.h"
#include "sum/sum.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "Usage: leat COMMAND [ARGUMENT]...\n"
    "\n"
    "  leat sum [OPTION]... [PATH]...   print or check digests of files\n"
    "  leat map [OPTION]... COMMAND...  run a command over items\n"
    "  leat look [OPTION]... ADDRESS    show what a running program does\n"
    "  leat worker [ADDRESS]            run commands for a leat map elsewhere\n"
    "  leat --help                      print this and exit\n"
    "  leat --version                   print the version and exit\n"
    "\n"
    "leat COMMAND --help describes the command.\n";

/* No file that is opened later may get the number of a standard stream. A stream that was closed
 * stays unusable: reading or writing it is still an error, and sum.c recognizes it by O_PATH. */
static void occupy_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_PATH) < 0)
            exit(EXIT_FAILURE);
}

/* If leat was called by the name of md5sum or a similar program, fills in its persona, whose
 * messages begin with the name that was used. */
static bool is_classic(char *called, struct persona *p)
{
    const char *slash = strrchr(called, '/');
    const struct persona *known = persona_find(slash ? slash + 1 : called);
    if (!known)
        return false;
    *p = *known;
    p->program = called;
    return true;
}

static int sum_own(int argc, char **argv)
{
    return sum_main(&persona_own, argc, argv);
}

static struct {
    char name[12];
    int (*run)(int argc, char **argv);
} commands[] = { { "leat sum", sum_own },
                 { "leat map", map_main },
                 { "leat look", look_main },
                 { "leat worker", worker_main } };

int main(int argc, char **argv)
{
    occupy_standard_streams();
    /* A caller may ignore it. Then the system would not tell how a program has ended. */
    signal(SIGCHLD, SIG_DFL);
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* 0.5 means the same for all, in options and in logs */
    struct persona classic;
    if (argc > 0 && is_classic(argv[0], &classic))
        return sum_main(&classic, argc, argv);
    if (argc < 2)
        return usage_refuse("leat", EXIT_FAILURE, "missing command");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(argv[1], strchr(commands[i].name, ' ') + 1) != 0)
            continue;
        argv[1] = commands[i].name; /* getopt begins its messages with it */
        return commands[i].run(argc - 1, argv + 1);
    }
    if (strcmp(argv[1], "--help") == 0)
        return finish_text("leat", help, EXIT_FAILURE);
    if (strcmp(argv[1], "--version") == 0)
        return finish_version("leat", EXIT_FAILURE);
    const char *what = argv[1][0] == '-' ? "unrecognized option" : "unknown command";
    return usage_refuse("leat", EXIT_FAILURE, "%s '%s'", what, argv[1]);
}
