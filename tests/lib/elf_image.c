/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_image.h. */
#include "lib/elf_image.h"

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static const char *const section_names[NR_SECTIONS] = {
	"",
	".text",
	".note.gnu.build-id",
	".note.stapsdt",
	".stapsdt.base",
	".eh_frame",
	".symtab",
	".strtab",
	".dynsym",
	".dynstr",
	".bss",
	".shstrtab",
};

static size_t put(struct elf_image *im, const void *data, size_t size)
{
	size_t at = im->size;

	if (at + size > sizeof(im->data))
		abort(); /* the test's own mistake */
	memcpy(im->data + at, data, size);
	im->size += size;
	return at;
}

static void put_u8(struct elf_image *im, unsigned int v)
{
	im->data[im->size++] = (unsigned char)v;
}

static void put_u32(struct elf_image *im, uint32_t v)
{
	put(im, &v, sizeof(v));
}

static void put_u64(struct elf_image *im, uint64_t v)
{
	put(im, &v, sizeof(v));
}

/* Closes a record: pads it with nops and fills in its length. */
static void end_record(struct elf_image *im, size_t length_at)
{
	uint32_t len;

	while ((im->size - length_at) % 4)
		put_u8(im, 0);
	len = (uint32_t)(im->size - length_at - 4);
	memcpy(im->data + length_at, &len, sizeof(len));
}

/* A CIE; `augmentation` as in the format, its data follows.  Returns where it stands. */
static size_t put_cie(struct elf_image *im, unsigned int version, const char *augmentation,
		      const void *data, size_t data_size)
{
	size_t at = im->size;

	put_u32(im, 0);
	put_u32(im, 0); /* a CIE */
	put_u8(im, version);
	put(im, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		put(im, "\x08", 2); /* 8 byte addresses, no segments */
	put(im, "\x01\x78\x10", 3); /* alignments 1 and -8, return address in column 16 */
	if (*augmentation == 'z')
		put_u8(im, (unsigned int)data_size);
	put(im, data, data_size);
	end_record(im, at);
	return at;
}

/* An FDE with pcrel sdata4 pointers; `frame_at` is the offset of the section in the file. */
static void put_fde(struct elf_image *im, size_t cie_at, size_t frame_at, uint64_t start,
		    uint32_t size)
{
	size_t at = im->size;

	put_u32(im, 0);
	put_u32(im, (uint32_t)(im->size - cie_at));
	put_u32(im, (uint32_t)(start - (ELF_IMAGE_FRAME_ADDR + im->size - frame_at)));
	put_u32(im, size);
	put_u8(im, 0); /* no augmentation data */
	end_record(im, at);
}

/* The same with absolute pointers, in a record with a 64 bit length. */
static void put_long_fde(struct elf_image *im, size_t cie_at, uint64_t start, uint64_t size)
{
	put_u32(im, 0xffffffff);
	put_u64(im, 4 + 8 + 8 + 4);
	put_u32(im, (uint32_t)(im->size - cie_at));
	put_u64(im, start);
	put_u64(im, size);
	put_u32(im, 0);
}

/* Not in order of address, and with a CIE of a kind that cannot be read among them. */
static size_t put_eh_frame(struct elf_image *im)
{
	static const unsigned char zplr[] = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b};
	size_t frame_at = im->size, plain, personality, absolute, strange;

	plain = put_cie(im, 1, "zR", "\x1b", 1);
	put_fde(im, plain, frame_at, ELF_IMAGE_TEXT_ADDR + 0x40, 0x20);
	put_fde(im, plain, frame_at, ELF_IMAGE_TEXT_ADDR + 0x10, 0x20);
	personality = put_cie(im, 1, "zPLR", zplr, sizeof(zplr));
	put_fde(im, personality, frame_at, ELF_IMAGE_TEXT_ADDR + 0x30, 8);
	strange = put_cie(im, 1, "zQR", "\x1b", 1);
	put_fde(im, strange, frame_at, ELF_IMAGE_TEXT_ADDR + 0xc0, 8);
	absolute = put_cie(im, 3, "", "", 0);
	put_long_fde(im, absolute, ELF_IMAGE_TEXT_ADDR + 0x80, 0x20);
	put_long_fde(im, absolute, 0, 0x20); /* discarded by the linker */
	absolute = put_cie(im, 4, "zR", "\x04", 1);
	put_long_fde(im, absolute, ELF_IMAGE_TEXT_ADDR + 0xa0, 0x10);
	put_fde(im, plain, frame_at, ELF_IMAGE_TEXT_ADDR + 0xd0, 0); /* covers nothing */
	put_u32(im, 0);
	return im->size - frame_at;
}

