/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * speedscope's file format: shared frames, and one "sampled" profile whose samples are stacks of
 * frame indices (root first) with weights.  The unit is "none" if weights are numbers of samples.
 * Samples are in the order of the snapshot, not of time, which the profile's name says: only
 * speedscope's views "left heavy" and "sandwich" are meaningful.
 */
#include "export/formats.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

static json_t *make_frame(const struct snap_frame *fr)
{
	json_t *o = json_pack("{s:s}", "name", fr->name);

	if (fr->file && json_object_set_new(o, "file", json_string(fr->file)) != 0) {
		json_decref(o);
		return NULL;
	}
	if (fr->file && fr->line)
		json_object_set_new(o, "line", json_integer((json_int_t)fr->line));
	return o;
}

/* Fills shared.frames, and index[], an integer object per frame that the stacks share. */
static int add_frames(json_t *frames, json_t **index, const struct snapshot *s)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		bad |= json_array_append_new(frames, make_frame(&s->frames[i]));
		index[i] = json_integer((json_int_t)i);
	}
	return bad;
}

static int add_stacks(json_t *samples, json_t *weights, json_t *const *index,
		      const struct snapshot *s)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->nr_stacks; i++) {
		const struct snap_stack *st = &s->stacks[i];
		json_t *stack = json_array();

		for (uint32_t j = 0; j < st->nr_frames; j++)
			bad |= json_array_append(stack,
						 index[s->stack_frames[st->first_frame + j]]);
		bad |= json_array_append_new(samples, stack);
		bad |= json_array_append_new(weights, json_integer((json_int_t)st->count));
	}
	return bad;
}

/* The unit in terms of the format. */
static const char *unit_of(const char *unit)
{
	if (strcmp(unit, "ns") == 0)
		return "nanoseconds";
	return strcmp(unit, "bytes") == 0 ? "bytes" : "none";
}

int export_speedscope(FILE *f, const struct snapshot *s, struct error *err)
{
	const char *node = export_meta(s, "node", "node");
	json_t *frames = json_array(), *samples = json_array(), *weights = json_array();
	json_t **index = xcalloc(s->nr_frames, sizeof(*index)), *top;
	const char *unit = export_unit(s), *what = export_title(s);
	const char *untested = export_meta(s, "untested", "");
	bool of_cpu = strcmp(unit, "samples") == 0;
	int bad = add_frames(frames, index, s) | add_stacks(samples, weights, index, s);

	for (uint32_t i = 0; i < s->nr_frames; i++)
		json_decref(index[i]);
	free(index);
	/* json_pack() takes over frames, samples and weights, and frees them if it fails. */
	top = json_pack(
		"{s:s, s:s, s:s++++, s:i, s:{s:o}, s:[{s:s, s:s+, s:s, s:i, s:I, s:o, s:o}]}",
		"$schema", "https://www.speedscope.app/file-format-schema.json", "exporter",
		"ebeam", "name", node, of_cpu ? " CPU " : " ", what ? what : unit,
		*untested ? ", " : "", untested, "activeProfileIndex", 0, "shared", "frames",
		frames, "profiles", "type", "sampled", "name", node,
		" (merged stacks, not in time order)", "unit", unit_of(unit), "startValue", 0,
		"endValue", (json_int_t)s->samples, "samples", samples, "weights", weights);
	if (bad || !top) {
		json_decref(top);
		return error_set(err, ERROR_KIND_FAILED, -EILSEQ,
				 "cannot write speedscope's format: a name is no valid UTF-8");
	}
	json_dumpf(top, f, JSON_COMPACT); /* a short write shows in ferror() */
	fputc('\n', f);
	json_decref(top);
	return export_finish(f, err);
}
