/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of JIT code: arbitrary bytes as a record, copied and read from memory, then looked up at
 * addresses all over it.  The first two bytes are the size of the record; a second one follows,
 * whose code may overlap the first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "beam/code/jit.h"

#define MAX_LOOKUPS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input as memory of a process, from address 0 on. */
struct input {
	struct mem mem;
	const uint8_t *data;
	size_t size;
};

static int read_input(struct mem *m, raddr addr, void *buf, size_t size)
{
	const struct input *in = CONTAINER_OF(m, struct input, mem);

	if (addr > in->size || size > in->size - addr)
		return -14; /* EFAULT */
	memcpy(buf, in->data + addr, size);
	return 0;
}

static void close_input(struct mem *m)
{
	(void)m;
}

static unsigned int sum(const char *s, size_t len)
{
	unsigned int n = 0;

	for (size_t i = 0; i < len; i++)
		n += (unsigned char)s[i];
	return n;
}

static unsigned int find(const struct jit_code *j, raddr addr)
{
	struct jit_function f;

	if (!jit_find(j, addr, &f))
		return 0;
	if (addr < f.start || addr >= f.end || f.serial == 0 || f.serial != jit_serial(j, addr) ||
	    (f.file && !f.file_len))
		abort();
	return sum(f.name, f.name_len) + sum(f.module, f.module_len) + sum(f.file, f.file_len);
}

/* Modules are in order, none overlaps another, and no name lies outside of the records. */
static unsigned int find_everywhere(const struct jit_code *j)
{
	struct address_range m, last = {0, 0}, fragment;
	unsigned int n = 0;

	for (size_t i = 0; jit_module_at(j, i, &m); i++) {
		raddr step = (m.end - m.start) / MAX_LOOKUPS + 1;

		if (m.start >= m.end || (i && m.start < last.end))
			abort();
		last = m;
		n += find(j, m.start - 1) + find(j, m.end - 1) + find(j, m.end);
		for (raddr at = m.start, nr = 0; nr <= MAX_LOOKUPS && at < m.end; nr++, at += step)
			n += find(j, at); /* the module may end at the last address there is */
	}
	return n + jit_fragment(j, "garbage_collect", &fragment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.mem = {.read = read_input, .close = close_input}};
	unsigned int n;
	struct jit_code *j;
	size_t first;

	if (size < 2)
		return 0;
	in.data = data + 2;
	in.size = size - 2;
	first = MIN(data[0] | (size_t)data[1] << 8, in.size);
	jit_open(&j, &in.mem, 0);
	if (jit_loaded(j, 0x1000, 0, first, in.data, (uint32_t)first) && jit_modules(j) > 1)
		abort();
	n = find_everywhere(j);
	jit_loaded(j, 0x2000, first, in.size - first, NULL, 0);
	n += find_everywhere(j);
	jit_unloaded(j, 0x1000);
	n += find_everywhere(j);
	jit_sync(j, NULL); /* the input as a list */
	n += find_everywhere(j);
	jit_close(j);
	if (n == UINT32_MAX) /* what was read is used */
		abort();
	return 0;
}
