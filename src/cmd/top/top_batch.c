/* SPDX-License-Identifier: BSD-2-Clause */
/* `ebeam top -b` and -j: writes each frame as text or JSON; see top.h. */
#include "cmd/top/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cmd/command/loop.h"
#include "cmd/output/outfile.h"
#include "cmd/top/top_samples.h"
#include "view/top/top_screen.h"

/* Size of a frame without $LINES and $COLUMNS. */
#define BATCH_ROWS    40
#define BATCH_COLUMNS 132

#define DRAIN_NS 100000000u
/* How often the loop is polled while probes are being attached. */
#define WAIT_NS 50000000u

struct batch {
	struct top *top;
	struct screen *screen;
	struct panel *panel;
	const char *tabs[NR_TOP_PANELS + 1];
	unsigned int frames;
	bool picture; /* write only the last frame, as an SVG */
	unsigned int limit;
};

static void report_warnings(struct top *t)
{
	const char *text;

	while ((text = top_next_warning(t)))
		log_warn("ebeam: %s", text);
}

static int drain(void *ctx, struct error *err)
{
	struct batch *b = ctx;

	(void)err;
	top_drain(b->top);
	report_warnings(b->top);
	return 0;
}

static unsigned int from_environment(const char *name, unsigned int otherwise, unsigned int max)
{
	const char *text = getenv(name);
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n > 0 && n <= max ? (unsigned int)n : otherwise;
}

static void draw(struct batch *b)
{
	struct panel_source source;
	struct top_view view = {
		.frame = &b->top->frame,
		.tabs = b->tabs,
		.shown = b->top->shown,
		.panel = b->panel,
		.source = &source,
		.step_s = (double)b->top->step_ns / 1e9,
	};

	top_panel_source(b->top, &source);
	top_screen_draw(b->screen, &view);
	if (b->picture)
		return;
	if (b->frames)
		fputc('\n', b->top->ctx->out);
	screen_write_text(b->screen, b->top->ctx->out);
}

/* 1: the output cannot be written; the caller reports why. */
static int write_frame(struct batch *b, struct error *err)
{
	int rc = 0;

	if (b->top->ctx->opt.json)
		rc = top_json(b->top, err);
	else
		draw(b);
	if (rc)
		return rc;
	b->frames++;
	return outfile_flush(b->top->ctx->out) != 0;
}

static int step(void *ctx, struct error *err)
{
	struct batch *b = ctx;
	int rc = top_step(b->top, err);

	if (rc == -ESRCH)
		return 1; /* the node has exited; the loop will see it, too */
	rc = rc ? rc : write_frame(b, err);
	return rc ? rc : b->limit && b->frames >= b->limit;
}

/* Writes the last frame once more, in the state TOP_EXITED. */
static int write_exited(struct batch *b, struct error *err)
{
	struct top *t = b->top;
	int rc;

	log_warn("ebeam: the node (pid %d) has exited", t->node->os_pid);
	*err = (struct error){0};
	t->frame.state = TOP_EXITED;
	if (!t->frame.frames)
		return 0;
	t->reading++;
	rc = write_frame(b, err);
	return rc < 0 ? rc : 0;
}

/* Plays a capture, as fast as it can be read. */
static int play(struct batch *b, struct loop *loop, struct error *err)
{
	int rc = 0;

	while (rc == 0 && !top_samples_ended(b->top->samples)) {
		rc = step(b, err);
		rc = rc ? rc : loop_poll(loop, err); /* Ctrl-C */
	}
	return rc < 0 ? rc : top_samples_warn(b->top->samples);
}

/* Waits until the probes are attached, so that all frames have rates of events. */
static int wait_for_events(struct top *t, struct loop *loop, struct error *err)
{
	const char *why;
	int rc = 0;

	while (rc == 0 && !top_events_wait(t->events, WAIT_NS))
		rc = loop_poll(loop, err);
	if (rc)
		return rc;
	if (top_events_state(t->events) == TOP_EVENTS_FAILED) {
		*err = *top_events_error(t->events);
		return err->code;
	}
	why = top_events_unlimited(t->events);
	if (*why)
		log_warn("ebeam: the overhead of the probes is not known, and not limited: %s",
			 why);
	return 0;
}

