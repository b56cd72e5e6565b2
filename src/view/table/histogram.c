/* SPDX-License-Identifier: BSD-2-Clause */
/* See histogram.h. */
#include "view/table/histogram.h"

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"

#define BAR_WIDTH 40u
#define GAP_ROWS  3u /* this many empty rows, or more, become one line "..." */

void histogram_format_value(struct strbuf *out, uint64_t value, enum histogram_unit unit)
{
	char text[32];

	switch (unit) {
	case HISTOGRAM_NS:
		strbuf_addstr(out, units_format_ns(value, text, sizeof(text)));
		break;
	case HISTOGRAM_BYTES:
		strbuf_addstr(out, units_format_bytes(value, text, sizeof(text)));
		break;
	case HISTOGRAM_WORDS:
		strbuf_addf(out, "%s words", units_format_count(value, text, sizeof(text)));
		break;
	case HISTOGRAM_WORDS_AS_BYTES:
		value = MIN(value, UINT64_MAX / 8) * 8;
		strbuf_addstr(out, units_format_bytes(value, text, sizeof(text)));
		break;
	case HISTOGRAM_COUNT:
		strbuf_addstr(out, units_format_count(value, text, sizeof(text)));
		break;
	}
}

/* Row i counts the values low_of(i) .. high_of(i): 0; 1; 2 .. 3; 4 .. 7; ... */
static uint64_t low_of(unsigned int row)
{
	return row ? 1ull << (row - 1) : 0;
}

static uint64_t high_of(unsigned int row)
{
	return row < 64 ? (row ? (1ull << row) - 1 : 0) : UINT64_MAX;
}

static void write_figures(FILE *f, const char *title, const struct histogram *h,
			  enum histogram_unit unit, double scale)
{
	static const struct {
		const char *name;
		double percent;
	} figures[] = {{"p50", 50}, {"p90", 90}, {"p99", 99}};
	struct strbuf line = STRBUF_INIT;
	char text[32];

	strbuf_addf(&line, "%s  %s", title,
		    units_format_count(units_scale(h->nr, scale), text, sizeof(text)));
	for (size_t i = 0; h->nr && i < ARRAY_SIZE(figures); i++) {
		strbuf_addf(&line, "  %s ", figures[i].name);
		histogram_format_value(&line, histogram_percentile(h, figures[i].percent), unit);
	}
	if (h->nr) {
		strbuf_addstr(&line, "  max ");
		histogram_format_value(&line, h->max, unit);
	}
	fprintf(f, "%s\n", line.buf);
	strbuf_free(&line);
}

/* How many rows from this one on have no values. */
static unsigned int empty_rows(const struct histogram *h, unsigned int row)
{
	unsigned int nr = 0;

	while (row + nr < histogram_power(h->max) &&
	       !histogram_between(h, low_of(row + nr), high_of(row + nr)))
		nr++;
	return nr;
}

/* How a histogram is written: with its margins, if it is estimated. */
struct style {
	enum histogram_unit unit;
	double scale;
	const uint64_t *margins; /* NULL = there are none */
};

static void write_row(FILE *f, const struct histogram *h, unsigned int row, uint64_t most,
		      const struct style *style)
{
	uint64_t nr = histogram_between(h, low_of(row), high_of(row));
	unsigned int bar = (unsigned int)((double)nr / (double)most * BAR_WIDTH + 0.5);
	char count[32], margin[32] = "", stars[BAR_WIDTH + 1];
	struct strbuf range = STRBUF_INIT;

	if (nr && !bar)
		bar = 1; /* a row with any value has a bar */
	memset(stars, '#', bar);
	stars[bar] = '\0';
	histogram_format_value(&range, low_of(row), style->unit);
	strbuf_addstr(&range, " .. ");
	histogram_format_value(&range, MIN(high_of(row), h->max), style->unit);
	fprintf(f, "  %28s  %12s", range.buf,
		units_format_count(units_scale(nr, style->scale), count, sizeof(count)));
	if (style->margins)
		fprintf(f, " +- %-7s",
			style->margins[row] == UINT64_MAX
				? "-"
				: units_format_count(style->margins[row], margin, sizeof(margin)));
	fprintf(f, " |%-*s|\n", (int)BAR_WIDTH, stars);
	strbuf_free(&range);
}

static void write_all(FILE *f, const char *title, const struct histogram *h,
		      const struct style *style)
{
	uint64_t most = 0;

	write_figures(f, title, h, style->unit, style->scale);
	if (!h->nr)
		return;
	for (unsigned int row = histogram_power(h->min); row <= histogram_power(h->max); row++)
		most = MAX(most, histogram_between(h, low_of(row), high_of(row)));
	for (unsigned int row = histogram_power(h->min); row <= histogram_power(h->max); row++) {
		unsigned int empty = empty_rows(h, row);

		if (empty >= GAP_ROWS) {
			fprintf(f, "  %28s\n", "...");
			row += empty;
		}
		write_row(f, h, row, most, style);
	}
}

void histogram_write(FILE *f, const char *title, const struct histogram *h,
		     enum histogram_unit unit, double scale)
{
	write_all(f, title, h, &(const struct style){.unit = unit, .scale = scale});
}

void histogram_write_estimated(FILE *f, const char *title, const struct histogram *h,
			       enum histogram_unit unit, const uint64_t *margins)
{
	write_all(f, title, h, &(const struct style){.unit = unit, .scale = 1, .margins = margins});
}

static void json_of(struct jsonw *w, const char *key, const struct histogram *h, double scale,
		    const uint64_t *margins)
{
	jsonw_begin_object(w, key);
	jsonw_uint(w, "count", units_scale(h->nr, scale));
	jsonw_uint(w, "sum", units_scale(h->sum, scale));
	jsonw_uint(w, "min", h->min);
	jsonw_uint(w, "p50", histogram_percentile(h, 50));
	jsonw_uint(w, "p90", histogram_percentile(h, 90));
	jsonw_uint(w, "p99", histogram_percentile(h, 99));
	jsonw_uint(w, "p999", histogram_percentile(h, 99.9));
	jsonw_uint(w, "max", h->max);
	jsonw_begin_array(w, "buckets");
	for (unsigned int row = histogram_power(h->min); h->nr && row <= histogram_power(h->max);
	     row++) {
		jsonw_begin_object(w, NULL);
		jsonw_uint(w, "from", low_of(row));
		jsonw_uint(w, "to", high_of(row));
		jsonw_uint(w, "count",
			   units_scale(histogram_between(h, low_of(row), high_of(row)), scale));
		if (margins)
			jsonw_known(w, "margin", margins[row]);
		jsonw_end_object(w);
	}
	jsonw_end_array(w);
	jsonw_end_object(w);
}

void histogram_json(struct jsonw *w, const char *key, const struct histogram *h, double scale)
{
	json_of(w, key, h, scale, NULL);
}

void histogram_json_estimated(struct jsonw *w, const char *key, const struct histogram *h,
			      const uint64_t *margins)
{
	json_of(w, key, h, 1, margins);
}
