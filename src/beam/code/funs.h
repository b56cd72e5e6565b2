/* SPDX-License-Identifier: BSD-2-Clause */
/* The funs that loaded code can make: entries of the VM's table of funs. */
#ifndef EBEAM_BEAM_FUNS_H
#define EBEAM_BEAM_FUNS_H

#include "base/vec.h"
#include "beam/node/node.h"

struct fun {
	uint64_t module;     /* atom term */
	int32_t uniq, index; /* as fun_info(F, uniq) and fun_info(F, index) of a local fun */
	raddr address;	     /* of its code */
	/* 1 for the code, and 1 for each fun object of each process; 1 since OTP 28, which does
	 * not count them. */
	uint64_t references;
};

struct funs {
	VEC(struct fun) v;   /* in no order */
	uint64_t unreadable; /* entries that could not be read */
};

/* 0; -ENOTSUP: the table was not found; or negative errno.  Up to OTP 27 entries may be missing if
 * code is loaded meanwhile. */
int funs_read(struct funs *out, const struct beam_node *n);
void funs_free(struct funs *f);

#endif
