/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pprof's profile.proto (see pprof.proto), gzipped without a time stamp so that equal snapshots
 * give equal bytes.  Group and kind frames are left out: every sample has labels (erlang.pid,
 * erlang.name, kind, scheduler, node) instead, by which pprof can filter and group (-tagroot).
 *
 * Lines are written only if they are part of a frame's identity (options.lines): else a frame
 * represents many lines of its function.  Start lines of functions are not known.
 */
#include "export/formats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/compiler.h"
#include "base/vec.h"
#include "export/strtab.h"
#include "model/profile/calltree.h"
#include "pprof.pb-c.h"

#define GZIP_WINDOW	(15 + 16) /* zlib: largest window, gzip header */
#define GZIP_MEM_LEVEL	8	  /* zlib's default */
#define NR_SAMPLE_TYPES 2
#define MAX_LABELS	5
#define VM_MAPPING	0
#define VM_NAME		"beam.smp"
#define KERNEL_NAME	"[kernel.kallsyms]"

/*
 * Messages of one type, and the array of pointers to them that protobuf-c needs.  The pointers are
 * made after the last message was added, when the messages do not move any more.
 */
#define MESSAGES(type)                                                                             \
	struct {                                                                                   \
		VEC(type) all;                                                                     \
		type **ptr;                                                                        \
	}

#define messages_add(m, init)                                                                      \
	({                                                                                         \
		__typeof__(*(m)->all.data) fresh_ = init;                                          \
		vec_push(&(m)->all, fresh_);                                                       \
		&(m)->all.data[(m)->all.len - 1];                                                  \
	})

#define messages_point(m)                                                                          \
	do {                                                                                       \
		(m)->ptr = xcalloc((m)->all.len, sizeof(*(m)->ptr));                               \
		for (size_t i_ = 0; i_ < (m)->all.len; i_++)                                       \
			(m)->ptr[i_] = &(m)->all.data[i_];                                         \
	} while (0)

#define messages_free(m)                                                                           \
	do {                                                                                       \
		vec_free(&(m)->all);                                                               \
		free((m)->ptr);                                                                    \
	} while (0)

struct pprof {
	const struct snapshot *s;
	uint64_t freq; /* Hz; 0 = unknown, then CPU time is not written */
	struct strtab strings;
	MESSAGES(Pprof__Mapping) mappings;
	MESSAGES(Pprof__Function) functions;
	MESSAGES(Pprof__Location) locations;
	MESSAGES(Pprof__Line) lines; /* of locations[i] */
	MESSAGES(Pprof__Sample) samples;
	Pprof__Label *labels; /* MAX_LABELS per sample */
	Pprof__Label **label_ptrs;
	int64_t *values;	/* NR_SAMPLE_TYPES per sample */
	uint64_t *location_ids; /* of all samples, with room for EXPORT_NO_STACK in each */
	uint64_t *location_of;	/* frame -> location id, 0 = not yet */
	uint64_t *function_of;	/* function -> function id, 0 = not yet */
	uint64_t no_stack;	/* location id, 0 = not yet */
};

/* Index in the string table; NULL is "". */
static int64_t string_id(struct pprof *p, const char *text)
{
	return strtab_id(&p->strings, text);
}

static uint64_t mapping_id(struct pprof *p, const char *filename)
{
	int64_t name = string_id(p, filename);
	Pprof__Mapping *m;

	for (size_t i = 0; i < p->mappings.all.len; i++) {
		if (p->mappings.all.data[i].filename == name)
			return p->mappings.all.data[i].id;
	}
	m = messages_add(&p->mappings, PPROF__MAPPING__INIT);
	m->id = p->mappings.all.len;
	m->filename = name;
	m->build_id = string_id(p, snapshot_build_id(p->s, filename));
	/* The mapping counts as symbolized, so that pprof does not search the file for symbols. */
	m->has_functions = m->has_filenames = m->has_line_numbers = m->has_inline_frames = true;
	return m->id;
}

static uint64_t add_function(struct pprof *p, const char *name, const char *file)
{
	Pprof__Function *fn = messages_add(&p->functions, PPROF__FUNCTION__INIT);

	fn->id = p->functions.all.len;
	fn->name = fn->system_name = string_id(p, name);
	fn->filename = string_id(p, file);
	return fn->id;
}

static uint64_t add_location(struct pprof *p, uint64_t function, uint64_t mapping, uint32_t line)
{
	Pprof__Location *loc = messages_add(&p->locations, PPROF__LOCATION__INIT);
	Pprof__Line *ln = messages_add(&p->lines, PPROF__LINE__INIT);

	loc->id = p->locations.all.len;
	loc->mapping_id = mapping;
	ln->function_id = function;
	ln->line = (int64_t)line;
	return loc->id;
}