static uint32_t put_name(struct elf_image *strings, const char *name)
{
	return (uint32_t)put(strings, name, strlen(name) + 1);
}

static void put_symbol(struct elf_image *table, struct elf_image *strings, const char *name,
		       unsigned int bind, unsigned int type, unsigned int section, uint64_t addr,
		       uint64_t size)
{
	Elf64_Sym sym = {
		.st_name = put_name(strings, name),
		.st_info = ELF64_ST_INFO(bind, type),
		.st_shndx = (uint16_t)section,
		.st_value = addr,
		.st_size = size,
	};

	put(table, &sym, sizeof(sym));
}

static void fill_symtab(struct elf_image *table, struct elf_image *strings)
{
	static const Elf64_Sym null;

	put_u8(strings, 0);
	put(table, &null, sizeof(null));
	put_symbol(table, strings, "file.c", STB_LOCAL, STT_FILE, SHN_ABS, 0, 0);
	put_symbol(table, strings, "__a_alias", STB_GLOBAL, STT_FUNC, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0x10, 32);
	put_symbol(table, strings, "a", STB_GLOBAL, STT_FUNC, S_TEXT, ELF_IMAGE_TEXT_ADDR + 0x10,
		   32);
	put_symbol(table, strings, "a_local", STB_LOCAL, STT_FUNC, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0x10, 32);
	put_symbol(table, strings, "b@@VERS_2.0", STB_GLOBAL, STT_GNU_IFUNC, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0x30, 8);
	put_symbol(table, strings, "outer", STB_LOCAL, STT_FUNC, S_TEXT, ELF_IMAGE_TEXT_ADDR + 0x80,
		   0x40);
	put_symbol(table, strings, "inner", STB_LOCAL, STT_FUNC, S_TEXT, ELF_IMAGE_TEXT_ADDR + 0x90,
		   4);
	put_symbol(table, strings, "label", STB_LOCAL, STT_NOTYPE, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0x48, 0);
	put_symbol(table, strings, "sizeless", STB_GLOBAL, STT_FUNC, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0xf0, 0);
	put_symbol(table, strings, "data", STB_GLOBAL, STT_OBJECT, S_BSS,
		   ELF_IMAGE_TEXT_ADDR + 0x40, 8);
	put_symbol(table, strings, "imported", STB_GLOBAL, STT_FUNC, SHN_UNDEF, ELF_IMAGE_TEXT_ADDR,
		   32);
}

static void fill_dynsym(struct elf_image *table, struct elf_image *strings)
{
	static const Elf64_Sym null;

	put_u8(strings, 0);
	put(table, &null, sizeof(null));
	put_symbol(table, strings, "exported", STB_GLOBAL, STT_FUNC, S_TEXT,
		   ELF_IMAGE_TEXT_ADDR + 0x30, 8);
}

/* Notes: one of another owner first, then a build id of 4 bytes. */
static void put_notes(struct elf_image *im)
{
	Elf64_Nhdr other = {.n_namesz = 5, .n_descsz = 1, .n_type = NT_GNU_BUILD_ID};
	Elf64_Nhdr id = {.n_namesz = 4, .n_descsz = 4, .n_type = NT_GNU_BUILD_ID};

	put(im, &other, sizeof(other));
	put(im, "Xorg\0\0\0\0\7\0\0", 12);
	put(im, &id, sizeof(id));
	put(im, "GNU\0\xde\xad\x0b\xef", 8);
}

