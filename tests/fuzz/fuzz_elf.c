/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files: every question that src/target/elf.h answers, asked of arbitrary bytes; and the
 * symbols that they hold or name. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/code_graph.h"
#include "target/elf_internal.h"
#include "target/objects_internal.h"
#include "target/usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t total; /* so that the names are truly read */

static void ask_address(struct elf_file *e, uint64_t addr)
{
	struct elf_symbol at;
	uint64_t start, end;

	if (elf_file_symbol_at(e, addr, &at)) {
		total += strlen(at.name);
		if (at.addr > addr || addr - at.addr >= at.size)
			abort();
	}
	if (elf_file_function_at(e, addr, &start, &end) && (start > addr || end <= addr))
		abort();
}

static void ask_sections(struct elf_file *e)
{
	unsigned char bytes[64];
	uint64_t bias;
	size_t size;

	for (size_t i = 0; i < e->nr_sections; i++) {
		const struct elf_section *s = &e->sections[i];

		total += strlen(s->name);
		free(elf_file_copy_section(e, s->name, 4096, &size, NULL));
		elf_file_read(e, s->addr, bytes, sizeof(bytes));
		elf_file_offset_of(e, s->addr);
		elf_file_bias(e, 0x7f0000000000, s->offset, s->size, &bias);
		for (uint64_t at = 0; at <= s->size && at < 1024; at += 16)
			ask_address(e, s->addr + at);
	}
}

static void ask_sites(struct elf_file *e)
{
	struct usdt_site *sites;
	struct usdt_arg args[USDT_MAX_ARGS];
	size_t nr = usdt_sites(e, &sites);

	for (size_t i = 0; i < nr; i++) {
		total += strlen(sites[i].provider) + strlen(sites[i].name);
		total += usdt_parse_args(sites[i].args, args, USDT_MAX_ARGS);
	}
	free(sites);
}

static void ask_graph(struct elf_file *e)
{
	struct code_graph g;

	code_graph_read(&g, e);
	for (size_t i = 0; i < g.functions.len; i++) {
		const struct code_function *f = &g.functions.data[i];

		total += f->name ? strlen(f->name) : 0;
		if (f->first_callee + f->nr_callees > g.callees.len)
			abort();
	}
	for (size_t i = 0; i < g.callees.len; i++) {
		if (g.callees.data[i] >= g.functions.len)
			abort();
	}
	code_graph_free(&g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	size_t budget = (size_t)64 << 20;
	struct elf_symbol sym;
	struct elf_file *e;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (elf_file_open(&e, fd, "/fuzz/fuzz", NULL) != 0)
		return 0;
	elf_file_is_x86_64(e);
	elf_file_is_stripped(e);
	total += strlen(elf_file_build_id(e));
	ask_sections(e);
	ask_sites(e);
	ask_graph(e);
	elf_file_close(objects_open_debug(0, e, &budget));
	if (elf_file_symbol(e, "outer", &sym))
		ask_address(e, sym.addr);
	elf_file_close(e);
	return 0;
}
