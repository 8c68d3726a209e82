/* test_index.c: the index agrees with an array, and stays shallow. */
#include "base/index.h"
#include "support.h"

enum { KEYS = 64, TURNS = 100000 / SCALE, MANY = 4096 };

static void agrees_with_an_array(void **state)
{
    (void)state;
    uint64_t chance = seed_of_test();
    struct lt_indexed things[KEYS];
    bool in[KEYS] = { false };
    struct lt_index index = { NULL };
    for (int turn = 0; turn < TURNS; turn++) {
        unsigned i = below(&chance, KEYS);
        uint64_t key = (uint64_t)i << (i % 60); /* also 0 */
        if (i && (i & (i - 1)) == 0 && i % 60)
            key = UINT64_MAX - i; /* all keys differ */
        struct lt_indexed *found = lt_index_find(&index, key);
        CHECK(found == (in[i] ? &things[i] : NULL));
        if (in[i])
            lt_index_remove(&index, &things[i]);
        else
            lt_index_add(&index, &things[i], key);
        in[i] = !in[i];
    }
}

static unsigned depth_of(const struct lt_indexed *node)
{
    if (!node)
        return 0;
    unsigned a = depth_of(node->child[0]), b = depth_of(node->child[1]);
    return 1 + (a > b ? a : b);
}

static unsigned size_of(const struct lt_indexed *node)
{
    return node ? 1 + size_of(node->child[0]) + size_of(node->child[1]) : 0;
}

/* Typical keys: consecutive numbers, addresses, few bits far up. */
static void stays_shallow(void **state)
{
    (void)state;
    static struct lt_indexed things[MANY];
    for (unsigned shift = 0; shift <= 48; shift += 4) {
        struct lt_index index = { NULL };
        for (uint64_t i = 0; i < MANY; i++)
            lt_index_add(&index, &things[i], i << shift);
        CHECK_IS(MANY, size_of(index.root));
        CHECK(depth_of(index.root) <= 40);
        for (unsigned i = 0; i < MANY; i += 2)
            lt_index_remove(&index, &things[i]);
        CHECK_IS(MANY / 2, size_of(index.root));
        for (uint64_t i = 0; i < MANY; i++)
            CHECK(lt_index_find(&index, i << shift) == (i % 2 ? &things[i] : NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_array),
        cmocka_unit_test(stays_shallow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