static uint64_t frame_function(struct pprof *p, const struct snap_frame *fr)
{
	const struct snap_function *fn;

	if (fr->function == SNAPSHOT_NONE)
		return add_function(p, fr->name, NULL);
	fn = &p->s->functions[fr->function];
	if (!p->function_of[fr->function])
		p->function_of[fr->function] = add_function(p, fn->name, fn->file);
	return p->function_of[fr->function];
}

static uint64_t frame_location(struct pprof *p, uint32_t frame)
{
	const struct snap_frame *fr = &p->s->frames[frame];
	uint64_t mapping = p->mappings.all.data[VM_MAPPING].id;

	if (p->location_of[frame])
		return p->location_of[frame];
	if (fr->kind == FRAME_KERNEL)
		mapping = mapping_id(p, KERNEL_NAME);
	else if (fr->kind == FRAME_NATIVE && *fr->module)
		mapping = mapping_id(p, fr->module);
	p->location_of[frame] =
		add_location(p, frame_function(p, fr), mapping, p->s->options.lines ? fr->line : 0);
	return p->location_of[frame];
}

static void add_label(struct pprof *p, Pprof__Sample *sm, const char *key, const char *value)
{
	Pprof__Label *label;

	if (!value || !*value)
		return;
	label = sm->label[sm->n_label++];
	label->key = string_id(p, key);
	label->str = string_id(p, value);
}

static void add_labels(struct pprof *p, Pprof__Sample *sm, const struct snap_stack *st)
{
	const struct snapshot *s = p->s;

	if (st->process != SNAPSHOT_NONE) {
		add_label(p, sm, "erlang.pid", s->processes[st->process].pid);
		add_label(p, sm, "erlang.name", s->processes[st->process].name);
	}
	add_label(p, sm, "kind", sample_kind_name(st->kind));
	add_label(p, sm, "scheduler", s->threads[st->thread].display);
	add_label(p, sm, "node", snapshot_meta(s, "node"));
}

static int64_t cpu_nanoseconds(const struct pprof *p, uint64_t count)
{
	unsigned __int128 ns = (unsigned __int128)count * 1000000000u;

	return (int64_t)(uint64_t)((ns + p->freq / 2) / p->freq);
}

/* Adds stack i as a sample; writes its location ids to `ids`, and returns their number. */
static size_t add_sample(struct pprof *p, uint32_t i, uint64_t *ids)
{
	const struct snap_stack *st = &p->s->stacks[i];
	Pprof__Sample *sm = messages_add(&p->samples, PPROF__SAMPLE__INIT);
	size_t nr = 0;

	for (uint32_t j = st->nr_frames; j-- > calltree_head_frames(p->s);)
		ids[nr++] = frame_location(p, p->s->stack_frames[st->first_frame + j]);
	if (!nr) {
		if (!p->no_stack)
			p->no_stack = add_location(p, add_function(p, EXPORT_NO_STACK, NULL),
						   p->mappings.all.data[VM_MAPPING].id, 0);
		ids[nr++] = p->no_stack;
	}
	sm->location_id = ids;
	sm->n_location_id = nr;
	sm->value = &p->values[(size_t)i * NR_SAMPLE_TYPES];
	sm->value[sm->n_value++] = (int64_t)st->count;
	if (p->freq)
		sm->value[sm->n_value++] = cpu_nanoseconds(p, st->count);
	sm->label = &p->label_ptrs[(size_t)i * MAX_LABELS];
	add_labels(p, sm, st);
	return nr;
}

static void pprof_init(struct pprof *p, const struct snapshot *s)
{
	size_t nr_labels = (size_t)s->nr_stacks * MAX_LABELS, at = 0;

	*p = (struct pprof){.s = s, .freq = export_meta_number(s, "freq")};
	strtab_init(&p->strings);
	mapping_id(p, VM_NAME);
	p->location_of = xcalloc(s->nr_frames, sizeof(*p->location_of));
	p->function_of = xcalloc(s->nr_functions, sizeof(*p->function_of));
	p->location_ids =
		xcalloc((size_t)s->nr_stack_frames + s->nr_stacks, sizeof(*p->location_ids));
	p->values = xcalloc((size_t)s->nr_stacks * NR_SAMPLE_TYPES, sizeof(*p->values));
	p->labels = xcalloc(nr_labels, sizeof(*p->labels));
	p->label_ptrs = xcalloc(nr_labels, sizeof(*p->label_ptrs));
	for (size_t i = 0; i < nr_labels; i++) {
		pprof__label__init(&p->labels[i]);
		p->label_ptrs[i] = &p->labels[i];
	}
	vec_reserve(&p->samples.all, s->nr_stacks);
	for (uint32_t i = 0; i < s->nr_stacks; i++)
		at += add_sample(p, i, p->location_ids + at);
	messages_point(&p->mappings);
	messages_point(&p->functions);
	messages_point(&p->locations);
	messages_point(&p->lines);
	messages_point(&p->samples);
	for (size_t i = 0; i < p->locations.all.len; i++) {
		p->locations.all.data[i].line = &p->lines.ptr[i];
		p->locations.all.data[i].n_line = 1;
	}
}

