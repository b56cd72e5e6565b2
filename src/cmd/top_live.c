/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `ebeam top` on a terminal: one loop over keys, steps, samples and the end of the node.  A reading
 * that takes long (a million processes) looks after keys meanwhile; see yield().
 */
#include "cmd/top.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/units.h"
#include "cmd/loop.h"
#include "cmd/render.h"
#include "cmd/signals.h"
#include "cmd/top_overlay.h"
#include "cmd/top_samples.h"
#include "view/terminal.h"
#include "view/top_keys.h"
#include "view/top_screen.h"

/* Of the loop: samples, messages. */
#define TICK_NS 100000000u
/* The second step, with the first rates, comes soon. */
#define SECOND_STEP_NS	300000000u
#define STEP_LONGEST_NS 60000000000u
/* Besides three steps: what takes longer was no reading. */
#define LONG_NS	     2000000000u
#define MESSAGE_NS   8000000000u
#define SUCCESSOR_NS 3000000000u

struct live_top {
	struct top *top;
	pthread_t thread; /* the one that draws */
	struct terminal *terminal;
	struct screen *screen;
	struct loop *loop;
	struct loop_alarm *alarm;	     /* of the next step */
	struct panel *panels[NR_TOP_PANELS]; /* NULL until it was shown */
	const char *tabs[NR_TOP_PANELS + 1];
	struct top_overlay *overlay;
	char message[512]; /* at the bottom; "" = none */
	uint64_t message_ns;
	uint64_t step_began_ns;
	unsigned int steps;  /* of this node */
	unsigned int frames; /* that were shown with their rates, of all nodes */
	uint64_t looked_ns;
	int successor;		      /* of the node that has exited; 0 = none yet */
	int wanted_node;	      /* pid of the one to look at instead; 0 = none */
	bool due;		      /* a step */
	enum top_events_state events; /* as it was seen last */
	bool stepping, paused, quit, dirty;
};

static void say(struct live_top *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct live_top *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->message, sizeof(l->message), fmt, ap);
	va_end(ap);
	l->message_ns = clock_monotonic_ns();
	l->dirty = true;
}

static int yield(void *arg, struct error *err);

/* Threads that place probes have nothing to say that is not told otherwise, too. */
static void take_log(void *arg, const char *line)
{
	struct live_top *l = arg;

	if (pthread_equal(l->thread, pthread_self()))
		say(l, "%s", line);
}

static struct panel *shown_panel(struct live_top *l)
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

/* ---- drawing ------------------------------------------------------------------------------ */

static struct top_view view_of(struct live_top *l, struct panel_source *source)
{
	top_panel_source(l->top, source);
	return (struct top_view){
		.frame = &l->top->frame,
		.tabs = l->tabs,
		.shown = l->top->shown,
		.panel = shown_panel(l),
		.source = source,
		.pager = top_overlay_pager(l->overlay),
		.tree = top_overlay_tree(l->overlay),
		.overlay_title = top_overlay_title(l->overlay),
		.message = l->message,
		.paused = l->paused,
		.step_s = (double)l->top->step_ns / 1e9,
	};
}

static void draw(struct live_top *l)
{
	struct panel_source source;
	struct top_view view = view_of(l, &source);

	top_screen_draw(l->screen, &view);
	terminal_show(l->terminal, l->screen);
	l->dirty = false;
}

/* ---- steps -------------------------------------------------------------------------------- */

/* The next one, and from then on all of them, on a grid: however long each takes. */
static void set_alarm(struct live_top *l)
{
	uint64_t first = l->top->step_ns;

	if (l->steps == 1 && l->top->node)
		first = MIN(first, SECOND_STEP_NS);
	loop_set_alarm(l->alarm, l->step_began_ns + first, l->top->step_ns);
}

/* One after the other. */
static void tell_warning(struct live_top *l)
{
	const char *text = l->message[0] ? NULL : top_next_warning(l->top);

	if (text)
		say(l, "%s", text);
}

/* What reading the node gave, all of it or the rows of a panel. */
static int has_read(struct live_top *l, int rc, struct error *err)
{
	if (rc != -ESRCH)
		return rc < 0 ? rc : l->quit;
	l->top->frame.state = TOP_EXITED;
	say(l, "the node (pid %d) has exited; q quits", l->top->frame.node.os_pid);
	*err = (struct error){0};
	return l->quit;
}

/* -n: of frames that say what happens, which that of the first reading does not.  -d of a capture:
 * all of that has been played. */
