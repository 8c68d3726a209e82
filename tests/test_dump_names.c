/* test_dump_names.c: a name that a program makes of its input can neither break a dump's lines nor
 * command the terminal that shows them. */
#include "dumps.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_odd_names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
