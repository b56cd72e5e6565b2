/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes calls in x86-64 code; see call_sites.h. */
#include "beam/code/call_sites.h"

#include <string.h>

#include "base/bytes.h"
#include "base/compiler.h"

#define CALL_REL32   0xe8
#define CALL_SIZE    5
#define RETURN_ALIGN 4
#define MOVABS_SIZE  10
#define FILLER_MAX   4 /* padding bytes before a call, which align its end */

static void add(struct call_sites *out, raddr site)
{
	if (site % RETURN_ALIGN)
		return;
	for (size_t i = 0; i < out->v.len; i++)
		if (out->v.data[i] == site)
			return;
	vec_push(&out->v, site);
}

static void scan_local(struct call_sites *out, const uint8_t *code, size_t size, raddr addr,
		       raddr entry, size_t max)
{
	const uint8_t *p = code, *end = code + size;

	while (out->v.len <= max && (p = memchr(p, CALL_REL32, (size_t)(end - p))) != NULL) {
		raddr site = addr + (raddr)(p - code) + CALL_SIZE;

		if (end - p < CALL_SIZE)
			break;
		if (site + (uint64_t)(int64_t)(int32_t)bytes_u32(p, 1) == entry)
			add(out, site);
		p++;
	}
}

static void scan_external(struct call_sites *out, int otp, const uint8_t *code, size_t size,
			  raddr addr, raddr export_at, size_t max)
{
	const char *external = otp == 24 ? "\xff\x14\xe8" : "\x42\xff\x14\xe0";
	size_t external_size = strlen(external);
	uint8_t load[MOVABS_SIZE] = {0x48, 0xb8}; /* movabs $..., %rax */
	const uint8_t *p = code, *end = code + size, *call;

	for (int i = 0; i < 8; i++)
		load[2 + i] = (uint8_t)(export_at >> (8 * i));
	while (out->v.len <= max &&
	       (p = memmem(p, (size_t)(end - p), load, sizeof(load))) != NULL) {
		p += sizeof(load);
		call = memmem(p, MIN((size_t)(end - p), FILLER_MAX + external_size), external,
			      external_size);
		if (call)
			add(out, addr + (raddr)(call - code) + external_size);
	}
}

#define LEA_SIZE   7
#define STORE_SIZE 4

/* Target of the relative jump at `p`, whose address is `at`; 0 = no jump. */
static raddr jump_target(const uint8_t *p, raddr at)
{
	if (p[0] == 0xe9)
		return at + 5 + (uint64_t)(int64_t)(int32_t)bytes_u32(p, 1);
	return p[0] == 0xeb ? at + 2 + (uint64_t)(int64_t)(int8_t)p[1] : 0;
}

static void scan_c_stack(struct call_sites *out, int otp, const uint8_t *code, size_t size,
			 raddr addr, raddr entry, raddr export_at, size_t max)
{
	const char *local = otp == 24 ? "\x49\x89\x04\x24" : "\x48\x89\x45\x00";
	const char *external =
		otp == 24 ? "\x49\x89\x3c\x24\xff\x24\xe8" : "\x48\x89\x7d\x00\x42\xff\x24\xe0";
	size_t external_size = otp == 24 ? 7 : 8;
	uint8_t load[MOVABS_SIZE] = {0x48, 0xb8}; /* movabs $..., %rax */
	size_t behind = LEA_SIZE + STORE_SIZE + CALL_SIZE;

	for (int i = 0; i < 8; i++)
		load[2 + i] = (uint8_t)(export_at >> (8 * i));
	for (size_t at = 0; at + behind <= size && out->v.len <= max; at++) {
		const uint8_t *p = code + at, *store = p + LEA_SIZE;
		raddr next = addr + at + LEA_SIZE;

		if (p[0] != 0x48 || p[1] != 0x8d)
			continue;
		next += (uint64_t)(int64_t)(int32_t)bytes_u32(p, 3);
		if (p[2] == 0x05 && entry && memcmp(store, local, STORE_SIZE) == 0 &&
		    jump_target(store + STORE_SIZE, addr + at + LEA_SIZE + STORE_SIZE) == entry)
			add(out, next);
		if (p[2] == 0x3d && export_at && at >= sizeof(load) &&
		    memcmp(p - sizeof(load), load, sizeof(load)) == 0 &&
		    memcmp(store, external, external_size) == 0)
			add(out, next);
	}
}

void call_sites_scan(struct call_sites *out, int otp, bool c_stack, const uint8_t *code,
		     size_t size, raddr addr, raddr entry, raddr export_at, size_t max)
{
	if (c_stack) {
		scan_c_stack(out, otp, code, size, addr, entry, export_at, max);
		return;
	}
	if (entry)
		scan_local(out, code, size, addr, entry, max);
	if (export_at)
		scan_external(out, otp, code, size, addr, export_at, max);
}
