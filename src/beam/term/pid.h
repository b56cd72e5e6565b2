/* SPDX-License-Identifier: BSD-2-Clause */
/* Local process and port identifiers: term -> the numbers that the node prints. */
#ifndef EBEAM_BEAM_PID_H
#define EBEAM_BEAM_PID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/layout.h"
#include "target/mem.h"

/* How a process or port table spreads numbers over its slots (erl_ptab.h). */
struct id_format {
	bool whole_word; /* OTP 26 and later: the term holds slot data in 60 bits */
	uint64_t pix_mask, cl_mask, cli_mask;
	uint32_t cl_shift, cli_shift;
};

/* Reads the constants of a table (erts_proc or erts_port). 0 or negative errno. */
int id_format_read(struct id_format *out, struct mem *mem, const struct beam_layout *layout,
		   raddr table, int otp);

/* Data of a pid or port term: what erl_term.h calls pid_data / port_data. */
uint64_t id_data(const struct id_format *f, uint64_t term);

/* Of the data of a pid, the low bits that are its number; its serial stands above. */
unsigned int pid_number_bits(const struct id_format *f);

/* The term of <0.number.serial>; 0 = there cannot be one. */
uint64_t pid_term(const struct id_format *f, uint64_t number, uint64_t serial);

/* "<0.80.0>" / "#Port<0.5>"; returns buf. */
char *pid_format(const struct id_format *f, uint64_t term, char *buf, size_t size);
char *port_format(const struct id_format *f, uint64_t term, char *buf, size_t size);

/* "<0.80.0>" or "0.80.0", of this node (0) and nothing else. */
bool pid_parse(const char *text, uint64_t *number, uint64_t *serial);

#endif
