/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit_record.h. */
#include "beam/code/jit_record.h"

#include <string.h>

#define MODULE_KIND  1
#define NR_FUNCTIONS 16 /* offset in the record */

static void put(struct jit_record *r, uint64_t v, size_t size)
{
	strbuf_add(&r->bytes, &v, size);
}

void jit_record_begin(struct jit_record *r, raddr start, uint32_t size, const char *module,
		      size_t len)
{
	*r = (struct jit_record){.bytes = STRBUF_INIT};
	put(r, MODULE_KIND, 8);
	put(r, start, 8);
	put(r, 0, 4); /* number of functions, set by jit_record_end() */
	put(r, size, 4);
	put(r, len, 2);
	strbuf_add(&r->bytes, module, len);
	put(r, 0, 6);
}

void jit_record_add(struct jit_record *r, uint32_t start, uint32_t end, const char *name,
		    size_t len)
{
	put(r, start, 4);
	put(r, end, 4);
	put(r, 0, 4); /* number of lines */
	put(r, len, 2);
	strbuf_add(&r->bytes, name, len);
	put(r, 0, 2);
	r->nr_functions++;
}

uint8_t *jit_record_end(struct jit_record *r, uint32_t *size)
{
	size_t len;
	uint8_t *bytes;

	memcpy(r->bytes.buf + NR_FUNCTIONS, &r->nr_functions, sizeof(r->nr_functions));
	bytes = (uint8_t *)strbuf_detach(&r->bytes, &len);
	*size = (uint32_t)len;
	return bytes;
}
