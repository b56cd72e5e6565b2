/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small ELF file built byte by byte, so that a test knows every answer that a reader must give:
 * symbols with versions and aliases, .eh_frame records of every kind, notes, three segments.
 */
#ifndef EBEAM_TESTS_LIB_ELF_IMAGE_H
#define EBEAM_TESTS_LIB_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#define ELF_IMAGE_RO_ADDR    0x400000u
#define ELF_IMAGE_TEXT_ADDR  0x501000u /* differs from the file offset, as in real files */
#define ELF_IMAGE_TEXT_SIZE  0x100u
#define ELF_IMAGE_FRAME_ADDR 0x601000u
#define ELF_IMAGE_BASE_ADDR  0x402000u /* of .stapsdt.base */

struct elf_image {
	unsigned char data[4096];
	size_t size;
};

enum elf_image_section {
	S_NULL,
	S_TEXT,
	S_BUILD_ID,
	S_STAPSDT,
	S_STAPSDT_BASE,
	S_EH_FRAME,
	S_SYMTAB,
	S_STRTAB,
	S_DYNSYM,
	S_DYNSTR,
	S_BSS,
	S_SHSTRTAB,
	NR_SECTIONS
};

/*
 * Symbols of .symtab (offsets in .text): a, __a_alias and a_local 0x10..0x30, b 0x30..0x38, outer
 * 0x80..0xc0, inner 0x90..0x94, sizeless 0xf0, data and label at 0x40 and 0x48; of .dynsym:
 * exported 0x30..0x38.  `stripped` leaves .symtab out.
 *
 * USDT sites: erlang:process__hibernate at 0x12 and 0x34 of .text, semaphore at 8 of the third
 * segment; other:plain at 0x98, which has none; erlang:message__receive at 0xa2, whose argument
 * cannot be read.
 *
 * Functions of .eh_frame: 0x10..0x30, 0x30..0x38, 0x40..0x60, 0x80..0xa0, 0xa0..0xb0; and FDEs that
 * must be passed over at 0xc0 (unknown augmentation), 0xd0 (empty) and address 0 (discarded).
 */
void elf_image_build(struct elf_image *im, bool stripped);

#endif
