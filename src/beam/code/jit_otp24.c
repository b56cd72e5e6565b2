/* SPDX-License-Identifier: BSD-2-Clause */
/* See jit_otp24.h. */
#include "beam/code/jit_otp24.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/code/call_targets.h"
#include "beam/code/jit_record.h"

#define HEAD_SIZE     24
#define RANGE_SIZE    16 /* without its name */
#define MIN_RANGES    4	 /* header, prologue of a function, its code, footer */
#define MAX_CODE_SIZE (256u << 20)
#define MAX_NAME      1024 /* beam_asm_module.cpp has a buffer of that size */

/* The module of the VM's own functions in OTP 24.  Records name its functions as those of module
 * erts_internal, and let each begin the size of a prologue too late, as if it had one.  normal_exit
 * is behind apply/3 without a range of its own. */
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
	struct jit_record to;
	raddr start, size;
	bool vm;
	raddr normal_exit;
};

static void put_range(struct converter *c, raddr start, raddr end, const char *name, size_t len)
{
	jit_record_add(&c->to, (uint32_t)(start - c->start), (uint32_t)(end - c->start), name, len);
}

/* Adds ranges of normal_exit as in OTP 25, where the byte before its address is a range of its own:
 * its address is a return address, and these are looked up by the byte before. */
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
		c->normal_exit = 0;
	} else {
		put_range(c, start, end, name, len);
	}
	return true;
}

uint8_t *jit_otp24_convert(const uint8_t *bytes, uint32_t size, raddr normal_exit,
			   uint32_t *converted_size)
{
	struct converter c = {.end = bytes + size, .normal_exit = normal_exit};
	uint8_t *converted;
	const char *name = (const char *)bytes + HEAD_SIZE;
	uint64_t left;
	size_t len;

	if (!jit_otp24_is_module(bytes, size))
		return NULL;
	left = bytes_u64(bytes, 0);
	c.start = bytes_u64(bytes, 8);
	c.size = bytes_u64(bytes, 16);
	len = strnlen(name, size - HEAD_SIZE);
	if (len >= size - HEAD_SIZE || len > MAX_NAME || left > size / RANGE_SIZE)
		return NULL;
	c.from = bytes + HEAD_SIZE + len + 1;
	c.vm = strcmp(name, VM_MODULE) == 0;
	jit_record_begin(&c.to, c.start, (uint32_t)c.size, name, len);
	while (left > 0 && convert_range(&c))
		left--;
	converted = jit_record_end(&c.to, converted_size);
	if (left == 0 && c.from == c.end)
		return converted;
	free(converted);
	return NULL;
}