static bool is_last(const struct live_top *l)
{
	const struct options *o = &l->top->ctx->opt;

	return (o->limit && l->frames >= o->limit) ||
	       (!l->top->node && o->duration_ns && top_samples_ended(l->top->samples));
}

/* It was paused or stopped: rates would be means of all that time. */
static bool nobody_looked(const struct live_top *l)
{
	return l->top->node && l->top->read_ns &&
	       clock_monotonic_ns() - l->top->read_ns > 3 * l->top->step_ns + LONG_NS;
}

static int step(struct live_top *l, struct error *err)
{
	int rc;

	if (nobody_looked(l)) {
		top_forget_before(l->top);
		l->steps = 0;
	}
	l->stepping = true;
	l->due = false;
	l->step_began_ns = clock_monotonic_ns();
	top_panel_want(l->top, shown_panel(l));
	rc = top_step(l->top, err);
	l->stepping = false;
	l->steps++;
	l->frames += l->steps > 1 || !l->top->node;
	if (l->steps == 1)
		set_alarm(l);
	if (rc == 0 && l->overlay)
		top_overlay_refresh(l->overlay, l->top);
	rc = has_read(l, rc, err);
	tell_warning(l);
	draw(l);
	return rc ? rc : is_last(l);
}

/* The rows of a panel that was chosen since, once: paused or not. */
static int read_panel(struct live_top *l, struct error *err)
{
	int rc;

	if (l->stepping || l->top->frame.state == TOP_EXITED || !l->steps ||
	    top_panel_is_read(l->top))
		return 0;
	l->stepping = true;
	top_panel_want(l->top, shown_panel(l));
	rc = has_read(l, top_panel_read(l->top, err), err);
	l->stepping = false;
	l->dirty = true;
	return rc;
}

static int alarm_rings(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	if (l->paused || l->top->frame.state == TOP_EXITED ||
	    (!l->top->node && top_samples_ended(l->top->samples)))
		return 0;
	if (!l->stepping)
		return step(l, err);
	l->due = true; /* at once after the one that goes on */
	return 0;
}

/* The nodes of the host can be read when the one that was looked at is gone, too. */
static void read_nodes(struct live_top *l)
{
	struct error ignored = {0};

	if (top_panels[l->top->shown].rows != &node_rows || l->stepping)
		return;
	top_panel_read(l->top, &ignored);
	l->dirty = true;
}

/* Until somebody has its name again. */
static void look_for_successor(struct live_top *l)
{
	uint64_t now = clock_monotonic_ns();
	int pid;

	if (l->top->frame.state != TOP_EXITED || now - l->looked_ns < SUCCESSOR_NS)
		return;
	l->looked_ns = now;
	pid = top_successor(l->top);
	if (pid && pid != l->successor)
		say(l, "%s runs again, as pid %d: Enter in the panel of nodes looks at it",
		    l->top->frame.node.name, pid);
	l->successor = pid;
	read_nodes(l);
}

static int do_chosen(struct live_top *l, struct error *err);

/* Their probes come and go; what they tell, or why not, is to be seen at once. */
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
		say(l, "what the probes cost the node is not known, and not limited: %s",
		    top_events_unlimited(t->events));
}

static int tick(void *ctx, struct error *err)
{
	struct live_top *l = ctx;
	int rc;

	top_drain(l->top);
	tell_warning(l);
	if (l->message[0] && clock_monotonic_ns() - l->message_ns > MESSAGE_NS) {
		l->message[0] = '\0';
		l->dirty = true;
	}
	look_for_successor(l);
	watch_events(l);
	rc = l->due && !l->stepping ? alarm_rings(l, err) : do_chosen(l, err);
	if (l->dirty && rc == 0)
		draw(l);
	return rc;
}

/* ---- keys --------------------------------------------------------------------------------- */

static void show_panel(struct live_top *l, unsigned int panel)
{
	if (panel >= NR_TOP_PANELS || panel == l->top->shown)
		return;
	top_panel_show(l->top, panel);
	top_watch_events(l->top);
	if (l->top->frame.state != TOP_EXITED)
		return;
	if (!top_panel_is_read(l->top))
		snprintf(l->top->panel_error, sizeof(l->top->panel_error),
			 "not read: the node has exited");
	read_nodes(l);
}

static void set_step(struct live_top *l, bool slower)
{
	uint64_t ns = slower ? 2 * l->top->step_ns : l->top->step_ns / 2;

	if (ns < TICK_NS || ns > STEP_LONGEST_NS)
		return;
	l->top->step_ns = ns;
	set_alarm(l);
	say(l, "a reading each %.1f s", (double)ns / 1e9);
}

