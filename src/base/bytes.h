/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads little-endian numbers from bytes that were copied from a node or a file.  They need not be
 * aligned; bounds are checked by the caller. */
#ifndef EBEAM_BASE_BYTES_H
#define EBEAM_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_u16(const void *bytes, int64_t offset)
{
	uint16_t v;

	memcpy(&v, (const uint8_t *)bytes + offset, sizeof(v));
	return v;
}

static inline uint32_t bytes_u32(const void *bytes, int64_t offset)
{
	uint32_t v;

	memcpy(&v, (const uint8_t *)bytes + offset, sizeof(v));
	return v;
}

static inline uint64_t bytes_u64(const void *bytes, int64_t offset)
{
	uint64_t v;

	memcpy(&v, (const uint8_t *)bytes + offset, sizeof(v));
	return v;
}

/* A signed 32-bit displacement or immediate of an instruction, sign-extended. */
static inline uint64_t bytes_disp32(const void *bytes, int64_t offset)
{
	return (uint64_t)(int64_t)(int32_t)bytes_u32(bytes, offset);
}

#endif
