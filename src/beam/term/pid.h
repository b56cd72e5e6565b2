/* SPDX-License-Identifier: BSD-2-Clause */
/* Local process and port identifiers: term -> the numbers that the node prints. */
#ifndef EBEAM_BEAM_PID_H
#define EBEAM_BEAM_PID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/layout.h"
#include "target/mem.h"

/* How a process or port table maps numbers to slots (erl_ptab.h). */
struct id_format {
	bool whole_word; /* OTP 26 and later: the term holds slot data in 60 bits */
	uint64_t pix_mask, cl_mask, cli_mask;
	uint32_t cl_shift, cli_shift;
};

/* Reads the constants of a table (erts_proc or erts_port). 0 or negative errno. */
int id_format_read(struct id_format *out, struct mem *mem, const struct beam_layout *layout,
		   raddr table, int otp);

/* Data of a pid or port term: pid_data / port_data of erl_term.h. */
uint64_t id_data(const struct id_format *f, uint64_t term);

/* Number of low bits in a pid's data that are its number; the bits above are its serial. */
unsigned int pid_number_bits(const struct id_format *f);

/* The term of <0.number.serial>; 0 = it is out of range. */
uint64_t pid_term(const struct id_format *f, uint64_t number, uint64_t serial);

/* "<0.80.0>" / "#Port<0.5>"; returns buf. */
char *pid_format(const struct id_format *f, uint64_t term, char *buf, size_t size);
char *port_format(const struct id_format *f, uint64_t term, char *buf, size_t size);

/* Parses "<0.80.0>" or "0.80.0", a pid of this node (0), with nothing behind it. */
bool pid_parse(const char *text, uint64_t *number, uint64_t *serial);

#endif
