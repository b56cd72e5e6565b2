/* SPDX-License-Identifier: BSD-2-Clause */
/* See render.h. */
#include "cmd/output/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "cmd/command/options.h"
#include "event/event.h"
#include "view/table/hot.h"

#define TEXT_SUFFIX    ".txt"
#define CAPTURE_SUFFIX ".ebeam"

/* ---- format and name ---------------------------------------------------------------------- */

static bool can_export(const struct command *command, const struct exporter *e)
{
	if (e->timeline)
		return command->formats & FORMATS_TIMELINE;
	if (command->formats & FORMATS_PAGE)
		return strcmp(e->name, "html") == 0 || strcmp(e->name, "json") == 0;
	return (command->formats & FORMATS_EXPORT) ||
	       ((command->formats & FORMATS_DIFF) && e->write_diff);
}

void render_formats(struct strbuf *out, const struct command *command)
{
	for (const struct exporter *e = exporters; e->name; e++)
		if (can_export(command, e))
			strbuf_addf(out, " %s", e->name);
	if (command->formats & FORMATS_TEXT)
		strbuf_addstr(out, " text");
	if (command->formats & FORMATS_CAPTURE)
		strbuf_addstr(out, " capture");
}

static int unknown_format(const struct command *command, const char *format, struct error *err)
{
	bool known = exporter_find(format) || strcmp(format, "text") == 0 ||
		     strcmp(format, "capture") == 0;
	struct strbuf all = STRBUF_INIT;

	render_formats(&all, command);
	if (known)
		error_set(err, ERROR_KIND_USAGE, -EINVAL, "'%s' cannot write %s; formats are%s",
			  command->name, format, all.buf);
	else
		error_set(err, ERROR_KIND_USAGE, -EINVAL, "unknown format '%s'; formats are%s",
			  format, all.buf);
	strbuf_free(&all);
	return -EINVAL;
}

static int set_format(struct render *r, const struct command *command, const char *format,
		      struct error *err)
{
	const struct exporter *e = exporter_find(format);

	r->text = strcmp(format, "text") == 0 && (command->formats & FORMATS_TEXT);
	r->capture = strcmp(format, "capture") == 0 && (command->formats & FORMATS_CAPTURE);
	if (e && can_export(command, e))
		r->exporter = e;
	r->timeline = r->exporter && r->exporter->timeline;
	if (!r->text && !r->capture && !r->exporter)
		return unknown_format(command, format, err);
	r->format = r->exporter ? e->name : r->text ? "text" : "capture";
	return 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* Name of the format by the suffix of a path; NULL = none. */
static const char *format_of(const char *path)
{
	const struct exporter *e = exporter_by_suffix(path);

	if (e)
		return e->name;
	if (ends_with(path, CAPTURE_SUFFIX))
		return "capture";
	return ends_with(path, TEXT_SUFFIX) ? "text" : NULL;
}

/* Formats that are read on a terminal, or piped into another program. */
static bool goes_to_stdout(const struct render *r)
{
	return r->text || strcmp(r->format, "folded") == 0 || strcmp(r->format, "json") == 0;
}

/* --capture must be a second file beside the output of another format. */
static int check_capture(const struct render *r, const struct options *opt, struct error *err)
{
	if (!opt->capture)
		return 0;
	if (r->capture)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--capture writes a capture beside another format; with --format "
				 "capture, name the file with -o instead");
	if (r->path && strcmp(r->path, opt->capture) == 0)
		return error_set(
			err, ERROR_KIND_USAGE, -EINVAL,
			"--capture and the %s cannot both go to %s; choose another file with -o",
			r->format, strcmp(r->path, "-") == 0 ? "standard output" : r->path);
	return 0;
}

int render_choose(struct render *r, const struct command *command, const struct options *opt,
		  struct error *err)
{
	const char *format = opt->format;
	int rc;

	memset(r, 0, sizeof(*r));
	if (opt->json && format && strcmp(format, "json") != 0)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--json and --format %s contradict each other", format);
	if (!format && opt->json)
		format = "json";
	if (!format && opt->output && strcmp(opt->output, "-") != 0) {
		format = format_of(opt->output);
		if (!format)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 "the format does not follow from the name '%s'; give -f "
					 "too, or a suffix such as .html, .svg or .folded",
					 opt->output);
	}
	rc = set_format(r, command, format ? format : "html", err);
	if (rc)
		return rc;
	if (opt->output)
		r->path = xstrdup(opt->output);
	else if (goes_to_stdout(r))
		r->path = xstrdup("-");
	else
		r->chosen = true;
	rc = check_capture(r, opt, err);
	if (rc)
		render_free(r);
	return rc;
}

void render_name(struct render *r, const char *stem)
{
	if (r->chosen && !r->path)
		r->path =
			xasprintf("%s%s", stem, r->exporter ? r->exporter->suffix : CAPTURE_SUFFIX);
}

void render_free(struct render *r)
{
	free(r->path);
	r->path = NULL;
}

