/* SPDX-License-Identifier: BSD-2-Clause */
/* See pid.h. */
#include "beam/term/pid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abi/vm.h"

int id_format_read(struct id_format *out, struct mem *mem, const struct beam_layout *layout,
		   raddr table, int otp)
{
	bool wide = otp >= 26; /* the masks became words in 26 */
	uint32_t small[3], shift[2];
	int rc;

	*out = (struct id_format){.whole_word = wide};
	if (wide) {
		rc = mem_read_u64(mem, table + layout->ptab_pix_mask, &out->pix_mask);
		rc = rc ? rc : mem_read_u64(mem, table + layout->ptab_pix_cl_mask, &out->cl_mask);
		rc = rc ? rc : mem_read_u64(mem, table + layout->ptab_pix_cli_mask, &out->cli_mask);
	} else {
		rc = mem_read_u32(mem, table + layout->ptab_pix_mask, &small[0]);
		rc = rc ? rc : mem_read_u32(mem, table + layout->ptab_pix_cl_mask, &small[1]);
		rc = rc ? rc : mem_read_u32(mem, table + layout->ptab_pix_cli_mask, &small[2]);
	}
	rc = rc ? rc : mem_read_u32(mem, table + layout->ptab_pix_cl_shift, &shift[0]);
	rc = rc ? rc : mem_read_u32(mem, table + layout->ptab_pix_cli_shift, &shift[1]);
	if (rc)
		return rc;
	if (!wide) {
		out->pix_mask = small[0];
		out->cl_mask = small[1];
		out->cli_mask = small[2];
	}
	out->cl_shift = shift[0] & 63;
	out->cli_shift = shift[1] & 63;
	return 0;
}

uint64_t id_data(const struct id_format *f, uint64_t term)
{
	uint64_t d = term >> 4;

	/* Up to OTP 25 the data is in the low 32 bits of the word, the slot in the high ones. */
	if (!f->whole_word)
		return (uint32_t)term >> 4;
	return (d & ~f->pix_mask) | ((d >> f->cl_shift) & f->cl_mask) |
	       ((d & f->cli_mask) << f->cli_shift);
}

unsigned int pid_number_bits(const struct id_format *f)
{
	return f->whole_word ? 28 : 15;
}

uint64_t pid_term(const struct id_format *f, uint64_t number, uint64_t serial)
{
	unsigned int number_bits = pid_number_bits(f);
	unsigned int data_bits = f->whole_word ? 60 : 28;
	uint64_t data = serial << number_bits | number, slot;

	if (number >> number_bits || serial >> (data_bits - number_bits))
		return 0;
	slot = ((data & f->cl_mask) << f->cl_shift) | ((data >> f->cli_shift) & f->cli_mask);
	if (f->whole_word)
		return ((data & ~f->pix_mask) | slot) << 4 | TERM_TAG_PID;
	return slot << 32 | data << 4 | TERM_TAG_PID;
}

char *pid_format(const struct id_format *f, uint64_t term, char *buf, size_t size)
{
	unsigned int number_bits = pid_number_bits(f);
	uint64_t d = id_data(f, term);

	snprintf(buf, size, "<0.%" PRIu64 ".%" PRIu64 ">", d & (((uint64_t)1 << number_bits) - 1),
		 d >> number_bits);
	return buf;
}

char *port_format(const struct id_format *f, uint64_t term, char *buf, size_t size)
{
	snprintf(buf, size, "#Port<0.%" PRIu64 ">", id_data(f, term));
	return buf;
}

bool pid_parse(const char *text, uint64_t *number, uint64_t *serial)
{
	unsigned long long nr, ser;
	bool quoted = *text == '<';
	int end = 0;

	if (strspn(text, "<0123456789.>") != strlen(text) ||
	    sscanf(text + quoted, "0.%llu.%llu%n", &nr, &ser, &end) != 2 || !end ||
	    strcmp(text + quoted + end, quoted ? ">" : "") != 0)
		return false;
	*number = nr;
	*serial = ser;
	return true;
}
