/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam top` on a terminal: one loop for keys, steps, samples and the end of the node.  During a
 * long reading (a million processes) keys are handled by yield().
 */
#include "cmd/top/top_live.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/command/signals.h"
#include "cmd/output/render.h"
#include "cmd/top/top_samples.h"

/* How often samples are drained, and messages and probes checked. */
#define TICK_NS TOP_LIVE_STEP_MIN_NS
/* The second step, which has the first rates, comes early. */
#define SECOND_STEP_NS 300000000u
/* More than three steps and this between two readings means a pause, not a long reading. */
#define LONG_NS	     2000000000u
#define MESSAGE_NS   8000000000u
#define SUCCESSOR_NS 3000000000u

void live_top_say(struct live_top *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->message, sizeof(l->message), fmt, ap);
	va_end(ap);
	l->message_ns = clock_monotonic_ns();
	l->dirty = true;
}

static int yield(void *arg, struct error *err);

/* Shows log lines of the main thread; those of other threads are shown otherwise. */
static void take_log(void *arg, const char *line)
{
	struct live_top *l = arg;

	if (pthread_equal(l->thread, pthread_self()))
		live_top_say(l, "%s", line);
}

struct panel *live_top_panel(struct live_top *l)
{
	const struct top_panel *p = &top_panels[l->top->shown];
	const struct options *o = &l->top->ctx->opt;
	bool first = true;

	for (unsigned int i = 0; i < NR_TOP_PANELS; i++)
		first = first && !l->panels[i];
	if (!l->panels[l->top->shown])
		panel_open(&l->panels[l->top->shown], first && o->columns ? o->columns : p->columns,
			   first && o->sort ? o->sort : p->sort);
	return l->panels[l->top->shown];
}

/* ---- drawing --------------------------------------------------------------------------------- */

struct top_view live_top_view(struct live_top *l, struct panel_source *source)
{
	top_panel_source(l->top, source);
	return (struct top_view){
		.frame = &l->top->frame,
		.tabs = l->tabs,
		.shown = l->top->shown,
		.panel = live_top_panel(l),
		.source = source,
		.pager = top_overlay_pager(l->overlay),
		.tree = top_overlay_tree(l->overlay),
		.overlay_title = top_overlay_title(l->overlay),
		.message = l->message,
		.paused = l->top->paused,
		.step_s = (double)l->top->step_ns / 1e9,
	};
}

void live_top_draw(struct live_top *l)
{
	struct panel_source source;
	struct top_view view = live_top_view(l, &source);

	top_screen_draw(l->screen, &view);
	terminal_show(l->terminal, l->screen);
	l->dirty = false;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void live_top_set_alarm(struct live_top *l)
{
	uint64_t first = l->top->step_ns;

	if (l->steps == 1 && l->top->node)
		first = MIN(first, SECOND_STEP_NS);
	loop_set_alarm(l->alarm, l->step_began_ns + first, l->top->step_ns);
}

void live_top_report_warning(struct live_top *l)
{
	const char *text = l->message[0] ? NULL : top_next_warning(l->top);

	if (text)
		live_top_say(l, "%s", text);
}

/* Handles the result of a step or of the reading of a panel: shows that the node has exited. */
static int has_read(struct live_top *l, int rc, struct error *err)
{
	if (rc != -ESRCH)
		return rc < 0 ? rc : l->quit;
	l->top->frame.state = TOP_EXITED;
	live_top_say(l, "the node (pid %d) has exited; q quits", l->top->frame.node.os_pid);
	*err = (struct error){0};
	return l->quit;
}

/* Is the frame that was just drawn the last one?  -n counts frames with rates, which the first one
 * has not.  -d of a capture is over when that much has been played. */
static bool is_last(const struct live_top *l)
{
	const struct options *o = &l->top->ctx->opt;

	return (o->limit && l->frames >= o->limit) ||
	       (!l->top->node && o->duration_ns && top_samples_ended(l->top->samples));
}

/* Was there a pause (of the user, or SIGTSTP), over all of which rates would be averages? */
static bool was_not_shown(const struct live_top *l)
{
	return l->top->node && l->top->read_ns &&
	       clock_monotonic_ns() - l->top->read_ns > 3 * l->top->step_ns + LONG_NS;
}

int live_top_step(struct live_top *l, struct error *err)
{
	int rc;

	if (was_not_shown(l)) {
		top_forget_before(l->top);
		l->steps = 0;
	}
	l->stepping = true;
	l->due = false;
	l->step_began_ns = clock_monotonic_ns();
	top_panel_want(l->top, live_top_panel(l));
	rc = top_step(l->top, err);
	l->stepping = false;
	l->steps++;
	l->frames += l->steps > 1 || !l->top->node;
	if (l->steps == 1)
		live_top_set_alarm(l);
	if (rc == 0 && l->overlay)
		top_overlay_refresh(l->overlay, l->top);
	rc = has_read(l, rc, err);
	live_top_report_warning(l);
	live_top_draw(l);
	return rc ? rc : is_last(l);
}

int live_top_read_panel(struct live_top *l, struct error *err)
{
	int rc;

	if (l->stepping || l->top->frame.state == TOP_EXITED || !l->steps ||
	    top_panel_is_read(l->top))
		return 0;
	l->stepping = true;
	top_panel_want(l->top, live_top_panel(l));
	rc = has_read(l, top_panel_read(l->top, err), err);
	l->stepping = false;
	l->dirty = true;
	return rc;
}

static int alarm_rings(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	if (l->top->paused || l->top->frame.state == TOP_EXITED ||
	    (!l->top->node && top_samples_ended(l->top->samples)))
		return 0;
	if (!l->stepping)
		return live_top_step(l, err);
	l->due = true; /* right after the step under way */
	return 0;
}

void live_top_read_nodes(struct live_top *l)
{
	struct error ignored = {0};

	if (top_panels[l->top->shown].rows != &node_rows || l->stepping)
		return;
	top_panel_read(l->top, &ignored);
	l->dirty = true;
}

/* After the node has exited: searches for a node with its name, now and then. */
static void find_successor(struct live_top *l)
{
	uint64_t now = clock_monotonic_ns();
	int pid;

	if (l->top->frame.state != TOP_EXITED || now - l->successor_ns < SUCCESSOR_NS)
		return;
	l->successor_ns = now;
	pid = top_successor(l->top);
	if (pid && pid != l->successor)
		live_top_say(l,
			     "%s runs again, as pid %d: choose it in the panel of nodes (8, Enter)",
			     l->top->frame.node.name, pid);
	l->successor = pid;
	live_top_read_nodes(l);
}

/* Attaches or detaches the probes of events, and draws at once when their state has changed. */
static void watch_events(struct live_top *l)
{
	struct top *t = l->top;
	enum top_events_state before = l->events;

	top_watch_events(t);
	l->events = t->events ? top_events_state(t->events) : TOP_EVENTS_OFF;
	if (l->events == before)
		return;
	l->dirty = true;
	t->reading++;
	if (l->events == TOP_EVENTS_ON && top_events_unlimited(t->events)[0])
		live_top_say(l, "the overhead of the probes is not known, and not limited: %s",
			     top_events_unlimited(t->events));
}

static int tick(void *ctx, struct error *err)
{
	struct live_top *l = ctx;
	int rc;

	top_drain(l->top);
	live_top_report_warning(l);
	if (l->message[0] && clock_monotonic_ns() - l->message_ns > MESSAGE_NS) {
		l->message[0] = '\0';
		l->dirty = true;
	}
	find_successor(l);
	watch_events(l);
	rc = l->due && !l->stepping ? alarm_rings(l, err) : live_top_do_chosen(l, err);
	if (l->dirty && rc == 0)
		live_top_draw(l);
	return rc;
}

/* ---- signals --------------------------------------------------------------------------------- */

static int on_stop(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	terminal_suspend(l->terminal);
	l->dirty = true;
	return live_top_keys(l, err);
}

static int on_continue(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	terminal_resume(l->terminal);
	l->dirty = true;
	return live_top_keys(l, err);
}

/* Called in the middle of a long reading: handles keys. */
static int yield(void *arg, struct error *err)
{
	struct live_top *l = arg;

	return loop_poll(l->loop, err);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The first frame is drawn before sampling starts, as that takes a moment. */
static int run(struct live_top *l, struct error *err)
{
	struct top *t = l->top;
	int rc = loop_open(&l->loop, err);

	if (rc)
		return rc;
	rc = loop_add_fd(l->loop, terminal_fd(l->terminal), live_top_keys, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGWINCH, live_top_keys, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGTSTP, on_stop, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGCONT, on_continue, l, err);
	if (rc == 0 && t->node && t->ctx->opt.duration_ns)
		rc = loop_set_deadline(l->loop, t->ctx->opt.duration_ns, err);
	rc = rc ? rc : loop_add_alarm(l->loop, &l->alarm, alarm_rings, l, err);
	rc = rc ? rc : live_top_step(l, err);
	if (rc == 0) {
		if (t->node)
			top_start_samples(t);
		live_top_report_warning(l);
		rc = loop_add_timer(l->loop, TICK_NS, tick, l, err);
	}
	rc = rc ? rc : loop_run(l->loop, err);
	return rc < 0 ? rc : 0;
}

int top_live(struct top *t, struct error *err)
{
	struct terminal_options options = {.fd = fileno(t->ctx->out),
					   .color = render_color(&t->ctx->opt, t->ctx->out),
					   .mouse = true};
	struct live_top l = {.top = t, .thread = pthread_self()};
	unsigned int rows, columns;
	int rc = terminal_open(&l.terminal, &options, err);

	if (rc)
		return rc;
	terminal_size(l.terminal, &rows, &columns);
	screen_open(&l.screen, rows, columns);
	screen_set_utf8(l.screen, terminal_utf8(l.terminal));
	screen_set_color(l.screen, terminal_color(l.terminal));
	for (unsigned int i = 0; i < NR_TOP_PANELS; i++)
		l.tabs[i] = top_panels[i].title;
	signals_before_end(terminal_restore);
	log_set_taker(take_log, &l);
	t->screen = true;
	t->processes.yield = yield;
	t->processes.arg = &l;
	rc = run(&l, err);
	t->processes.yield = NULL;
	terminal_close(l.terminal);
	signals_before_end(NULL);
	loop_close(l.loop); /* unblocks signals that may stop or end the process */
	log_set_taker(NULL, NULL);
	if (rc == 0 && !t->node && t->samples && top_samples_ended(t->samples))
		rc = top_samples_warn(t->samples);
	if (t->frame.state == TOP_EXITED)
		log_warn("ebeam: the node (pid %d) has exited", t->frame.node.os_pid);
	live_top_close_overlay(&l);
	for (unsigned int i = 0; i < NR_TOP_PANELS; i++)
		panel_close(l.panels[i]);
	screen_close(l.screen);
	return rc;
}
