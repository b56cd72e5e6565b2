/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libFuzzer: any bytes as a capture file.  Since a checksum stands before nearly everything, the
 * first byte of the input says how the rest is used: 0 = as the file itself; else as the records
 * of one block (cut off after some bytes if it is 2 or more) in a file that is right around them.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "abi/capture.h"
#include "base/strbuf.h"
#include "capture/reader.h"
#include "event/event.h"
#include "model/profile/profile.h"

static void wrap(struct strbuf *file, const uint8_t *records, size_t size)
{
	struct capture_header h = {.major = CAPTURE_MAJOR, .header_size = sizeof(h)};
	struct capture_block block = {.magic = CAPTURE_BLOCK_MAGIC, .records_size = (uint32_t)size};
	uLongf out_size = compressBound(size);
	Bytef *out = malloc(out_size);

	if (!out || compress(out, &out_size, records, size) != Z_OK)
		abort();
	memcpy(h.magic, CAPTURE_MAGIC, sizeof(h.magic));
	h.crc32 = (uint32_t)crc32(0, (const Bytef *)&h, offsetof(struct capture_header, crc32));
	block.compressed_size = (uint32_t)out_size;
	block.crc32 = (uint32_t)crc32(0, out, (uInt)out_size);
	strbuf_add(file, &h, sizeof(h));
	strbuf_add(file, &block, sizeof(block));
	strbuf_add(file, out, out_size);
	free(out);
}

/* Every record must be whole, and the source must end. */
static void read_all(struct capture_reader *r)
{
	struct source *s = capture_reader_source(r);
	const struct rec_header *rec;
	struct profile *p = profile_open_limited(64);
	struct event ev;

	while (s->next(s, &rec, NULL) == 1) {
		if (rec->size < sizeof(*rec) || rec->size % 8 || rec->type < REC_META)
			abort();
		if (event_decode(&ev, rec, rec->size) == -EAGAIN)
			abort();
		profile_apply(p, &ev);
	}
	if (s->next(s, &rec, NULL) != 0)
		abort();
	capture_reader_damage(r);
	profile_close(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf file = STRBUF_INIT;
	struct capture_reader *r;
	FILE *f;

	if (size < 2)
		return 0;
	if (data[0] == 0)
		strbuf_add(&file, data + 1, size - 1);
	else
		wrap(&file, data + 1, size - 1);
	if (data[0] >= 2)
		file.len -= file.len * data[0] / 512;
	f = fmemopen(file.buf, file.len, "rb");
	if (!f)
		abort();
	if (capture_reader_open(&r, f, "fuzz", NULL) == 0) {
		read_all(r);
		capture_reader_close(r);
	}
	fclose(f);
	strbuf_free(&file);
	return 0;
}
