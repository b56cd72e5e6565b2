/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a function, as the VM writes it with "%T:%T/%d": "lists:map/2", "'A':'b c'/0". */
#ifndef EBEAM_BEAM_MFA_TEXT_H
#define EBEAM_BEAM_MFA_TEXT_H

#include <stdbool.h>

struct mfa_parts {
	const char *module, *function; /* texts of the atoms, without quotes; in the parsed text */
	int arity;		       /* 0 .. 255 */
};

/* Parses the text in place, which changes it.  False if it is malformed or truncated. */
bool mfa_parse(char *text, struct mfa_parts *out);

#endif
