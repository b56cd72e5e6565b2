/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Capture file (.ebeam), little endian:
 *
 *   struct capture_header
 *   block*      struct capture_block, then compressed_size bytes: a zlib stream of whole records
 *
 * A block ends at a record boundary and is written when it is full or a second old, so a crash
 * loses at most the last second.  Records are those of record.h, definitions before use, ids global
 * to the file; there are no raw records.  The last record is REC_END; without it the recording was
 * cut short.  A reader accepts every minor version of its major version and skips record types that
 * it does not know.
 */
#ifndef EBEAM_ABI_CAPTURE_H
#define EBEAM_ABI_CAPTURE_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define CAPTURE_MAGIC	    "EBEAMCAP" /* 8 bytes, no NUL */
#define CAPTURE_MAJOR	    1
#define CAPTURE_MINOR	    0
#define CAPTURE_BLOCK_MAGIC 0x4b4c4245u /* "EBLK" */
#define CAPTURE_MAX_BLOCK   (1u << 20)	/* bytes of records in one block */

struct capture_header {
	char magic[8];
	uint16_t major;
	uint16_t minor;
	uint32_t header_size; /* sizeof(struct capture_header); later versions may be longer */
	uint64_t start_epoch_ns;
	uint64_t start_ns; /* CLOCK_MONOTONIC at the same instant */
	uint32_t flags;	   /* 0 */
	uint32_t crc32;	   /* of the bytes before it (zlib's crc32) */
};

struct capture_block {
	uint32_t magic;
	uint32_t records_size;	  /* bytes after decompression, <= CAPTURE_MAX_BLOCK */
	uint32_t compressed_size; /* bytes that follow */
	uint32_t crc32;		  /* of the compressed bytes (zlib's crc32) */
};

#ifndef __bpf__
_Static_assert(sizeof(struct capture_header) == 40, "ABI");
_Static_assert(sizeof(struct capture_block) == 16, "ABI");
#endif

#endif