/* A note of a USDT site; addresses are those before the sections were moved by 0x1000. */
static void put_site(struct elf_image *im, uint64_t addr, uint64_t semaphore, const char *strings,
		     size_t strings_size)
{
	Elf64_Nhdr note = {.n_namesz = 8, .n_descsz = 24 + (uint32_t)strings_size, .n_type = 3};

	put(im, &note, sizeof(note));
	put(im, "stapsdt", 8);
	put_u64(im, addr - 0x1000);
	put_u64(im, ELF_IMAGE_BASE_ADDR - 0x1000);
	put_u64(im, semaphore ? semaphore - 0x1000 : 0);
	put(im, strings, strings_size);
	while (im->size % 4)
		put_u8(im, 0);
}

/* Four that are sites, and what must be passed over: another owner, code that is not there, no
 * code, a semaphore that is not there, strings that do not end. */
static void put_sites(struct elf_image *im)
{
	static const char first[] = "erlang\0process__hibernate\0008@%rdi -4@8(%rsp)";
	static const char second[] = "erlang\0process__hibernate\0008@%rbx 8@$1";
	static const char third[] = "other\0plain\0";
	static const char fourth[] = "erlang\0message__receive\0008@name(%rip)";
	Elf64_Nhdr owner = {.n_namesz = 4, .n_descsz = 4, .n_type = 3};

	put(im, &owner, sizeof(owner));
	put(im, "GNU\0\0\0\0", 8);
	put_site(im, ELF_IMAGE_TEXT_ADDR + 0x12, ELF_IMAGE_FRAME_ADDR + 8, first, sizeof(first));
	put_site(im, ELF_IMAGE_TEXT_ADDR + 0x1000, 0, first, sizeof(first));
	put_site(im, ELF_IMAGE_FRAME_ADDR, 0, first, sizeof(first));
	put_site(im, ELF_IMAGE_TEXT_ADDR, 0x700000, first, sizeof(first));
	put_site(im, ELF_IMAGE_TEXT_ADDR + 0x34, ELF_IMAGE_FRAME_ADDR + 8, second, sizeof(second));
	put_site(im, ELF_IMAGE_TEXT_ADDR, 0, second, sizeof(second) - 1);
	put_site(im, ELF_IMAGE_TEXT_ADDR + 0x98, 0, third, sizeof(third));
	put_site(im, ELF_IMAGE_TEXT_ADDR + 0xa2, 0, fourth, sizeof(fourth));
}

static void align(struct elf_image *im)
{
	while (im->size % 8)
		put_u8(im, 0);
}

/* Adds a section that lies in the file from `from` to the end of what was put so far. */
static void add_section(Elf64_Shdr *shdrs, unsigned int i, struct elf_image *im, size_t from,
			uint32_t type, uint64_t addr, uint64_t flags)
{
	shdrs[i].sh_type = type;
	shdrs[i].sh_addr = addr;
	shdrs[i].sh_flags = flags;
	shdrs[i].sh_offset = from;
	shdrs[i].sh_size = im->size - from;
	align(im);
}

/* .symtab and .dynsym with their strings. */
static void put_symbol_tables(struct elf_image *im, Elf64_Shdr *shdrs, bool stripped)
{
	struct elf_image symtab = {.size = 0}, strtab = {.size = 0}, dynsym = {.size = 0};
	struct elf_image dynstr = {.size = 0};
	size_t at;

	fill_symtab(&symtab, &strtab);
	fill_dynsym(&dynsym, &dynstr);
	at = put(im, symtab.data, symtab.size);
	add_section(shdrs, S_SYMTAB, im, at, stripped ? SHT_PROGBITS : SHT_SYMTAB, 0, 0);
	at = put(im, strtab.data, strtab.size);
	add_section(shdrs, S_STRTAB, im, at, SHT_STRTAB, 0, 0);
	at = put(im, dynsym.data, dynsym.size);
	add_section(shdrs, S_DYNSYM, im, at, SHT_DYNSYM, 0, SHF_ALLOC);
	at = put(im, dynstr.data, dynstr.size);
	add_section(shdrs, S_DYNSTR, im, at, SHT_STRTAB, 0, SHF_ALLOC);
	shdrs[S_SYMTAB].sh_link = S_STRTAB;
	shdrs[S_DYNSYM].sh_link = S_DYNSTR;
	shdrs[S_SYMTAB].sh_entsize = shdrs[S_DYNSYM].sh_entsize = sizeof(Elf64_Sym);
}

