/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One self-contained HTML file: the page of assets/flame.html with its marks replaced by style,
 * scripts and data.  The data is JSON, compressed by zlib to keep the file small, in base64: its
 * alphabet cannot end a script element, so no name can break out of it.
 */
#include "export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "assets.h"
#include "base/compiler.h"
#include "base/xalloc.h"
#include "export/html_data.h"

#define HOTTEST	   50u /* functions in the text for readers without scripts */
#define ZLIB_LEVEL 4   /* of 620,000 nodes, level 6 takes five times as long to save 7 % more */

struct asset {
	const unsigned char *bytes;
	const unsigned int *size;
};

/* All scripts are in one function of the page, so that they define no globals but what they
 * export. */
static const struct asset scripts[] = {
	{asset_flame_data_js, &asset_flame_data_js_size},
	{asset_flame_tree_js, &asset_flame_tree_js_size},
	{asset_flame_draw_js, &asset_flame_draw_js_size},
	{asset_flame_panel_js, &asset_flame_panel_js_size},
	{asset_flame_app_js, &asset_flame_app_js_size},
	{asset_flame_main_js, &asset_flame_main_js_size},
};

static void add_base64(struct strbuf *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	strbuf_grow(out, size / 3 * 4 + 4);
	for (size_t i = 0; i < size; i += 3) {
		uint32_t word = (uint32_t)bytes[i] << 16;
		char quad[4];

		word |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		word |= i + 2 < size ? bytes[i + 2] : 0;
		quad[0] = digits[word >> 18];
		quad[1] = digits[word >> 12 & 63];
		quad[2] = i + 1 < size ? digits[word >> 6 & 63] : '=';
		quad[3] = i + 2 < size ? digits[word & 63] : '=';
		strbuf_add(out, quad, sizeof(quad));
	}
}

static int add_packed(struct strbuf *out, const struct strbuf *json, struct error *err)
{
	uLongf size = compressBound(json->len);
	uint8_t *packed = xmalloc(size);
	int rc = compress2(packed, &size, (const Bytef *)json->buf, json->len, ZLIB_LEVEL);

	if (rc == Z_OK)
		add_base64(out, packed, size);
	free(packed);
	return rc == Z_OK ? 0
			  : error_set(err, ERROR_KIND_FAILED, -ENOMEM,
				      "cannot compress the data of the page: zlib: %s", zError(rc));
}

static void add_scripts(struct strbuf *out)
{
	strbuf_addstr(out, "(() => {\n'use strict';\n");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		strbuf_add(out, scripts[i].bytes, *scripts[i].size);
	strbuf_addstr(out, "})();\n");
}

/* What replaces the marks {{TITLE}}, {{HOTTEST}} and {{DATA}} of the page. */
struct content {
	const char *title;
	struct strbuf hottest; /* escaped */
	struct strbuf data;
};

static void add_mark(struct strbuf *out, const char *mark, const struct content *c)
{
	if (strncmp(mark, "{{TITLE}}", 9) == 0)
		export_add_xml(out, c->title);
	else if (strncmp(mark, "{{HOTTEST}}", 11) == 0)
		strbuf_add(out, c->hottest.buf, c->hottest.len);
	else if (strncmp(mark, "{{STYLE}}", 9) == 0)
		strbuf_add(out, asset_flame_css, asset_flame_css_size);
	else if (strncmp(mark, "{{SCRIPT}}", 10) == 0)
		add_scripts(out);
	else if (strncmp(mark, "{{DATA}}", 8) == 0)
		strbuf_add(out, c->data.buf, c->data.len);
}

static void add_page(struct strbuf *out, const struct content *c)
{
	const char *p = (const char *)asset_flame_html, *end = p + asset_flame_html_size, *mark;

	while ((mark = memmem(p, (size_t)(end - p), "{{", 2))) {
		strbuf_add(out, p, (size_t)(mark - p));
		p = mark + strcspn(mark, "}") + 2;
		add_mark(out, mark, c);
	}
	strbuf_add(out, p, (size_t)(end - p));
}

/* Writes the page, and frees JSON and content.  Fails with json_rc, the result of
 * html_data_of_*(). */
static int write_page(FILE *f, struct content *c, struct strbuf *json, int json_rc,
		      struct error *err)
{
	struct strbuf page = STRBUF_INIT;
	int rc = json_rc;

	if (rc)
		error_set(err, ERROR_KIND_FAILED, rc,
			  "cannot write HTML: a name is no valid UTF-8");
	else
		rc = add_packed(&c->data, json, err);
	if (!rc) {
		add_page(&page, c);
		fwrite(page.buf, 1, page.len, f);
		rc = export_finish(f, err);
	}
	strbuf_free(json);
	strbuf_free(&c->data);
	strbuf_free(&c->hottest);
	strbuf_free(&page);
	return rc;
}

int export_html(FILE *f, const struct snapshot *s, struct error *err)
{
	struct strbuf json = STRBUF_INIT;
	struct content c = {.hottest = STRBUF_INIT, .data = STRBUF_INIT};
	char *title =
		xasprintf("%s \xc2\xb7 %s \xc2\xb7 ebeam", export_meta(s, "node", "BEAM node"),
			  export_meta(s, "title", export_meta(s, "unit", "CPU")));
	int rc;

	c.title = title;
	for (uint32_t i = 0; i < MIN(s->nr_functions, HOTTEST); i++) {
		export_add_percent(&c.hottest, s->functions[i].self, s->samples, 2);
		strbuf_addstr(&c.hottest, " %  ");
		export_add_xml(&c.hottest, s->functions[i].name);
		strbuf_addch(&c.hottest, '\n');
	}
	rc = html_data_of_snapshot(&json, s);
	rc = write_page(f, &c, &json, rc, err);
	free(title);
	return rc;
}

int export_html_diff(FILE *f, const struct diff *d, struct error *err)
{
	struct strbuf json = STRBUF_INIT;
	struct content c = {.hottest = STRBUF_INIT, .data = STRBUF_INIT};
	char *title = xasprintf("%s \xc2\xb7 what changed \xc2\xb7 ebeam",
				export_meta(d->b, "node", "BEAM node"));
	int rc;

	c.title = title;
	for (uint32_t i = 0; i < MIN(d->nr_functions, HOTTEST); i++) {
		strbuf_addf(&c.hottest, "%+.2f points  ", d->functions[i].delta_self);
		export_add_xml(&c.hottest, d->functions[i].name);
		strbuf_addch(&c.hottest, '\n');
	}
	rc = html_data_of_diff(&json, d);
	rc = write_page(f, &c, &json, rc, err);
	free(title);
	return rc;
}