static int write_screen(FILE *f, const void *screen, struct error *err)
{
	(void)err;
	screen_write_text(screen, f);
	return 0;
}

static void save(struct live_top *l)
{
	const struct top_frame *f = &l->top->frame;
	struct error err = {0};
	char *path = render_save(f->node.name, f->epoch_ns, ".txt", write_screen, l->screen, &err);

	if (path)
		say(l, "saved: %s", path);
	else
		say(l, "%s", err.msg);
	free(path);
}

static void open_overlay(struct live_top *l, enum top_overlay_kind kind)
{
	struct panel_source source;
	struct error err = {0};
	const void *row;

	top_panel_source(l->top, &source);
	row = panel_selected(shown_panel(l), &source);
	top_overlay_close(l->overlay);
	if (top_overlay_open(&l->overlay, kind, l->top, row, &err) != 0)
		say(l, "%s", err.msg);
	else if (top_overlay_message(l->overlay)[0])
		say(l, "%s", top_overlay_message(l->overlay));
}

static void close_overlay(struct live_top *l)
{
	top_overlay_close(l->overlay);
	l->overlay = NULL;
}

/* To the node that is selected in the panel of nodes. */
static void choose_node(struct live_top *l)
{
	struct panel_source source;
	const void *row;
	int os_pid;

	top_panel_source(l->top, &source);
	row = panel_selected(shown_panel(l), &source);
	os_pid = row ? (int)source.id(row) : 0;
	if (os_pid && (os_pid != l->top->frame.node.os_pid || l->top->frame.state == TOP_EXITED))
		l->wanted_node = os_pid;
}

/* Its first frame stands before sampling starts, which takes a moment. */
static int change_node(struct live_top *l, struct error *err)
{
	int os_pid = l->wanted_node, rc;

	l->wanted_node = 0;
	if (top_change_node(l->top, os_pid, err) != 0) {
		say(l, "%s", err->msg);
		*err = (struct error){0};
		return 0;
	}
	l->steps = 0;
	l->successor = 0;
	l->paused = false;
	l->message[0] = '\0';
	show_panel(l, 0);
	rc = step(l, err);
	if (rc == 0 && l->top->frame.state != TOP_EXITED)
		top_start_samples(l->top);
	tell_warning(l);
	return rc;
}

/* What keys asked for, unless a reading goes on: then once it is done. */
static int do_chosen(struct live_top *l, struct error *err)
{
	if (l->wanted_node && !l->stepping)
		return change_node(l, err);
	return read_panel(l, err);
}

/* Keys that mean the same everywhere. */
static void act(struct live_top *l, enum top_action action, const struct terminal_key *key)
{
	switch (action) {
	case TOP_ACTION_QUIT:
		l->quit = true;
		break;
	case TOP_ACTION_HELP:
		open_overlay(l, TOP_OVERLAY_HELP);
		break;
	case TOP_ACTION_PANEL:
		show_panel(l, key->c - '1');
		break;
	case TOP_ACTION_NEXT_PANEL:
		show_panel(l, (l->top->shown + 1) % NR_TOP_PANELS);
		break;
	case TOP_ACTION_PREVIOUS_PANEL:
		show_panel(l, (l->top->shown + NR_TOP_PANELS - 1) % NR_TOP_PANELS);
		break;
	case TOP_ACTION_PAUSE:
		l->paused = !l->paused;
		l->due = !l->paused && clock_monotonic_ns() - l->step_began_ns >= l->top->step_ns;
		break;
	case TOP_ACTION_FASTER:
	case TOP_ACTION_SLOWER:
		set_step(l, action == TOP_ACTION_SLOWER);
		break;
	case TOP_ACTION_FLAME:
		open_overlay(l, TOP_OVERLAY_FLAME);
		break;
	case TOP_ACTION_SAVE:
		save(l);
		break;
	case TOP_ACTION_REDRAW:
		terminal_redraw(l->terminal);
		break;
	case TOP_ACTION_SUSPEND:
		terminal_suspend(l->terminal);
		break;
	default:
		break;
	}
}

static void take_key(struct live_top *l, const struct terminal_key *key);

