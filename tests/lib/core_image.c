/* SPDX-License-Identifier: BSD-2-Clause */
/* See core_image.h. */
#include "lib/core_image.h"

#include <assert.h>
#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/procfs.h>

#include "base/compiler.h"

static size_t put(struct core_image *im, const void *bytes, size_t size)
{
	size_t at = im->size;

	assert(im->size + size <= sizeof(im->data));
	memcpy(im->data + at, bytes, size);
	im->size += size;
	return at;
}

static void put_note(struct core_image *im, uint32_t type, const void *desc, size_t size)
{
	static const char name[8] = "CORE";
	static const char zeros[4];
	Elf64_Nhdr note = {.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = type};

	put(im, &note, sizeof(note));
	put(im, name, sizeof(name));
	put(im, desc, size);
	put(im, zeros, (4 - size % 4) % 4);
}

static void put_notes(struct core_image *im, const char *program)
{
	struct elf_prstatus status = {.pr_pid = CORE_IMAGE_PID, .pr_cursig = CORE_IMAGE_SIGNAL};
	struct elf_prstatus other = {.pr_pid = CORE_IMAGE_PID + 1};
	struct elf_prpsinfo info = {.pr_pid = CORE_IMAGE_PID, .pr_fname = "beam.smp"};
	uint64_t auxv[] = {AT_PAGESZ, 4096, AT_ENTRY, CORE_IMAGE_EXE + 0x10, AT_NULL, 0};
	uint64_t files[] = {3,
			    4096,
			    CORE_IMAGE_EXE,
			    CORE_IMAGE_EXE + 0x1000,
			    0,
			    CORE_IMAGE_EXE2,
			    CORE_IMAGE_EXE2 + 0x1000,
			    0,
			    0x70000000,
			    0x70001000,
			    5};
	static const char memfd[] = "/memfd:vmem (deleted)";
	char desc[1024];
	size_t name = strlen(program) + 1, size = sizeof(files);

	assert(size + 2 * name + sizeof(memfd) <= sizeof(desc));
	memcpy(desc, files, sizeof(files));
	for (int i = 0; i < 2; i++, size += name)
		memcpy(desc + size, program, name);
	memcpy(desc + size, memfd, sizeof(memfd));
	put_note(im, NT_PRSTATUS, &status, sizeof(status));
	put_note(im, NT_PRPSINFO, &info, sizeof(info));
	put_note(im, NT_AUXV, auxv, sizeof(auxv));
	put_note(im, NT_FILE, desc, size + sizeof(memfd));
	put_note(im, NT_PRSTATUS, &other, sizeof(other));
}

static Elf64_Phdr load(uint64_t addr, size_t offset, size_t size, size_t mem_size, uint32_t flags)
{
	return (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_vaddr = addr,
			    .p_offset = offset,
			    .p_filesz = size,
			    .p_memsz = mem_size,
			    .p_flags = flags};
}

void core_image_build(struct core_image *im, const struct elf_image *exe, const char *program,
		      bool notes_last)
{
	Elf64_Ehdr ehdr = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 5,
	};
	Elf64_Phdr phdrs[5] = {{.p_type = PT_NOTE}};
	unsigned char bytes[CORE_IMAGE_SIZE];
	size_t header = sizeof(ehdr) + 3 * sizeof(Elf64_Phdr), at; /* of the executable */

	memset(im, 0, sizeof(*im));
	put(im, &ehdr, sizeof(ehdr));
	put(im, phdrs, sizeof(phdrs));
	for (int pass = 0; pass < 2; pass++) {
		if (pass == notes_last) {
			phdrs[0].p_offset = im->size;
			put_notes(im, program);
			phdrs[0].p_filesz = im->size - phdrs[0].p_offset;
			continue;
		}
		/* The first page ends early, so that the rest is seen to come from the file. */
		at = put(im, exe->data, header);
		phdrs[1] = load(CORE_IMAGE_EXE, at, header, 0x1000, PF_R);
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)i;
		im->data_at = put(im, bytes, sizeof(bytes));
		phdrs[2] = load(CORE_IMAGE_DATA, im->data_at, sizeof(bytes), sizeof(bytes),
				PF_R | PF_W);
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)~i;
		im->more_at = put(im, bytes, sizeof(bytes));
		phdrs[3] = load(CORE_IMAGE_MORE, im->more_at, sizeof(bytes), sizeof(bytes),
				PF_R | PF_W | PF_X);
	}
	phdrs[4] = load(CORE_IMAGE_ABSENT, im->data_at, 0, 0x1000, PF_R | PF_W);
	memcpy(im->data + sizeof(ehdr), phdrs, sizeof(phdrs));
}
