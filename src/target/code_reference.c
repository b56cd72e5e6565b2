/* SPDX-License-Identifier: BSD-2-Clause */
/* See code_reference.h. */
#include "target/code_reference.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FIRST_LINE  "# ebeam function reference 1: "
#define MAX_TEXT    (16u << 20) /* bytes; OTP 29 has 1 MiB */
#define MAX_CALLEES (1u << 20)

/* The decompressed text, NUL terminated; NULL = the data is damaged. */
static char *decompress(const uint8_t *data, size_t size)
{
	z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)size};
	uint32_t text_size;
	char *text;
	int rc;

	if (size < sizeof(text_size))
		return NULL;
	memcpy(&text_size, data + size - sizeof(text_size), sizeof(text_size)); /* ISIZE */
	if (text_size > MAX_TEXT || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK)
		return NULL;
	text = xmalloc((size_t)text_size + 1);
	z.next_out = (Bytef *)text;
	z.avail_out = text_size;
	rc = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	if (rc != Z_STREAM_END || z.avail_out != 0) {
		free(text);
		return NULL;
	}
	text[text_size] = '\0';
	return text;
}

/* Reads a number that ends with a space or the line; moves *at past it. */
static bool take_number(char **at, int base, uint64_t *value)
{
	char *end;

	while (**at == ' ')
		(*at)++;
	*value = strtoull(*at, &end, base);
	if (end == *at || (*end != ' ' && *end != '\0'))
		return false;
	*at = end;
	return true;
}

/* One line, which is NUL terminated. */
static bool take_function(struct code_graph *g, char *at)
{
	struct code_function f = {.addr = g->functions.len,
				  .first_callee = (uint32_t)g->callees.len};
	uint64_t insns, refs, callee;
	size_t len;

	if (!take_number(&at, 16, &f.hash) || !take_number(&at, 10, &insns) ||
	    !take_number(&at, 10, &refs) || *at++ != ' ')
		return false;
	len = strcspn(at, " ");
	if (len != 1 || *at != '-')
		f.name = arena_strndup(&g->names, at, len);
	for (at += len; *at; f.nr_callees++) {
		if (!take_number(&at, 10, &callee) || g->callees.len >= MAX_CALLEES)
			return false;
		vec_push(&g->callees, (uint32_t)(callee + g->functions.len));
	}
	f.nr_insns = (uint32_t)insns;
	f.nr_refs = (uint32_t)refs;
	vec_push(&g->functions, f);
	return true;
}

static bool take_lines(struct code_graph *g, char *text)
{
	bool ok = strncmp(text, FIRST_LINE, strlen(FIRST_LINE)) == 0;
	char *at = strchr(text, '\n'), *end;

	for (; ok && at && at[1]; at = end) {
		end = strchr(++at, '\n');
		if (!end)
			return false;
		*end = '\0';
		ok = take_function(g, at);
	}
	for (size_t i = 0; ok && i < g->callees.len; i++)
		ok = g->callees.data[i] < g->functions.len;
	return ok && g->functions.len > 0;
}

int code_reference_read(struct code_graph *g, const void *data, size_t size, struct error *err)
{
	char *text = decompress(data, size);
	bool ok;

	*g = (struct code_graph){0};
	ok = text && take_lines(g, text);
	free(text);
	if (ok)
		return 0;
	return error_set(err, ERROR_KIND_FAILED, -EINVAL,
			 "the function reference is damaged, or of another version of ebeam");
}

void code_reference_write(const struct code_graph *g, const char *about, struct strbuf *out)
{
	strbuf_addf(out, FIRST_LINE "%s\n", about);
	for (size_t i = 0; i < g->functions.len; i++) {
		const struct code_function *f = &g->functions.data[i];

		strbuf_addf(out, "%" PRIx64 " %u %u %s", f->hash, f->nr_insns, f->nr_refs,
			    f->name ? f->name : "-");
		for (uint32_t k = 0; k < f->nr_callees; k++)
			strbuf_addf(out, " %" PRId64,
				    (int64_t)g->callees.data[f->first_callee + k] - (int64_t)i);
		strbuf_addch(out, '\n');
	}
}
