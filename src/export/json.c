/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The object of `record -f json`: the envelope of every command, with samples by kind and status,
 * functions, processes and stacks.  Group and kind frames are not in a stack's "frames", which has
 * code only, but in "group", "kind" and "pid".
 */
#include "export/formats.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/profile/calltree.h"

#define JSON_SCHEMA 1

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* A meta value, as a number if it is one. */
static json_t *meta_value(const struct snapshot *s, const char *key)
{
	const char *value = export_meta(s, key, NULL);

	if (value && strspn(value, "0123456789") == strlen(value) && strlen(value) < 19)
		return number(export_meta_number(s, key));
	return text_or_null(value);
}

static json_t *make_node(const struct snapshot *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "os_pid", meta_value(s, "os_pid"),
			 "name", text_or_null(snapshot_meta(s, "node")), "otp",
			 text_or_null(snapshot_meta(s, "otp")), "erts",
			 text_or_null(snapshot_meta(s, "erts")), "flavor",
			 text_or_null(snapshot_meta(s, "flavor")), "untested",
			 text_or_null(snapshot_meta(s, "untested")));
}

/* The warnings of the meta value, which has one in each line. */
static json_t *make_warnings(const struct snapshot *s)
{
	json_t *list = json_array();
	const char *p = export_meta(s, "warnings", "");

	while (*p) {
		size_t len = strcspn(p, "\n");

		if (len)
			json_array_append_new(list, json_stringn(p, len));
		p += len + (p[len] == '\n');
	}
	return list;
}

static json_t *make_counters(const struct snapshot *s)
{
	json_t *o = json_object();

	for (uint32_t i = 0; i < s->nr_counters; i++)
		json_object_set_new(o, s->counters[i].name, number(s->counters[i].value));
	json_object_set_new(o, "dropped_unknown", number(s->dropped_unknown));
	return o;
}

/* Takes ownership of `data`; NULL if `data` is NULL or the object cannot be made. */
static json_t *make_envelope(const struct snapshot *s, json_t *data)
{
	return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", JSON_SCHEMA,
			 "tool", "ebeam", "version", export_meta(s, "version", EBEAM_VERSION),
			 "command", text_or_null(snapshot_meta(s, "command")), "node", make_node(s),
			 "time", text_or_null(snapshot_meta(s, "start")), "data", data, "warnings",
			 make_warnings(s), "counters", make_counters(s));
}

/* Kinds of times off CPUs are those of one mode only. */
static json_t *make_kinds(const struct snapshot *s)
{
	json_t *o = json_object();
	const char *mode = snapshot_meta(s, "mode");
	bool off_cpu = mode && strcmp(mode, "offcpu") == 0;

	for (int k = 0; k < NR_SAMPLE_KINDS; k++)
		if (k < SAMPLE_OFF_LOCK_ETS || off_cpu || s->by_kind[k])
			json_object_set_new(o, sample_kind_name((enum sample_kind)k),
					    number(s->by_kind[k]));
	return o;
}

/* Margins of error of the sample kinds for which they are known. */
static json_t *make_margins(const struct snapshot *s)
{
	json_t *o = json_object();
	uint64_t margin;

	for (int k = 0; k < NR_SAMPLE_KINDS; k++)
		if (snapshot_margin(s, (enum sample_kind)k, &margin))
			json_object_set_new(o, sample_kind_name((enum sample_kind)k),
					    number(margin));
	return o;
}

static json_t *make_statuses(const struct snapshot *s)
{
	json_t *o = json_object();

	for (int k = 0; k < NR_SAMPLE_STATUSES; k++)
		json_object_set_new(o, sample_status_name((enum sample_status)k),
				    number(s->by_status[k]));
	return o;
}

static int add_functions(json_t *list, const struct snapshot *s)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->nr_functions; i++) {
		const struct snap_function *fn = &s->functions[i];

		bad |= json_array_append_new(
			list, json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o}", "mfa", fn->name,
					"self", number(fn->self), "total", number(fn->total),
					"kind", frame_kind_name(fn->kind), "file",
					text_or_null(fn->file), "symbol_source",
					text_or_null(symbol_source_name(fn->symbol_source)),
					"caller", text_or_null(fn->caller)));
	}
	return bad;
}

static int add_processes(json_t *list, const struct snapshot *s)
{
	int bad = 0;

	for (uint32_t i = 0; i < s->nr_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		bad |= json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "pid", p->pid, "name", p->name,
				  "samples", number(p->samples), "registered_name",
				  text_or_null(p->registered), "label", text_or_null(p->label),
				  "initial_call", text_or_null(p->initial_call)));
	}
	return bad;
}

