/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generated tables of this folder, one line each: declared here for layout.c, listed there in
 * layout_tables[].  Adding a release: README.md.
 */
#ifndef EBEAM_BEAM_OTP_TABLES_H
#define EBEAM_BEAM_OTP_TABLES_H

#include "beam/otp/layout.h"

#define LAYOUT_TABLES(T)                                                                           \
	T(otp24)                                                                                   \
	T(otp25)                                                                                   \
	T(otp25_vmprobes)                                                                          \
	T(otp26)                                                                                   \
	T(otp27)                                                                                   \
	T(otp28)                                                                                   \
	T(otp29)

#define LAYOUT_TABLE_DECLARE(name) extern const struct layout_table layout_table_##name;
LAYOUT_TABLES(LAYOUT_TABLE_DECLARE)
#undef LAYOUT_TABLE_DECLARE

#endif
