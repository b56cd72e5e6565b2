/* SPDX-License-Identifier: BSD-2-Clause */
/* A screen with all that can be on one: styles, bars, sparklines, wide and combining characters,
 * and text that bites.  Needs no cmocka: tools/terminal.c shows it, too. */
#ifndef EBEAM_TESTS_ZOO_H
#define EBEAM_TESTS_ZOO_H

#include "view/screen/screen.h"

void zoo_draw(struct screen *s);

/* A new one; screen_close() it. */
struct screen *zoo_screen(unsigned rows, unsigned columns);

#endif
