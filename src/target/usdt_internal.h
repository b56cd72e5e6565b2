/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of usdt.c that depends on the processor. */
#ifndef EBEAM_TARGET_USDT_INTERNAL_H
#define EBEAM_TARGET_USDT_INTERNAL_H

#include "target/usdt.h"

/* Parses a register operand ("%rdi"): *end = behind it; fills reg and shift of *arg. */
bool usdt_parse_register(const char *text, const char **end, struct usdt_arg *arg);

#endif
