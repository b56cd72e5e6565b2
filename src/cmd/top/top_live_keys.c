/* SPDX-License-Identifier: BSD-2-Clause */
/* What keys and the mouse do to `ebeam top` on a terminal; see top_live.h. */
#include <stdlib.h>

#include "base/units.h"
#include "cmd/output/render.h"
#include "cmd/top/top_live.h"
#include "view/top/top_keys.h"

#define STEP_LONGEST_NS 60000000000u

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
	live_top_read_nodes(l);
}

static void set_step(struct live_top *l, bool slower)
{
	uint64_t ns = slower ? 2 * l->top->step_ns : l->top->step_ns / 2;

	if (ns < TOP_LIVE_STEP_MIN_NS || ns > STEP_LONGEST_NS)
		return;
	l->top->step_ns = ns;
	live_top_set_alarm(l);
	live_top_say(l, "the node is read every %.1f s", (double)ns / 1e9);
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
		live_top_say(l, "saved: %s", path);
	else
		live_top_say(l, "%s", err.msg);
	free(path);
}

static void open_overlay(struct live_top *l, enum top_overlay_kind kind)
{
	struct panel_source source;
	struct error err = {0};
	const void *row;

	top_panel_source(l->top, &source);
	/* A flame graph is of the node, unless the user chose the row of a process. */
	row = kind == TOP_OVERLAY_FLAME ? panel_chosen(live_top_panel(l), &source)
					: panel_selected(live_top_panel(l), &source);
	top_overlay_close(l->overlay);
	if (top_overlay_open(&l->overlay, kind, l->top, row, &err) != 0)
		live_top_say(l, "%s", err.msg);
	else if (top_overlay_message(l->overlay)[0])
		live_top_say(l, "%s", top_overlay_message(l->overlay));
}

void live_top_close_overlay(struct live_top *l)
{
	top_overlay_close(l->overlay);
	l->overlay = NULL;
}

/* Changes to the node that is selected in the panel of nodes, with live_top_do_chosen(). */
static void choose_node(struct live_top *l)
{
	struct panel_source source;
	const void *row;
	int os_pid;

	top_panel_source(l->top, &source);
	row = panel_selected(live_top_panel(l), &source);
	os_pid = row ? (int)source.id(row) : 0;
	if (os_pid && (os_pid != l->top->frame.node.os_pid || l->top->frame.state == TOP_EXITED))
		l->wanted_node = os_pid;
}

/* Draws the first frame of the new node before sampling starts, as that takes a moment. */
static int change_node(struct live_top *l, struct error *err)
{
	int os_pid = l->wanted_node, rc;

	l->wanted_node = 0;
	l->top->events_end = false;
	if (top_change_node(l->top, os_pid, err) != 0) {
		live_top_say(l, "%s", err->msg);
		*err = (struct error){0};
		return 0;
	}
	l->steps = 0;
	l->successor = 0;
	l->message[0] = '\0';
	show_panel(l, 0);
	rc = live_top_step(l, err);
	if (rc == 0 && l->top->frame.state != TOP_EXITED)
		top_start_samples(l->top);
	live_top_report_warning(l);
	return rc;
}

int live_top_do_chosen(struct live_top *l, struct error *err)
{
	bool asked = l->top->events_end;

	if (!l->wanted_node || l->stepping)
		return live_top_read_panel(l, err);
	if (top_end_events(l->top))
		return change_node(l, err);
	if (!asked)
		live_top_say(l, "detaching probes ...");
	return 0;
}

/* Handles keys that mean the same in all panels and overlays. */
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
		l->top->paused = !l->top->paused;
		l->due = !l->top->paused &&
			 clock_monotonic_ns() - l->step_began_ns >= l->top->step_ns;
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

/* Handles a click on the name of a panel, or on a key in the line of keys; false = it was none. */
static bool click(struct live_top *l, const struct terminal_key *key)
{
	struct panel_source source;
	struct top_view view = live_top_view(l, &source);
	struct terminal_key typed;
	int tab;

	if (key->kind != TERMINAL_KEY_MOUSE || key->wheel)
		return false;
	tab = top_screen_tab_at(l->screen, &view, key->row, key->column);
	if (tab >= 0) {
		live_top_close_overlay(l);
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
			live_top_close_overlay(l);
		else if (!handled)
			act(l, top_action(TOP_EVERYWHERE, key), key);
		return;
	}
	top_panel_source(l->top, &source);
	result = panel_key(live_top_panel(l), key, &source);
	if (result == PANEL_OPEN && top_panels[l->top->shown].rows == &node_rows)
		choose_node(l);
	else if (result == PANEL_OPEN)
		open_overlay(l, TOP_OVERLAY_ROW);
	else if (result == PANEL_IGNORED)
		act(l, top_action(TOP_EVERYWHERE, key), key);
}

/*
 * Also called in the middle of a reading, which updates rows in place: only its end removes rows
 * (process_table_end()).  So the order of the last reading is still valid, and a key does not sort
 * a million rows again.
 */
int live_top_keys(void *ctx, struct error *err)
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
		live_top_draw(l);
	if (!l->quit)
		rc = live_top_do_chosen(l, err);
	if (l->dirty && !l->quit && rc == 0)
		live_top_draw(l);
	return rc ? rc : l->quit;
}