static void pprof_free(struct pprof *p)
{
	strtab_free(&p->strings);
	messages_free(&p->mappings);
	messages_free(&p->functions);
	messages_free(&p->locations);
	messages_free(&p->lines);
	messages_free(&p->samples);
	free(p->labels);
	free(p->label_ptrs);
	free(p->values);
	free(p->location_ids);
	free(p->location_of);
	free(p->function_of);
}

/* Type and unit of the first value: "samples" in "count", or the name of the mode and its unit. */
static void set_count_type(struct pprof *p, Pprof__ValueType *type)
{
	const char *unit = export_unit(p->s);
	bool weighed = export_title(p->s) != NULL;

	type->type = string_id(p, weighed ? export_meta(p->s, "mode", unit) : unit);
	if (!weighed)
		unit = "count";
	else if (strcmp(unit, "ns") == 0)
		unit = "nanoseconds";
	type->unit = string_id(p, unit);
}

/* The packed Profile; caller frees. */
static uint8_t *pack(struct pprof *p, size_t *size)
{
	Pprof__ValueType count = PPROF__VALUE_TYPE__INIT, cpu = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *types[NR_SAMPLE_TYPES] = {&count, &cpu};
	const char *untested = export_meta(p->s, "untested", NULL);
	Pprof__Profile top = PPROF__PROFILE__INIT;
	int64_t comment;
	uint8_t *bytes;

	set_count_type(p, &count);
	cpu.type = string_id(p, "cpu");
	cpu.unit = string_id(p, "nanoseconds");
	top.sample_type = types;
	top.n_sample_type = p->freq ? 2 : 1;
	if (p->freq) {
		top.period_type = &cpu;
		top.period = cpu_nanoseconds(p, 1);
	}
	top.time_nanos = (int64_t)export_meta_number(p->s, "start_epoch_ns");
	top.duration_nanos = (int64_t)export_meta_number(p->s, "duration_ns");
	if (untested) {
		comment = string_id(p, untested);
		top.comment = &comment;
		top.n_comment = 1;
	}
	top.mapping = p->mappings.ptr;
	top.n_mapping = p->mappings.all.len;
	top.function = p->functions.ptr;
	top.n_function = p->functions.all.len;
	top.location = p->locations.ptr;
	top.n_location = p->locations.all.len;
	top.sample = p->samples.ptr;
	top.n_sample = p->samples.all.len;
	top.string_table = p->strings.strings.data;
	top.n_string_table = p->strings.strings.len;
	*size = pprof__profile__get_packed_size(&top);
	bytes = xmalloc(*size);
	pprof__profile__pack(&top, bytes);
	return bytes;
}

static int write_gzip(FILE *f, uint8_t *bytes, size_t size, struct error *err)
{
	z_stream z = {0};
	uint8_t out[16384];
	int rc;

	rc = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEM_LEVEL,
			  Z_DEFAULT_STRATEGY);
	if (rc != Z_OK)
		return error_set(err, ERROR_KIND_FAILED, -ENOMEM,
				 "cannot compress the profile: zlib: %s", zError(rc));
	do {
		if (!z.avail_in && size) {
			z.next_in = bytes;
			z.avail_in = (uInt)MIN(size, (size_t)1 << 30);
			bytes += z.avail_in;
			size -= z.avail_in;
		}
		z.next_out = out;
		z.avail_out = sizeof(out);
		rc = deflate(&z, size ? Z_NO_FLUSH : Z_FINISH);
		fwrite(out, 1, sizeof(out) - z.avail_out, f);
	} while (rc == Z_OK || rc == Z_BUF_ERROR);
	deflateEnd(&z);
	if (rc != Z_STREAM_END)
		return error_set(err, ERROR_KIND_FAILED, -EIO,
				 "cannot compress the profile: zlib: %s", zError(rc));
	return export_finish(f, err);
}

int export_pprof(FILE *f, const struct snapshot *s, struct error *err)
{
	struct pprof p;
	uint8_t *bytes;
	size_t size;
	int rc;

	pprof_init(&p, s);
	bytes = pack(&p, &size);
	rc = write_gzip(f, bytes, size, err);
	free(bytes);
	pprof_free(&p);
	return rc;
}
