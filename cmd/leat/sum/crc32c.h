/* crc32c.h: CRC-32C (Castagnoli), as in iSCSI (RFC 3720), ext4 and Btrfs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The checksum of all bytes so far and `len` more; it begins as 0. Uses the processor's
 * instructions for it, if there are any. */
uint32_t crc32c_add(uint32_t sum, const void *bytes, size_t len);

/* The same without such instructions. */
uint32_t crc32c_add_plain(uint32_t sum, const void *bytes, size_t len);
