#include "crc32c.h"

#include <string.h>

uint32_t crc32c_add_plain(uint32_t sum, const void *bytes, size_t len)
{
    /* The checksums of four bits, for the polynomial 0x82f63b78. */
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    const unsigned char *at = bytes;
    sum = ~sum;
    for (; len > 0; len--) {
        sum ^= *at++;
        sum = sum >> 4 ^ table[sum & 15];
        sum = sum >> 4 ^ table[sum & 15];
    }
    return ~sum;
}

#if defined __x86_64__
#include <nmmintrin.h>

#define WITH_INSTRUCTIONS __attribute__((target("sse4.2")))
#define ADD_WORD(sum, word) ((uint32_t)_mm_crc32_u64(sum, word))
#define ADD_BYTE(sum, byte) _mm_crc32_u8(sum, byte)

static int has_instructions(void)
{
    return __builtin_cpu_supports("sse4.2");
}
#elif defined __aarch64__ && defined __linux__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <sys/auxv.h>

/* In assembly: each compiler needs another option for the header of these instructions. */
static inline uint32_t add_word(uint32_t sum, uint64_t word)
{
    __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %1" : "+r"(sum) : "r"(word));
    return sum;
}

static inline uint32_t add_byte(uint32_t sum, uint32_t byte)
{
    __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(sum) : "r"(byte));
    return sum;
}

#define WITH_INSTRUCTIONS
#define ADD_WORD add_word
#define ADD_BYTE add_byte

static int has_instructions(void)
{
    return (getauxval(AT_HWCAP) & 1UL << 7) != 0; /* HWCAP_CRC32 */
}
#endif

#ifdef WITH_INSTRUCTIONS
WITH_INSTRUCTIONS static uint32_t add_quickly(uint32_t sum, const unsigned char *at, size_t len)
{
    sum = ~sum;
    for (; len >= 8; at += 8, len -= 8) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = ADD_WORD(sum, word);
    }
    for (; len > 0; len--)
        sum = ADD_BYTE(sum, *at++);
    return ~sum;
}
#endif

uint32_t crc32c_add(uint32_t sum, const void *bytes, size_t len)
{
#ifdef WITH_INSTRUCTIONS
    if (has_instructions())
        return add_quickly(sum, bytes, len);
#endif
    return crc32c_add_plain(sum, bytes, len);
}
