/* SPDX-License-Identifier: BSD-2-Clause */
/* See placement.h: functions of ELF files.  The search itself depends on the CPU: placement_*.c. */
#include "probe/site/placement.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "target/elf.h"

static void __attribute__((format(printf, 2, 3)))
refuse(struct placement *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->reason, sizeof(out->reason), fmt, ap);
	va_end(ap);
}

static size_t read_elf(void *ctx, uint64_t addr, void *buf, size_t size)
{
	uint64_t offset = elf_file_offset_of(ctx, addr);

	return offset == UINT64_MAX ? 0 : elf_file_read_constant(ctx, offset, buf, size);
}

static bool elf_function_at(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	return elf_file_function_at(ctx, addr, start, end);
}

static bool elf_is_code(void *ctx, uint64_t addr)
{
	uint64_t offset = elf_file_offset_of(ctx, addr);

	return offset != UINT64_MAX && elf_file_is_code(ctx, offset);
}

void placement_find_in_elf(struct placement *out, const struct elf_file *elf, uint64_t addr,
			   const struct placement_request *request)
{
	struct placement_image image = {read_elf, elf_function_at, elf_is_code,
					(void *)(uintptr_t)elf};
	struct placement_code code = {.addr = addr};
	uint64_t start, end;
	unsigned char *bytes;

	*out = (struct placement){0};
	if (!elf_file_is_x86_64(elf)) {
		refuse(out, "it is not x86-64 code");
		return;
	}
	if (!elf_file_function_at(elf, addr, &start, &end) || start != addr) {
		refuse(out, "its bounds are not known");
		return;
	}
	if (end - start > PLACEMENT_MAX_FUNCTION) {
		refuse(out, "its code is %llu bytes long", (unsigned long long)(end - start));
		return;
	}
	code.size = (size_t)(end - start);
	bytes = xmalloc(code.size);
	code.bytes = bytes;
	if (read_elf((void *)(uintptr_t)elf, addr, bytes, code.size) == code.size)
		placement_find(out, &code, &image, request);
	else
		refuse(out, "its code cannot be read");
	free(bytes);
}

bool placement_find_pair(struct placement_pair *out, const struct elf_file *elf, uint64_t addr,
			 unsigned int args, bool returns)
{
	struct placement_request request = {
		.args = args,
		.returns = returns,
		.nops = placement_kernel_emulates_nops(),
	};

	placement_find_in_elf(&out->call, elf, addr, &request);
	out->back = out->call;
	if (!returns || (out->call.ok && out->call.emulated))
		return out->call.ok;
	request.returns = false;
	placement_find_in_elf(&out->call, elf, addr, &request);
	request = (struct placement_request){.returns = true, .nops = request.nops};
	placement_find_in_elf(&out->back, elf, addr, &request);
	return out->call.ok && out->back.ok;
}