size_t render_bare_len(const char *path)
{
	const char *base = strrchr(path, '/'), *end;

	base = base ? base + 1 : path;
	end = strstr(base, CAPTURE_SUFFIX);
	if (!end || end == base ||
	    (end[strlen(CAPTURE_SUFFIX)] && end[strlen(CAPTURE_SUFFIX)] != '.'))
		return strlen(path);
	return (size_t)(end - path);
}

char *render_stem(const char *node, uint64_t epoch_ns)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789@._-";
	time_t seconds = (time_t)(epoch_ns / 1000000000u);
	char name[128], when[32];
	struct tm tm;
	size_t i;

	for (i = 0; node[i] && i < sizeof(name) - 1; i++)
		name[i] = strchr(plain, node[i]) ? node[i] : '_';
	name[i] = '\0';
	if (!localtime_r(&seconds, &tm) || !strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm))
		snprintf(when, sizeof(when), "%llu", (unsigned long long)seconds);
	return xasprintf("ebeam-%s-%s", name, when);
}

char *render_save(const char *node, uint64_t epoch_ns, const char *suffix,
		  int (*write)(FILE *f, const void *what, struct error *err), const void *what,
		  struct error *err)
{
	char *stem = render_stem(node, epoch_ns);
	char *path = xasprintf("%s%s", stem, suffix);
	struct outfile *out;
	int rc = outfile_open(&out, path, OUTFILE_WHOLE, NULL, err);

	free(stem);
	if (rc == 0) {
		rc = write(outfile_file(out), what, err);
		if (rc == 0)
			rc = outfile_commit(&out, err);
		else
			outfile_abort(&out);
	}
	if (rc == 0)
		return path;
	free(path);
	return NULL;
}

/* ---- writing ------------------------------------------------------------------------------ */

struct snapshot_options render_snapshot_options(const struct render *r, const struct options *opt,
						const struct weight_mode *mode)
{
	return (struct snapshot_options){
		.by = opt->by,
		.lines = opt->lines || (r->exporter && r->exporter->wants_lines),
		.native = opt->no_native ? SNAPSHOT_NATIVE_NONE : opt->native,
		.no_kernel = opt->no_kernel,
		.idle = opt->idle,
		/* Modes that sample memory, or threads off CPUs, add up times of several states: a
		 * root frame for each keeps them apart. */
		.kind_root = opt->kinds || (mode && (weight_mode_reads_memory(mode) ||
						     weight_mode_is_off_cpu(mode))),
	};
}

bool render_color(const struct options *opt, FILE *f)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (opt->color != COLOR_AUTO)
		return opt->color == COLOR_ALWAYS;
	return !(no_color && *no_color) && term && strcmp(term, "dumb") != 0 && isatty(fileno(f));
}

unsigned int render_width(FILE *f)
{
	struct winsize size;

	return ioctl(fileno(f), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct table_options render_table_options(const struct command_context *ctx, const char *sort)
{
	const struct options *opt = &ctx->opt;

	return (struct table_options){.columns = opt->columns,
				      .sort = opt->sort ? opt->sort : sort,
				      .limit = opt->limit,
				      .color = render_color(opt, ctx->out)};
}

int render_emit(const struct render *r, const struct options *opt, const struct snapshot *s,
		FILE *f, struct error *err)
{
	struct hot_options hot = {.limit = opt->limit,
				  .color = render_color(opt, f),
				  .symbol_source = opt->symbol_source};

	if (r->text)
		return hot_write(f, s, &hot, err);
	return r->exporter->write(f, s, err);
}

int render_emit_diff(const struct render *r, const struct options *opt, const struct diff *d,
		     FILE *f, struct error *err)
{
	struct hot_options hot = {.limit = opt->limit, .color = render_color(opt, f)};

	if (r->text)
		return hot_write_diff(f, d, &hot, err);
	return r->exporter->write_diff(f, d, err);
}

int render_open(struct outfile **o, const struct render *r, FILE *out, struct error *err)
{
	return outfile_open(o, r->path, OUTFILE_WHOLE, out, err);
}

int render_finish(struct outfile **o, const struct render *r, const struct options *opt,
		  const struct snapshot *s, const struct diff *d, FILE *out, struct error *err)
{
	int rc;

	if (s)
		rc = render_emit(r, opt, s, outfile_file(*o), err);
	else
		rc = render_emit_diff(r, opt, d, outfile_file(*o), err);
	if (rc) {
		error_prefix(err, "%s", strcmp(r->path, "-") ? r->path : "standard output");
		outfile_abort(o);
		return rc;
	}
	rc = outfile_commit(o, err);
	if (!rc && r->chosen)
		fprintf(out, "%s\n", r->path);
	return rc;
}

int render_write(const struct render *r, const struct options *opt, const struct snapshot *s,
		 const struct diff *d, FILE *out, struct error *err)
{
	struct outfile *o;
	int rc = render_open(&o, r, out, err);

	return rc ? rc : render_finish(&o, r, opt, s, d, out, err);
}