static int run(struct batch *b, struct error *err)
{
	struct top *t = b->top;
	struct loop *loop;
	int rc = loop_open(&loop, err);

	if (rc)
		return rc;
	rc = t->node ? loop_watch_pid(loop, t->node->os_pid, err) : 0;
	if (rc == 0 && t->node && t->ctx->opt.duration_ns)
		rc = loop_set_deadline(loop, t->ctx->opt.duration_ns, err);
	if (!t->node) {
		rc = rc ? rc : play(b, loop, err);
		loop_close(loop);
		return rc;
	}
	/* A step that is not written: the rates of the first frame are computed against it. */
	rc = rc ? rc : top_step(t, err);
	if (rc == 0 && t->samples)
		rc = loop_add_timer(loop, DRAIN_NS, drain, b, err);
	if (rc == 0 && t->events)
		rc = wait_for_events(t, loop, err);
	rc = rc ? rc : loop_add_timer(loop, t->step_ns, step, b, err);
	rc = rc ? rc : loop_run(loop, err);
	loop_close(loop);
	if (rc == -ESRCH || rc == LOOP_END_EXITED || t->frame.state == TOP_EXITED)
		return write_exited(b, err);
	return rc < 0 ? rc : 0;
}

static bool is_picture(const struct options *o)
{
	size_t len = o->output ? strlen(o->output) : 0;

	if (o->format)
		return strcmp(o->format, "svg") == 0;
	return !o->json && len > 4 && strcmp(o->output + len - 4, ".svg") == 0;
}

/* Writes the last frame as an SVG; an error if there was none. */
static int write_picture(struct batch *b, struct error *err)
{
	if (!b->frames)
		return error_set(err, ERROR_KIND_FAILED, -ENODATA,
				 "there was no frame to make a picture of");
	screen_write_svg(b->screen, b->top->ctx->out);
	return 0;
}

/* Writes all to standard output, or to a file.  Positive = an exit code. */
static int write_all(struct batch *b, struct error *err)
{
	struct command_context *ctx = b->top->ctx;
	FILE *standard = ctx->out;
	struct outfile *file = NULL;
	int rc = 0, committed;

	if (ctx->opt.output)
		rc = outfile_open(&file, ctx->opt.output, OUTFILE_WHOLE, ctx->out, err);
	if (rc)
		return rc;
	if (file)
		ctx->out = outfile_file(file);
	rc = run(b, err);
	if (rc >= 0 && b->picture) {
		committed = write_picture(b, err);
		rc = committed ? committed : rc;
	}
	ctx->out = standard;
	if (rc >= 0 && file) {
		committed = outfile_commit(&file, err);
		return committed ? committed : rc;
	}
	outfile_abort(&file);
	return rc;
}

int top_batch(struct top *t, struct error *err)
{
	const struct top_panel *p = &top_panels[t->shown];
	const struct options *o = &t->ctx->opt;
	struct batch b = {.top = t, .picture = is_picture(o), .limit = o->limit};
	int rc;

	if (b.picture && !b.limit && !o->duration_ns && t->node)
		b.limit = 1;
	if (t->node)
		top_start_samples(t);
	report_warnings(t);
	screen_open(&b.screen, from_environment("LINES", BATCH_ROWS, SCREEN_MAX_ROWS),
		    from_environment("COLUMNS", BATCH_COLUMNS, SCREEN_MAX_COLUMNS));
	panel_open(&b.panel, o->columns ? o->columns : p->columns, o->sort ? o->sort : p->sort);
	for (unsigned int i = 0; i < NR_TOP_PANELS; i++)
		b.tabs[i] = top_panels[i].title;
	if (t->node)
		top_panel_want(t, b.panel);
	rc = write_all(&b, err);
	panel_close(b.panel);
	screen_close(b.screen);
	return rc;
}
