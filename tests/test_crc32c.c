/* test_crc32c.c: CRC-32C with and without the processor's instructions. */
#include "crc32c.h"
#include "support.h"

#include <string.h>

typedef uint32_t add_fn(uint32_t sum, const void *bytes, size_t len);
static add_fn *const adds[] = { crc32c_add, crc32c_add_plain };

static void fill_rising(unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        bytes[i] = (unsigned char)i;
}

/* RFC 3720, B.4; it shows the bytes in the order in which iSCSI sends them. */
static void published(void **state)
{
    (void)state;
    unsigned char zeros[32] = { 0 }, ones[32], rising[32], falling[32];
    memset(ones, 0xff, sizeof ones);
    fill_rising(rising, sizeof rising);
    for (size_t i = 0; i < sizeof falling; i++)
        falling[i] = rising[31 - i];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(adds[i](0, "", 0), 0);
        assert_int_equal(adds[i](0, "123456789", 9), 0xe3069283);
        assert_int_equal(adds[i](0, zeros, 32), 0x8a9136aa);
        assert_int_equal(adds[i](0, ones, 32), 0x62a8ab43);
        assert_int_equal(adds[i](0, rising, 32), 0x46dd794e);
        assert_int_equal(adds[i](0, falling, 32), 0x113fdb5c);
    }
}

/* Of any length, from any address, in any two parts. */
static void parts(void **state)
{
    (void)state;
    unsigned char bytes[256];
    fill_rising(bytes, sizeof bytes);
    for (size_t from = 0; from < 8; from++) {
        for (size_t len = 0; len <= 100; len++) {
            uint32_t whole = crc32c_add_plain(0, bytes + from, len);
            for (size_t cut = 0; cut <= len; cut++) {
                uint32_t first = crc32c_add(0, bytes + from, cut);
                assert_int_equal(crc32c_add(first, bytes + from + cut, len - cut), whole);
                first = crc32c_add_plain(0, bytes + from, cut);
                assert_int_equal(crc32c_add_plain(first, bytes + from + cut, len - cut), whole);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(published), cmocka_unit_test(parts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