static json_t *make_stack(const struct snapshot *s, uint32_t i, json_t *const *names)
{
	const struct snap_stack *st = &s->stacks[i];
	const uint32_t *ids = s->stack_frames + st->first_frame;
	uint32_t head = calltree_head_frames(s);
	json_t *frames = json_array();
	const char *pid = NULL, *group = NULL;

	if (st->process != SNAPSHOT_NONE)
		pid = s->processes[st->process].pid;
	if (s->options.by != SNAPSHOT_BY_NONE && st->nr_frames >= head)
		group = s->frames[ids[head - 1]].name;
	for (uint32_t j = head; j < st->nr_frames; j++)
		json_array_append(frames, names[ids[j]]);
	return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o}", "frames", frames, "count",
			 number(st->count), "pid", text_or_null(pid), "kind",
			 sample_kind_name(st->kind), "thread", s->threads[st->thread].display,
			 "group", text_or_null(group));
}

/* Adds the stacks, which share one string object per frame; nonzero if a name is no valid UTF-8. */
static int add_stacks(json_t *list, const struct snapshot *s)
{
	json_t **names = xcalloc(s->nr_frames, sizeof(*names));
	int bad = 0;

	for (uint32_t i = 0; i < s->nr_frames; i++) {
		names[i] = json_string(s->frames[i].name);
		bad |= !names[i];
	}
	for (uint32_t i = 0; !bad && i < s->nr_stacks; i++)
		bad |= json_array_append_new(list, make_stack(s, i, names));
	for (uint32_t i = 0; i < s->nr_frames; i++)
		json_decref(names[i]);
	free(names);
	return bad;
}

/* What `record --mode malloc --leak` found of the rate; low and high are null if not known. */
static json_t *make_leak(const struct snapshot *s)
{
	unsigned long long rate = 0, low = 0, high = 0, blocks = 0, sampled = 0;

	sscanf(snapshot_meta(s, SNAPSHOT_LEAK_KEY), "%llu %llu %llu %llu %llu", &rate, &low, &high,
	       &blocks, &sampled);
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "bytes_per_s", number(rate), "low",
			 high ? number(low) : json_null(), "high",
			 high ? number(high) : json_null(), "blocks", number(blocks), "sampled",
			 number(sampled));
}

static int write_json(FILE *f, json_t *top, struct error *err)
{
	if (!top)
		return error_set(err, ERROR_KIND_FAILED, -EILSEQ,
				 "cannot write JSON: a name is no valid UTF-8");
	json_dumpf(top, f, JSON_COMPACT); /* a short write shows in ferror() */
	fputc('\n', f);
	json_decref(top);
	return export_finish(f, err);
}

int export_json(FILE *f, const struct snapshot *s, struct error *err)
{
	json_t *functions = json_array(), *processes = json_array(), *stacks = json_array();
	int bad = add_functions(functions, s) | add_processes(processes, s) | add_stacks(stacks, s);
	const char *margin = snapshot_meta(s, "margin_of_error");
	json_t *data = json_pack(
		"{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", number(s->samples),
		"margin_of_error", margin ? number(strtoull(margin, NULL, 10)) : json_null(),
		"margin_by_kind", make_margins(s), "unit", export_unit(s), "complete",
		number(s->by_status[SAMPLE_STATUS_COMPLETE]), "by_kind", make_kinds(s), "by_status",
		make_statuses(s), "functions", functions, "processes", processes, "stacks", stacks);

	if (!bad && snapshot_meta(s, SNAPSHOT_LEAK_KEY))
		bad = json_object_set_new(data, "leak", make_leak(s));
	if (bad) {
		json_decref(data);
		data = NULL;
	}
	return write_json(f, make_envelope(s, data), err);
}

static json_t *make_diff_function(const struct diff_function *fn)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:f, s:f}", "mfa", fn->name, "kind",
			 frame_kind_name(fn->kind), "self_a", number(fn->self_a), "self_b",
			 number(fn->self_b), "total_a", number(fn->total_a), "total_b",
			 number(fn->total_b), "delta_self", fn->delta_self, "delta_total",
			 fn->delta_total);
}

/* Node and time of the envelope are those of B; those of A are in the data. */
int export_json_diff(FILE *f, const struct diff *d, struct error *err)
{
	json_t *functions = json_array(), *data;
	int bad = 0;

	for (uint32_t i = 0; i < d->nr_functions; i++)
		bad |= json_array_append_new(functions, make_diff_function(&d->functions[i]));
	data = json_pack("{s:o, s:o, s:o, s:o, s:o}", "samples_a", number(d->a->samples),
			 "samples_b", number(d->b->samples), "node_a", make_node(d->a), "time_a",
			 text_or_null(snapshot_meta(d->a, "start")), "functions", functions);
	if (bad) {
		json_decref(data);
		data = NULL;
	}
	return write_json(f, make_envelope(d->b, data), err);
}
