/* SPDX-License-Identifier: BSD-2-Clause */
/* See cells.h. */
#include "view/table/cells.h"

#include <math.h>

#include "base/units.h"

/* Rounds to an integer; at most 9e18, as llround() returns a signed 64-bit number. */
static uint64_t whole(double n)
{
	return (uint64_t)llround(fmin(n, 9e18));
}

void cell_count(struct strbuf *out, uint64_t n)
{
	char text[32];

	strbuf_addstr(out, units_format_count(n, text, sizeof(text)));
}

void cell_rate(struct strbuf *out, double rate)
{
	if (rate > 0 && rate < 9.95)
		strbuf_addf(out, "%.1f", rate);
	else
		cell_count(out, whole(rate));
}

void cell_bytes(struct strbuf *out, double bytes)
{
	char text[32];

	strbuf_addstr(out, units_format_bytes(whole(bytes), text, sizeof(text)));
}

void cell_growth(struct strbuf *out, double growth, void (*cell)(struct strbuf *out, double n))
{
	if (isnan(growth))
		return;
	if (growth < 0)
		strbuf_addch(out, '-');
	cell(out, fabs(growth));
}

void cell_ns(struct strbuf *out, double ns)
{
	char text[32];

	strbuf_addstr(out, units_format_ns(whole(ns), text, sizeof(text)));
}

double cell_known(uint64_t n)
{
	return n == UINT64_MAX ? NAN : (double)n;
}

int cell_by_number(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) - isnan(b);
	return a > b ? -1 : a < b;
}
