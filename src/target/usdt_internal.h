/* SPDX-License-Identifier: BSD-2-Clause */
/* Of usdt.c: what is the processor's. */
#ifndef EBEAM_TARGET_USDT_INTERNAL_H
#define EBEAM_TARGET_USDT_INTERNAL_H

#include "target/usdt.h"

/* A register as an operand writes it ("%rdi"): *end = behind it; fills reg and shift. */
bool usdt_parse_register(const char *text, const char **end, struct usdt_arg *arg);

#endif
