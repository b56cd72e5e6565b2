/* SPDX-License-Identifier: BSD-2-Clause */
/* Off-heap binaries in crash dumps, see term_dump.h: each has a section of its own. */
#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/node/node.h"
#include "beam/term/term_dump_internal.h"

bool term_dump_has_bytes(struct mem *mem, raddr at, uint64_t size)
{
	uint8_t byte;

	for (uint64_t i = 0; i < size; i += 1u << 20)
		if (mem_read(mem, at + i, &byte, 1) != 0)
			return false;
	return !size || mem_read(mem, at + size - 1, &byte, 1) == 0;
}

static void write_binary(struct term_dump *d, raddr at)
{
	const struct beam_layout *l = &d->r->node->layout;
	struct mem *mem = d->r->node->mem;
	raddr first = at + (raddr)l->binary_orig_bytes;
	uint64_t size;
	uint8_t buf[TERM_DUMP_CHUNK];

	/* Without a section the viewer says that the binary does not exist. */
	if (mem_read_u64(mem, at + (raddr)l->binary_orig_size, &size) != 0 || size >> 48 ||
	    !term_dump_has_bytes(mem, first, size)) {
		d->unreadable++;
		return;
	}
	if (!term_dump_spend(d, size))
		return;
	d->binaries++;
	d->binary_bytes += size;
	fprintf(d->out, "=binary:%" PRIX64 "\n%" PRIX64 ":", at, size);
	for (uint64_t from = 0; from < size && !ferror(d->out); from += sizeof(buf)) {
		size_t part = (size_t)MIN(size - from, (uint64_t)sizeof(buf));

		if (mem_read(mem, first + from, buf, part) != 0) {
			d->unreadable++;
			memset(buf, 0, part);
		}
		strbuf_reset(&d->line);
		term_dump_base64(&d->line, buf, part);
		fwrite(d->line.buf, 1, d->line.len, d->out);
	}
	fputc('\n', d->out);
}

void term_dump_binaries(struct term_dump *d)
{
	/* New ones are at the end. */
	for (size_t i = d->blobs.items.len; i-- > 0 && (d->blobs.items.data[i] & TERM_DUMP_FLAG);) {
		d->blobs.items.data[i] &= ~TERM_DUMP_FLAG;
		write_binary(d, d->blobs.items.data[i]);
	}
}