/* A segment of what was put since `from`. */
static Elf64_Phdr segment(const struct elf_image *im, size_t from, uint64_t addr, uint32_t flags)
{
	return (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_vaddr = addr,
		.p_offset = from,
		.p_filesz = im->size - from,
		.p_memsz = im->size - from,
	};
}

/* The sections that are loaded, and the segments that load them. */
static void put_segments(struct elf_image *im, Elf64_Shdr *shdrs, Elf64_Phdr *phdrs)
{
	size_t at = im->size;

	put_notes(im);
	add_section(shdrs, S_BUILD_ID, im, at, SHT_NOTE, ELF_IMAGE_RO_ADDR + at, SHF_ALLOC);
	phdrs[0] = segment(im, 0, ELF_IMAGE_RO_ADDR, PF_R);
	at = im->size;
	for (unsigned int i = 0; i < ELF_IMAGE_TEXT_SIZE; i++)
		put_u8(im, i);
	add_section(shdrs, S_TEXT, im, at, SHT_PROGBITS, ELF_IMAGE_TEXT_ADDR,
		    SHF_ALLOC | SHF_EXECINSTR);
	phdrs[1] = segment(im, at, ELF_IMAGE_TEXT_ADDR, PF_R | PF_X);
	at = im->size;
	put_eh_frame(im);
	phdrs[2] = segment(im, at, ELF_IMAGE_FRAME_ADDR, PF_R | PF_W);
	phdrs[2].p_memsz = 0x10000;
	add_section(shdrs, S_EH_FRAME, im, at, SHT_PROGBITS, ELF_IMAGE_FRAME_ADDR, SHF_ALLOC);
	at = im->size;
	put_sites(im);
	add_section(shdrs, S_STAPSDT, im, at, SHT_NOTE, 0, 0);
	at = im->size;
	put_u8(im, 0);
	add_section(shdrs, S_STAPSDT_BASE, im, at, SHT_PROGBITS, ELF_IMAGE_BASE_ADDR, SHF_ALLOC);
	shdrs[S_BSS] = (Elf64_Shdr){
		.sh_type = SHT_NOBITS,
		.sh_addr = ELF_IMAGE_FRAME_ADDR + 0x1000,
		.sh_flags = SHF_ALLOC | SHF_WRITE,
		.sh_size = 0x1000,
	};
}

void elf_image_build(struct elf_image *im, bool stripped)
{
	Elf64_Shdr shdrs[NR_SECTIONS] = {{0}};
	Elf64_Phdr phdrs[3] = {{0}};
	Elf64_Ehdr ehdr = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(ehdr),
		.e_ehsize = sizeof(ehdr),
		.e_phentsize = sizeof(phdrs[0]),
		.e_phnum = ARRAY_SIZE(phdrs),
		.e_shentsize = sizeof(shdrs[0]),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = S_SHSTRTAB,
	};
	size_t at;

	im->size = sizeof(ehdr) + sizeof(phdrs);
	put_segments(im, shdrs, phdrs);
	put_symbol_tables(im, shdrs, stripped);
	at = im->size;
	for (unsigned int i = 0; i < NR_SECTIONS; i++)
		shdrs[i].sh_name = put_name(im, section_names[i]) - (uint32_t)at;
	add_section(shdrs, S_SHSTRTAB, im, at, SHT_STRTAB, 0, 0);
	ehdr.e_shoff = put(im, shdrs, sizeof(shdrs));
	memcpy(im->data, &ehdr, sizeof(ehdr));
	memcpy(im->data + sizeof(ehdr), phdrs, sizeof(phdrs));
}
