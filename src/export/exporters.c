/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of formats, and the functions of formats.h.  The capture format is not in the table, as
 * captures are written from records, not from a snapshot.  Perfetto's format is in the table, but
 * without a function: it is written from records, too, as a snapshot has no times (see perfetto.h).
 */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "base/write_error.h"
#include "export/formats.h"

const struct exporter exporters[] = {
	{"html", ".html", "interactive flame graph, one file that loads nothing else", export_html,
	 export_html_diff, false, false},
	{"svg", ".svg", "flame graph as a static picture", export_svg, export_svg_diff, false,
	 false},
	{"folded", ".folded", "one line per stack: frame;frame;frame COUNT", export_folded,
	 export_folded_diff, false, false},
	{"pprof", ".pb.gz", "profile.proto for go tool pprof and other tools that read it",
	 export_pprof, NULL, true, false},
	{"speedscope", ".speedscope.json", "for speedscope.app", export_speedscope, NULL, false,
	 false},
	{"perfetto", ".perfetto.json", "a time line, for ui.perfetto.dev and chrome://tracing",
	 NULL, NULL, false, true},
	{"json", ".json", "functions, processes and stacks as one object", export_json,
	 export_json_diff, false, false},
	{0},
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *e = exporters; e->name; e++) {
		if (strcmp(e->name, name) == 0)
			return e;
	}
	return NULL;
}

const struct exporter *exporter_by_suffix(const char *filename)
{
	const struct exporter *best = NULL;
	size_t len = strlen(filename), best_len = 0;

	for (const struct exporter *e = exporters; e->name; e++) {
		size_t n = strlen(e->suffix);

		if (n > len || n <= best_len || strcmp(filename + len - n, e->suffix) != 0)
			continue;
		best = e;
		best_len = n;
	}
	return best;
}

int export_finish(FILE *f, struct error *err)
{
	int rc = write_error_of(f);

	return rc ? write_error_set(err, "the output", rc) : 0;
}

const char *export_meta(const struct snapshot *s, const char *key, const char *fallback)
{
	const char *value = snapshot_meta(s, key);

	return value && *value ? value : fallback;
}

uint64_t export_meta_number(const struct snapshot *s, const char *key)
{
	const char *value = snapshot_meta(s, key);
	char *end;
	uint64_t n;

	if (!value || *value < '0' || *value > '9')
		return 0;
	errno = 0;
	n = strtoull(value, &end, 10);
	return errno || *end ? 0 : n;
}

const char *export_unit(const struct snapshot *s)
{
	static const char *const units[] = {"processes", "ns", "words", "bytes", "calls"};
	const char *unit = export_meta(s, "unit", "samples");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strcmp(unit, units[i]) == 0)
			return units[i];
	return "samples";
}

const char *export_title(const struct snapshot *s)
{
	return export_meta(s, "title", NULL);
}

void export_add_amount(struct strbuf *out, const struct snapshot *s, uint64_t n)
{
	const char *unit = export_unit(s);
	char text[32];

	if (strcmp(unit, "ns") == 0)
		strbuf_addstr(out, units_format_ns(n, text, sizeof(text)));
	else if (strcmp(unit, "bytes") == 0)
		strbuf_addstr(out, units_format_bytes(n, text, sizeof(text)));
	else
		strbuf_addf(out, "%s %s", units_format_count(n, text, sizeof(text)), unit);
}

uint64_t export_lost(const struct snapshot *s)
{
	return snapshot_counter(s, "ring_full") + snapshot_counter(s, "bad_record") +
	       s->dropped_unknown;
}

void export_add_xml(struct strbuf *out, const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		switch (*p) {
		case '&':
			strbuf_addstr(out, "&amp;");
			break;
		case '<':
			strbuf_addstr(out, "&lt;");
			break;
		case '>':
			strbuf_addstr(out, "&gt;");
			break;
		case '"':
			strbuf_addstr(out, "&quot;");
			break;
		case '\'':
			strbuf_addstr(out, "&#39;");
			break;
		default:
			if (*p < 0x20 && *p != '\n') {
				strbuf_addch(out, '?');
			} else if (*p == 0xef && p[1] == 0xbf && p[2] >= 0xbe) {
				strbuf_addch(out, '?'); /* U+FFFE, U+FFFF */
				p += 2;
			} else {
				strbuf_addch(out, (char)*p);
			}
		}
	}
}

/* Integers only, so that the digits are the same on every machine. */
void export_add_percent(struct strbuf *out, uint64_t num, uint64_t den, int digits)
{
	unsigned int scale = digits == 1 ? 1000 : 10000, unit = scale / 100;
	unsigned __int128 scaled = (unsigned __int128)num * scale;
	uint64_t n = den ? (uint64_t)((scaled + den / 2) / den) : 0;

	strbuf_addf(out, "%" PRIu64 ".%0*u", n / unit, digits, (unsigned int)(n % unit));
}
