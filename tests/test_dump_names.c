/* test_dump_names.c: a name that a program makes of its input can neither break a dump's lines nor
 * command the terminal that shows them; and scopes deep inside others do not widen the lines. */
#include "dumps.h"

#include "dump/print.h"

#include <sys/wait.h>
#include <unistd.h>

static bool is_clean(const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if ((*at < 0x20 && *at != '\n') || *at == 0x7F || *at == 0xFF ||
            (at[0] == 0xC2 && at[1] < 0xA0))
            return false;
    return true;
}

static void check(int (*dump)(FILE *to), const char *wanted)
{
    char *text = dump_with(dump);
    CHECK(is_clean(text));
    CHECK(strstr(text, wanted));
    free(text);
}

static int odd_names(void *unused)
{
    (void)unused;
    const char *name = "a\n\033[2Jb\xC2\x9B\xFF\x7F \xC3\xA4\"\\";
    leat_chan *ch = leat_chan_open(NULL, &(leat_chan_spec){ .name = name });
    check(leat_dump, " a??[2Jb???? \xC3\xA4\"\\: 0 of 0 items\n");
    check(leat_dump_graph, "\\na??[2Jb???? \xC3\xA4\\\"\\\\\\n0 of 0\"];\n");
    return leat_chan_unref(ch);
}

static void test_odd_names(void **state)
{
    (void)state;
    CHECK_IS(0, leat_main(odd_names, NULL));
}

/* ---- the name of the program's file, which a place in it begins with ---- */

static void print_place(void)
{
    lt_print_code(stdout, (const void *)(uintptr_t)test_odd_names, "\"\\");
}

/* Runs this program again, under another name. */
static void test_odd_file(void **state)
{
    int ends[2];
    char text[100] = "";
    (void)state;
    skip_under_emulation();
    CHECK_IS(0, pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl("/proc/self/exe", "/x/q\"u\\o\nte", "place", NULL);
        _exit(1);
    }
    close(ends[1]);
    CHECK_IS(child, waitpid(child, NULL, 0));
    CHECK(read(ends[0], text, sizeof text - 1) > 0);
    close(ends[0]);
    CHECK(strstr(text, "q\\\"u\\\\o?te+0x") == text);
}

/* The lines of scopes deep inside others are indented no further. */
static int deep(void *unused)
{
    enum { DEPTH = 50, LEVELS = 32 };
    leat_scope *scopes[DEPTH];
    size_t most = 0;
    (void)unused;
    for (size_t i = 0; i < DEPTH; i++)
        CHECK(scopes[i] = leat_scope_open(LEAT_NEVER));
    char *text = dump_with(leat_dump);
    for (const char *line = text; line; line = strchr(line + 1, '\n'))
        most = strspn(line + 1, " ") > most ? strspn(line + 1, " ") : most;
    CHECK_IS(2 * LEVELS, most);
    free(text);
    for (size_t i = DEPTH; i-- > 0;)
        CHECK_IS(0, leat_scope_close(scopes[i]));
    return 0;
}

static void test_deep(void **state)
{
    (void)state;
    run_on(1, deep);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_odd_file),
        cmocka_unit_test(test_deep),
    };
    (void)argv;
    if (argc > 1) {
        print_place();
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
