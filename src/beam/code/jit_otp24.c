/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit_otp24.h. */
#include "beam/code/jit_otp24.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "beam/code/call_targets.h"

#define HEAD_SIZE     24
#define RANGE_SIZE    16 /* without its name */
#define MIN_RANGES    4	 /* header, what precedes a function, its code, footer */
#define MAX_CODE_SIZE (256u << 20)
#define MAX_NAME      1024 /* beam_asm_module.cpp has a buffer of that size */

/* The VM's own functions: the module is called so in OTP 24, too, but each of its functions is of
 * erts_internal, and none has the prologue that its record counts as what precedes the code.  And
 * normal_exit follows apply/3 without a name of its own. */
#define VM_MODULE   "erts_beamasm"
#define VM_PREFIX   "erts_internal:"
#define NORMAL_EXIT VM_MODULE ":normal_exit/0"
#define PRECEDING   "-CodeInfoPrologue"

bool jit_otp24_is_module(const uint8_t *bytes, size_t size)
{
	return size >= HEAD_SIZE && bytes_u64(bytes, 0) >= MIN_RANGES &&
	       bytes_u64(bytes, 0) < UINT32_MAX && bytes_u64(bytes, 16) > 0 &&
	       bytes_u64(bytes, 16) <= MAX_CODE_SIZE;
}

/* ---- records -------------------------------------------------------------------------------- */

struct converter {
	const uint8_t *from, *end;
	uint8_t *to, *at;
	raddr start, size;
	bool vm;
	raddr normal_exit;
	uint32_t nr_ranges;
};

static void put(struct converter *c, uint64_t v, size_t size)
{
	memcpy(c->at, &v, size);
	c->at += size;
}

static void put_range(struct converter *c, raddr start, raddr end, const char *name, size_t len)
{
	put(c, start - c->start, 4);
	put(c, end - c->start, 4);
	put(c, 0, 4);
	put(c, len, 2);
	memcpy(c->at, name, len);
	memset(c->at + len, 0, 2);
	c->at += len + 2;
	c->nr_ranges++;
}

/* As OTP 25 has it: what a return to normal_exit stands behind is of another range. */
static void put_normal_exit(struct converter *c, raddr end)
{
	static const char name[] = NORMAL_EXIT, before[] = NORMAL_EXIT PRECEDING;

	put_range(c, c->normal_exit - 1, c->normal_exit, before, sizeof(before) - 1);
	put_range(c, c->normal_exit, end, name, sizeof(name) - 1);
}

static bool has_suffix(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && memcmp(s + len - n, suffix, n) == 0;
}

static bool convert_range(struct converter *c)
{
	char renamed[MAX_NAME + sizeof(VM_MODULE)];
	const char *name = (const char *)c->from + RANGE_SIZE;
	raddr start, end;
	size_t len;

	if (c->end - c->from <= RANGE_SIZE)
		return false;
	start = bytes_u64(c->from, 0);
	end = bytes_u64(c->from, 8);
	len = strnlen(name, (size_t)(c->end - c->from) - RANGE_SIZE);
	c->from += RANGE_SIZE + len + 1;
	if (c->from > c->end || len > MAX_NAME || start < c->start || end < start ||
	    end - c->start > c->size)
		return false;
	if (c->vm && has_suffix(name, len, PRECEDING) && end - start > BEAM_CALL_PROLOGUE)
		end -= BEAM_CALL_PROLOGUE;
	else if (c->vm && memmem(name, len, "::", 2) == NULL &&
		 start - c->start > BEAM_CALL_PROLOGUE)
		start -= BEAM_CALL_PROLOGUE;
	if (c->vm && len > strlen(VM_PREFIX) && memcmp(name, VM_PREFIX, strlen(VM_PREFIX)) == 0) {
		len = (size_t)snprintf(renamed, sizeof(renamed), VM_MODULE ":%.*s",
				       (int)(len - strlen(VM_PREFIX)), name + strlen(VM_PREFIX));
		name = renamed;
	}
	if (c->vm && c->normal_exit > start + 1 && c->normal_exit < end) {
		put_range(c, start, c->normal_exit - 1, name, len);
		put_normal_exit(c, end);
		c->normal_exit = 0; /* once: there is no room for more */
	} else {
		put_range(c, start, end, name, len);
	}
	return true;
}

uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size)
{
	struct converter c = {.end = bytes + size, .normal_exit = normal_exit};
	const char *name = (const char *)bytes + HEAD_SIZE;
	uint64_t nr, left;
	size_t len;

	if (!jit_otp24_is_module(bytes, size))
		return NULL;
	nr = bytes_u64(bytes, 0);
	c.start = bytes_u64(bytes, 8);
	c.size = bytes_u64(bytes, 16);
	len = strnlen(name, size - HEAD_SIZE);
	if (len >= size - HEAD_SIZE || len > MAX_NAME || nr > size / RANGE_SIZE)
		return NULL;
	c.from = bytes + HEAD_SIZE + len + 1;
	c.vm = strcmp(name, VM_MODULE) == 0;
	/* A range takes a byte less than before, the head 7 more; one range is cut in three. */
	c.to = c.at = xcalloc(1, size + nr + 256);
	put(&c, 1, 8);
	put(&c, c.start, 8);
	put(&c, 0, 4); /* number of ranges: below */
	put(&c, c.size, 4);
	put(&c, len, 2);
	memcpy(c.at, name, len);
	c.at = c.to + 32 + len;
	for (left = nr; left > 0 && convert_range(&c); left--)
		;
	if (left > 0 || c.from != c.end) {
		free(c.to);
		return NULL;
	}
	memcpy(c.to + 16, &c.nr_ranges, 4);
	*converted_size = (uint32_t)(c.at - c.to);
	return c.to;
}
