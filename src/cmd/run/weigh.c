/* SPDX-License-Identifier: BSD-2-Clause */
/* See weigh.h. */
#include "cmd/run/weigh.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "beam/vm/facts.h"

/* The start of the output's name.  Output made from a capture is put beside the capture, as with
 * `report`. */
static int stem_of(struct weigh *w, struct event_run *run, char **stem, struct error *err)
{
	const char *input = w->ctx->opt.input;
	struct beam_facts facts;
	int rc = 0;

	if (input && strcmp(input, "-") != 0)
		*stem = xstrndup(input, render_bare_len(input));
	else if (input)
		*stem = render_stem("capture", event_run_stream(run)->start_epoch_ns);
	else
		rc = beam_node_facts(event_run_node(run), &facts, err);
	if (rc == 0 && !input)
		*stem = render_stem(facts.name, event_run_start_epoch_ns(run));
	return rc;
}

int weigh_name(struct weigh *w, struct event_run *run, const char **capture, struct error *err)
{
	struct render *r = w->render;
	char *stem = NULL;
	int rc = stem_of(w, run, &stem, err);

	if (rc)
		return rc;
	render_name(r, stem);
	free(stem);
	*capture = r->capture ? r->path : w->ctx->opt.capture;
	return 0;
}

int weigh_open(struct weigh *w, struct event_run *run, struct error *err)
{
	w->profile = event_profile_open(event_run_stream(run), w->mode);
	return w->render->capture ? 0 : render_open(&w->output, w->render, w->ctx->out, err);
}

void weigh_other(struct weigh *w, const struct event *ev)
{
	if (w->profile)
		event_profile_other(w->profile, ev);
}

void weigh_event(struct weigh *w, enum event_kind kind, const struct event *ev)
{
	if (w->profile)
		event_profile_event(w->profile, kind, ev);
}

int weigh_finish(struct weigh *w, struct error *err)
{
	struct snapshot_options options;
	struct snapshot *s = NULL;
	int rc;

	event_profile_finish(w->profile);
	w->mode = event_profile_mode(w->profile);
	options = render_snapshot_options(w->render, &w->ctx->opt, w->mode);
	rc = profile_snapshot(event_profile_profile(w->profile), &options, &s, err);
	if (rc)
		return rc;
	if (!w->render->capture)
		rc = render_finish(&w->output, w->render, &w->ctx->opt, s, NULL, w->ctx->out, err);
	else if (w->render->chosen)
		fprintf(w->ctx->out, "%s\n", w->render->path);
	if (rc == 0) {
		summary_of_snapshot(&w->summary, s);
		summary_advise(&w->summary);
		/* The texts of the snapshot are freed with it. */
		w->summary.unit = w->mode ? w->mode->unit : NULL;
		w->summary.title = w->mode ? w->mode->title : NULL;
		w->summary.warnings = NULL;
	}
	snapshot_close(s);
	return rc;
}

void weigh_closing(const struct weigh *w, struct strbuf *line)
{
	struct summary summary = w->summary;

	summary.no_losses = true;
	strbuf_addstr(line, "  ");
	summary_format(line, &summary);
	if (strcmp(w->render->path, "-") != 0)
		strbuf_addf(line, "  -> %s", w->render->path);
}

void weigh_close(struct weigh *w)
{
	outfile_abort(&w->output);
	event_profile_close(w->profile);
	w->profile = NULL;
}