/* On the name of a panel, or on a key in the line of keys. */
static bool click(struct live_top *l, const struct terminal_key *key)
{
	struct panel_source source;
	struct top_view view = view_of(l, &source);
	struct terminal_key typed;
	int tab;

	if (key->kind != TERMINAL_KEY_MOUSE || key->wheel)
		return false;
	tab = top_screen_tab_at(l->screen, &view, key->row, key->column);
	if (tab >= 0) {
		close_overlay(l);
		show_panel(l, (unsigned int)tab);
		return true;
	}
	if (!top_screen_key_at(l->screen, &view, key->row, key->column, &typed) ||
	    typed.kind == TERMINAL_KEY_MOUSE)
		return false;
	take_key(l, &typed);
	return true;
}

static void take_key(struct live_top *l, const struct terminal_key *key)
{
	struct panel_source source;
	unsigned int rows, columns;
	enum panel_result result;
	bool handled;

	l->dirty = true;
	if (key->kind == TERMINAL_KEY_RESIZE) {
		terminal_size(l->terminal, &rows, &columns);
		screen_resize(l->screen, rows, columns);
		return;
	}
	if (click(l, key))
		return;
	if (l->overlay) {
		if (top_overlay_key(l->overlay, key, &handled) == TOP_OVERLAY_CLOSED)
			close_overlay(l);
		else if (!handled)
			act(l, top_action(TOP_EVERYWHERE, key), key);
		return;
	}
	top_panel_source(l->top, &source);
	result = panel_key(shown_panel(l), key, &source);
	if (result == PANEL_OPEN && top_panels[l->top->shown].rows == &node_rows)
		choose_node(l);
	else if (result == PANEL_OPEN)
		open_overlay(l, TOP_OVERLAY_ROW);
	else if (result == PANEL_IGNORED)
		act(l, top_action(TOP_EVERYWHERE, key), key);
}

/*
 * In the middle of a reading, too: rows are written where they stand then, and only the end of it
 * takes some away (process_table_end()).  So they keep the order of the reading before, and a key
 * does not put a million rows in order again.
 */
static int keys(void *ctx, struct error *err)
{
	struct live_top *l = ctx;
	struct terminal_key key;
	int rc = 0;

	while (terminal_key(l->terminal, &key)) {
		if (key.kind == TERMINAL_KEY_GONE)
			l->quit = true;
		else
			take_key(l, &key);
	}
	if (l->dirty && !l->quit)
		draw(l);
	if (!l->quit)
		rc = do_chosen(l, err);
	if (l->dirty && !l->quit && rc == 0)
		draw(l);
	return rc ? rc : l->quit;
}

static int on_stop(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	terminal_suspend(l->terminal);
	l->dirty = true;
	return keys(l, err);
}

static int on_continue(void *ctx, struct error *err)
{
	struct live_top *l = ctx;

	terminal_resume(l->terminal);
	l->dirty = true;
	return keys(l, err);
}

/* In the middle of a reading. */
static int yield(void *arg, struct error *err)
{
	struct live_top *l = arg;

	return loop_poll(l->loop, err);
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* The first frame stands before sampling starts, which takes a moment. */
static int run(struct live_top *l, struct error *err)
{
	struct top *t = l->top;
	int rc = loop_open(&l->loop, err);

	if (rc)
		return rc;
	rc = loop_add_fd(l->loop, terminal_fd(l->terminal), keys, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGWINCH, keys, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGTSTP, on_stop, l, err);
	rc = rc ? rc : loop_add_signal(l->loop, SIGCONT, on_continue, l, err);
	if (rc == 0 && t->node && t->ctx->opt.duration_ns)
		rc = loop_set_deadline(l->loop, t->ctx->opt.duration_ns, err);
	rc = rc ? rc : loop_add_alarm(l->loop, &l->alarm, alarm_rings, l, err);
	rc = rc ? rc : step(l, err);
	if (rc == 0) {
		if (t->node)
			top_start_samples(t);
		tell_warning(l);
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
	t->processes.yield = yield;
	t->processes.arg = &l;
	rc = run(&l, err);
	t->processes.yield = NULL;
	terminal_close(l.terminal);
	signals_before_end(NULL);
	loop_close(l.loop); /* which lets in signals that may stop or end it */
	log_set_taker(NULL, NULL);
	if (rc == 0 && !t->node && t->samples && top_samples_ended(t->samples))
		rc = top_samples_warn(t->samples);
	if (t->frame.state == TOP_EXITED)
		log_warn("ebeam: the node (pid %d) has exited", t->frame.node.os_pid);
	close_overlay(&l);
	for (unsigned int i = 0; i < NR_TOP_PANELS; i++)
		panel_close(l.panels[i]);
	screen_close(l.screen);
	return rc;
}
