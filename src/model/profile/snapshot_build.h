/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Profile -> snapshot, private to src/model.
 *
 * snapshot_build.c collects, snapshot_frames.c turns ids into texts and frames, each once, and
 * snapshot_order.c sorts and merges.  Nothing here may depend on the order of ids or records: both
 * identity and order are by content.
 */
#ifndef EBEAM_MODEL_SNAPSHOT_BUILD_H
#define EBEAM_MODEL_SNAPSHOT_BUILD_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "model/profile/profile_internal.h"
#include "model/profile/snapshot.h"

/* The snapshot with the arrays that it owns, to which `s` has const pointers. */
struct snapshot_data {
	struct snapshot s;
	struct arena strings;
	struct snap_frame *frames;
	struct snap_function *functions;
	struct snap_process *processes;
	struct snap_thread *threads;
	struct snap_stack *stacks;
	uint32_t *stack_frames;
	struct snap_counter *counters;
	struct snap_meta *meta;
};

/* Source location shown for a frame or a function: that with most samples. */
struct build_place {
	const char *file; /* NULL = unknown */
	uint32_t line;	  /* 0 = unknown */
	uint64_t weight;
};

struct build_frame {
	const char *name; /* interned like all texts here, so equal texts are equal pointers */
	const char *module;
	enum frame_kind kind;
	uint32_t function;	  /* index in functions, SNAPSHOT_NONE */
	struct build_place place; /* with options.lines its own, else the one with most samples */
};

/* What a function is for those without a name that it calls. */
enum build_role {
	BUILD_CALLER,	   /* their caller */
	BUILD_CALL_HELPER, /* between them and their caller */
	BUILD_UNNAMED,	   /* one of them */
	BUILD_NO_CALLER	   /* no function */
};

struct build_function {
	const char *name;
	const char *module;
	enum frame_kind kind;
	enum symbol_source symbol_source;
	struct build_place place;
	uint64_t self, total;
	/* Of one without a name: the function with a name that calls most of its samples, and how
	 * many; SNAPSHOT_NONE = none has more than half. */
	enum build_role role;
	uint32_t caller;
	uint64_t called;
};

/* All processes of the dictionary with one epid. */
struct build_process {
	uint64_t epid;
	const char *pid;
	uint32_t latest; /* dictionary id with the latest sample */
	uint32_t group;	 /* its frame if grouped by process; SNAPSHOT_NONE = not made yet */
	uint64_t samples;
};

/* All threads of the dictionary with one os_tid and name; type and number are the most specific. */
struct build_thread {
	uint32_t os_tid;
	enum thread_type type;
	uint16_t scheduler;
	const char *name;
	uint32_t group; /* its group frame, SNAPSHOT_NONE = not made yet */
	uint64_t samples;
};

struct build_stack {
	uint64_t count;
	uint32_t first, nr; /* in paths */
	uint32_t process;   /* index, SNAPSHOT_NONE */
	uint32_t thread;    /* index */
	enum sample_kind kind;
};

struct builder {
	const struct profile *p;
	struct snapshot_options opts;
	struct snapshot_data *out;
	struct strbuf scratch;

	VEC(const char *) texts;
	VEC(struct build_function) functions;
	VEC(struct build_frame) frames;
	VEC(struct build_process) processes;
	VEC(struct build_thread) threads;
	struct idmap text_index, function_index, frame_index, process_index, thread_index;

	/* By dictionary id; SNAPSHOT_NONE = not made yet. */
	uint32_t *frame_of, *process_of, *thread_of;
	uint32_t *name_group_of, *call_group_of; /* group frames, by process id */
	uint32_t kind_frames[NR_SAMPLE_KINDS];
	uint64_t *frame_weight; /* samples whose stack contains the frame */

	VEC(struct profile_entry) entries; /* that are selected */
	VEC(uint32_t) paths;		   /* frames, root first */
	VEC(struct build_stack) stacks;
};

/* Pseudo thread for samples beyond the profile's limits. */
#define BUILD_OVERFLOW UINT32_MAX

/* Interns a copy of a text: build_text() of clean bytes (see snapshot.h), build_clean_text() of
 * any. */
const char *build_text(struct builder *b, const char *s, size_t len);
const char *build_clean_text(struct builder *b, const char *s);
/* Texts of ids; NULL if there is none. */
const char *build_function_text(struct builder *b, uint32_t function);
const char *build_registered_text(struct builder *b, const struct name_process *p);
/* Registered name, else label, else initial call, else pid. */
const char *build_process_name(struct builder *b, const struct name_process *p);
/* "scheduler 1", "dirty cpu 2", "dirty io 3", else its name. */
const char *build_thread_display(struct builder *b, const struct build_thread *t);

/* The snapshot's frame for a frame of the dictionary. */
uint32_t build_frame(struct builder *b, uint32_t frame);
/* A frame of kind STATE that is not a function: for a group or a kind. */
uint32_t build_label_frame(struct builder *b, const char *text);
/* The state frame "[overflow]", which counts as a function like other states. */
uint32_t build_overflow_frame(struct builder *b);
/* The group frame of a sample, SNAPSHOT_NONE if samples are not grouped. */
uint32_t build_group(struct builder *b, const struct profile_entry *e);
/* Chooses source locations of frames and functions; after all stacks. */
void build_places(struct builder *b);
/* Brings all arrays of the snapshot into their order; last step. */
void build_order(struct builder *b);

#endif
