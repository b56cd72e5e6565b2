/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files: every question that src/target/elf.h answers, asked of arbitrary bytes. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t total; /* so that the names are truly read */

static int touch_symbol(void *ctx, const struct elf_symbol *sym)
{
	struct elf_file *e = ctx;
	struct elf_symbol at;
	uint64_t start, end;

	total += strlen(sym->name);
	if (elf_file_symbol_at(e, sym->addr, &at) &&
	    (at.addr > sym->addr || sym->addr - at.addr >= at.size))
		abort();
	if (elf_file_function_at(e, sym->addr, &start, &end) &&
	    (start > sym->addr || end <= sym->addr))
		abort();
	return 0;
}

static void ask_sections(struct elf_file *e)
{
	const struct elf_section *s;
	unsigned char bytes[64];
	uint64_t start, end, bias;

	for (size_t i = 0; (s = elf_file_section_at(e, i)); i++) {
		total += strlen(s->name);
		elf_file_section(e, s->name);
		elf_file_has_note(e, s->name);
		elf_file_read(e, s->addr, bytes, sizeof(bytes));
		elf_file_offset_of(e, s->addr);
		elf_file_addr_of_offset(e, s->offset);
		elf_file_bias(e, 0x7f0000000000, s->offset, s->size, &bias);
		if (elf_file_function_at(e, s->addr + 16, &start, &end) &&
		    (start > s->addr + 16 || end <= s->addr + 16))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct elf_symbol sym;
	struct elf_file *e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_file_open(&e, fd, "fuzz", NULL) != 0)
		return 0;
	elf_file_is_x86_64(e);
	elf_file_is_stripped(e);
	total += strlen(elf_file_build_id(e));
	ask_sections(e);
	elf_file_symbol(e, "outer", &sym);
	elf_file_each_symbol(e, touch_symbol, e);
	elf_file_close(e);
	return 0;
}
