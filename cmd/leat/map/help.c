#include "map/help.h"

#include <stdio.h>

static const char help[] =
    "Usage: leat map [OPTION]... COMMAND [ARG]... [::: ITEM...]...\n"
    "Run COMMAND once for each item: each line of standard input, or each ITEM.\n"
    "\n"
    "  -j, --jobs=N         run N commands at a time (one for each core)\n"
    "  -a, --items=FILE     read the items from FILE\n"
    "  -0, --null           items end in a NUL byte, as find -print0 writes them\n"
    "  -C, --columns=SEP    split items at SEP (a byte, \\t or csv) into {1}, {2}...\n"
    "  -n, --number=N       give up to N items to a command; max: all that fit\n"
    "  -s, --script         COMMAND is a script for sh; the items are \"$1\", \"$2\"...\n"
    "      --pipe[=SIZE]    give blocks of whole lines to standard input (1M)\n"
    "  -u, --unordered      print each output when its command ends\n"
    "  -l, --lines          print each line as it comes\n"
    "      --tag            print the item and a tab before each line\n"
    "  -o, --output=FILE    write each output to a file, such as out/{/.}.txt\n"
    "      --window=N       run at most N commands ahead of the one being printed\n"
    "      --spill=SIZE     keep up to SIZE of waiting output in $TMPDIR (1G)\n"
    "      --halt=WHEN[,GOAL]  end soon or now, at fail=N, fail=N%, success=N, done=N\n"
    "      --fail-fast      the same as --halt=now,fail=1\n"
    "      --retries=N      try a command that fails up to N times more,\n"
    "      --backoff=TIME     after TIME, twice TIME... (1s)\n"
    "      --timeout=TIME   end a command after TIME, or after Nx the median\n"
    "      --grace=TIME     the time from SIGTERM to SIGKILL (5s)\n"
    "      --log=FILE       write a line about each command\n"
    "      --resume[=ended] skip commands that have succeeded [or ended] by the log\n"
    "      --on=HOST*N,...  run N commands at a time on HOST, by ssh; : is this one;\n"
    "                         redis[s]://HOST/QUEUE*N: by any leat worker at a queue\n"
    "      --dir=FOLDER     run commands in FOLDER\n"
    "      --dry-run        print the commands and do not run them\n"
    "  -v, --verbose        print each command when it starts\n"
    "      --no-progress, --help, --version\n"
    "\n"
    "In arguments: {} item, {.} without extension, {/} last part, {//} folder,\n"
    "{/.} both, {1} column, {#} number, {%} place. Without any, {} is added.\n"
    "Exit status: 0 all succeeded, 1 some failed, 2 trouble, 126 and 127 not run.\n";

void help_map(void)
{
    fputs(help, stdout);
}
