/* SPDX-License-Identifier: BSD-2-Clause */
/* Screens in tests.  Everything asserts (cmocka). */
#ifndef EBEAM_TESTS_SCREENFIX_H
#define EBEAM_TESTS_SCREENFIX_H

#include "view/screen/screen.h"

/* What screen_write_text() writes; free() it. */
char *screenfix_text(const struct screen *s);

/* The rows as text, each ending with a newline. */
void screenfix_expect(const struct screen *s, const char *want);

/* As text with NAME.txt, as a picture with NAME.svg, below tests/golden/screen (see golden.h). */
void screenfix_check_golden(const struct screen *s, const char *name);
void screenfix_check_picture(const struct screen *s, const char *name);

/* What must hold for each grid, whatever was drawn: halves of wide characters are together, no
 * cell is empty, none holds what a terminal must not see. */
void screenfix_check_cells(const struct screen *s);

#endif
