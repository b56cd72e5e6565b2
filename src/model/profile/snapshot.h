/* SPDX-License-Identifier: BSD-2-Clause */
/* An immutable, sorted, self-contained copy of a profile: what views and exporters show.  Every
 * string is valid UTF-8 without control characters and lives until snapshot_close().  Index 0 is
 * a real element in every array. */
#ifndef EBEAM_MODEL_SNAPSHOT_H
#define EBEAM_MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/record.h"
#include "base/strbuf.h"

enum snapshot_by {
	SNAPSHOT_BY_NAME, /* registered name, else label, else initial call, else pid */
	SNAPSHOT_BY_PROCESS,
	SNAPSHOT_BY_INITIAL_CALL,
	SNAPSHOT_BY_SCHEDULER,
	SNAPSHOT_BY_NONE,
};

/* Frames of C code, FRAME_NATIVE and FRAME_RUNTIME. */
enum snapshot_native {
	SNAPSHOT_NATIVE_FULL,
	SNAPSHOT_NATIVE_LEAF, /* only the innermost FRAME_NATIVE */
	SNAPSHOT_NATIVE_NONE,
};

struct snapshot_options {
	enum snapshot_by by;
	bool lines; /* lines distinguish frames, and are in their text */
	enum snapshot_native native;
	bool no_kernel; /* drop FRAME_KERNEL frames */
	bool idle;	/* with sleeping threads (SAMPLE_WAIT), and functions of spinning ones */
	bool kind_root; /* a root frame "[gc]", "[bif]", ... above the group */
	const char *only_process; /* only samples of this process, "<0.80.0>"; NULL = all */
};

#define SNAPSHOT_NONE UINT32_MAX

struct snap_frame {
	const char *name;   /* display text, with ":line" appended if options.lines */
	const char *module; /* as displayed, "" if none */
	const char *file;   /* NULL = unknown */
	uint32_t line;	    /* 0 = unknown; the line with most samples if !options.lines */
	enum frame_kind kind;
	/* Index in functions[]; SNAPSHOT_NONE for group, kind and elided frames, and, unless
	 * options.idle, for those that only spinning schedulers are in. */
	uint32_t function;
};

struct snap_function {	  /* merged over lines; sorted by self, then total, then name */
	const char *name; /* display text without line */
	const char *module;
	const char *file; /* NULL = unknown */
	enum frame_kind kind;
	enum symbol_source symbol_source;
	uint64_t self, total; /* samples with it as leaf; anywhere in the stack */
	/* Of a native function without a name: the innermost function with a name that called it,
	 * directly or by others without, in more than half of its samples, and in how many; NULL =
	 * there is none. */
	const char *caller;
	uint64_t called;
};

struct snap_process {		  /* sorted by samples, then pid number */
	const char *pid;	  /* "<0.80.0>" */
	const char *registered;	  /* as displayed; NULL = none */
	const char *label;	  /* NULL = none */
	const char *initial_call; /* display text, NULL = unknown */
	const char *name;	  /* registered, else label, else initial call, else pid */
	uint64_t samples;
};

struct snap_thread {
	const char *name;    /* the kernel's name of the thread */
	const char *display; /* "scheduler 1", "dirty cpu 2", "dirty io 3", else its name */
	enum thread_type type;
	uint32_t os_tid;
	uint16_t scheduler;
	uint64_t samples;
};

struct snap_stack {	      /* sorted by frames (names, root first), then process, thread, kind */
	uint32_t first_frame; /* index in stack_frames[], root first */
	uint32_t nr_frames;   /* group and kind frames included; 0 is possible */
	uint32_t process;     /* index in processes[], SNAPSHOT_NONE */
	uint32_t thread;      /* index in threads[] */
	enum sample_kind kind;
	uint64_t count;
};

struct snap_counter {
	const char *name; /* json name of counters.def */
	uint64_t value;
};

struct snap_meta {
	const char *key, *value;
};

struct snapshot {
	struct snapshot_options options;
	uint64_t samples;	  /* sum of all counts */
	uint64_t dropped_unknown; /* records that referred to undefined ids */
	uint64_t by_kind[NR_SAMPLE_KINDS];
	uint64_t by_status[NR_SAMPLE_STATUSES];
	uint64_t first_ns, last_ns; /* of samples, CLOCK_MONOTONIC; 0 if none */
	bool ended;		    /* REC_END seen */
	uint32_t nr_frames, nr_functions, nr_processes, nr_threads, nr_stacks, nr_counters, nr_meta;
	uint32_t nr_stack_frames;
	const struct snap_frame *frames;
	const struct snap_function *functions;
	const struct snap_process *processes;
	const struct snap_thread *threads;
	const struct snap_stack *stacks;
	const uint32_t *stack_frames; /* indices in frames[] */
	const struct snap_counter *counters;
	const struct snap_meta *meta;
};

void snapshot_close(struct snapshot *s);

/* Meta value of `record --mode malloc --leak`, see add_leak() of event_profile.c. */
#define SNAPSHOT_LEAK_KEY "leak"
/* Value of a meta key ("node", "os_pid", "otp", "erts", "flavor", "freq", "start", "duration_ns",
 * ...), or NULL. */
const char *snapshot_meta(const struct snapshot *s, const char *key);
/* Build id of the file of native functions whose base name is `module`; NULL = not known, or there
 * are several.  snapshot_add_build_id_key() adds the key under which it is in the meta data. */
const char *snapshot_build_id(const struct snapshot *s, const char *module);
void snapshot_add_build_id_key(struct strbuf *out, const char *module);
/* Value of a counter, 0 if absent. */
uint64_t snapshot_counter(const struct snapshot *s, const char *name);

/* Half width of the 95 % confidence interval of by_kind[kind]; false: the recording has none. */
bool snapshot_margin(const struct snapshot *s, enum sample_kind kind, uint64_t *out);
/* Appends the meta key of that margin. */
void snapshot_add_margin_key(struct strbuf *out, enum sample_kind kind);
/* Whether a sample of this kind is a state of a process, running or not. */
bool sample_kind_is_state(enum sample_kind kind);

/* Names of enum values: "gc", "GC"; "complete"; "erlang"; "debug file", NULL for none. */
const char *sample_kind_name(enum sample_kind kind);  /* json and labels */
const char *sample_kind_title(enum sample_kind kind); /* for people */
const char *sample_status_name(enum sample_status status);
const char *frame_kind_name(enum frame_kind kind);
const char *symbol_source_name(enum symbol_source source);
const char *snapshot_by_name(enum snapshot_by by);
const char *snapshot_native_name(enum snapshot_native native);

#endif
