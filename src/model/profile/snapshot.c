/* SPDX-License-Identifier: BSD-2-Clause */
/* See snapshot.h: close, look-ups, and names of the enums. */
#include "model/profile/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "model/profile/snapshot_build.h"

static const char *const kind_names[NR_SAMPLE_KINDS][2] = {
	[SAMPLE_ERLANG] = {"erlang", "Erlang"},
	[SAMPLE_BIF] = {"bif", "BIF"},
	[SAMPLE_NIF] = {"nif", "NIF"},
	[SAMPLE_GC] = {"gc", "GC"},
	[SAMPLE_PORT] = {"port", "Port"},
	[SAMPLE_COPY] = {"copy", "Message copy"},
	[SAMPLE_ETS] = {"ets", "ETS"},
	[SAMPLE_TIMER] = {"timer", "Timer"},
	[SAMPLE_CODE] = {"code", "Code loading"},
	[SAMPLE_SCHEDULER] = {"scheduler", "Scheduler"},
	[SAMPLE_POLL] = {"poll", "Polling"},
	[SAMPLE_WAIT] = {"wait", "Waiting"},
	[SAMPLE_OTHER] = {"other", "Other threads"},
	[SAMPLE_WAITING] = {"waiting", "Processes that wait"},
	[SAMPLE_RUNNABLE] = {"runnable", "Runnable processes"},
	[SAMPLE_RUNNING] = {"running", "Running processes"},
	[SAMPLE_WAITING_RECEIVE] = {"waiting: receive", "Waiting for a message"},
	[SAMPLE_WAITING_TIMER] = {"waiting: timer", "Waiting for a message or a timer"},
	[SAMPLE_WAITING_PORT] = {"waiting: port", "Waiting for a port"},
	[SAMPLE_WAITING_DIRTY] = {"waiting: dirty", "Waiting for a dirty scheduler"},
	[SAMPLE_SUSPENDED] = {"suspended", "Suspended processes"},
	[SAMPLE_HIBERNATING] = {"hibernating", "Hibernating processes"},
	[SAMPLE_EXITING] = {"exiting", "Exiting processes"},
	[SAMPLE_TASK] = {"task", "System tasks and signals"},
	[SAMPLE_LITERAL_GC] = {"literal gc", "Literal collection"},
	[SAMPLE_FULL_GC] = {"full gc", "Full-sweep GC"},
	[SAMPLE_LOCK] = {"lock", "Locks"},
	[SAMPLE_ALLOC] = {"alloc", "Allocators"},
	[SAMPLE_TERM_FORMAT] = {"term format", "External term format"},
	[SAMPLE_REGEXP] = {"regexp", "Regular expressions"},
	[SAMPLE_BINARY] = {"binary", "Binaries"},
	[SAMPLE_OFF_LOCK_ETS] = {"lock: ets", "Blocked by a lock of an ETS table"},
	[SAMPLE_OFF_LOCK_PROCESS] = {"lock: process", "Blocked by a lock of a process"},
	[SAMPLE_OFF_LOCK_PORT] = {"lock: port", "Blocked by a lock of a port"},
	[SAMPLE_OFF_LOCK_ALLOC] = {"lock: alloc", "Blocked by a lock of an allocator"},
	[SAMPLE_OFF_LOCK_CODE] = {"lock: code", "Blocked by a lock of code"},
	[SAMPLE_OFF_LOCK_DIST] = {"lock: dist", "Blocked by a lock of a connection"},
	[SAMPLE_OFF_LOCK] = {"lock: other", "Blocked by another lock"},
	[SAMPLE_OFF_PROGRESS] = {"thread progress", "Blocked until other threads make progress"},
	[SAMPLE_OFF_FILE] = {"file", "Blocked by files and disks"},
	[SAMPLE_OFF_NETWORK] = {"network", "Blocked by the network"},
	[SAMPLE_OFF_PIPE] = {"pipe", "Blocked by a pipe"},
	[SAMPLE_OFF_FAULT] = {"page fault", "Blocked by a page fault"},
	[SAMPLE_OFF_MEMORY] = {"memory map", "Blocked by mapping memory"},
	[SAMPLE_OFF_SLEEP] = {"sleep", "Asleep for a time"},
	[SAMPLE_OFF_FUTEX] = {"futex", "Blocked by a futex"},
	[SAMPLE_OFF_POLL] = {"blocked: poll", "Blocked by polling in a process"},
	[SAMPLE_OFF_STOPPED] = {"stopped", "Stopped by a signal"},
	[SAMPLE_OFF_OTHER] = {"blocked: other", "Blocked by something else"},
	[SAMPLE_OFF_PREEMPTED] = {"preempted", "Runnable, its CPU taken by others"},
	[SAMPLE_OFF_WOKEN] = {"woken", "Runnable, waiting for a CPU"},
	[SAMPLE_OFF_YIELDED] = {"yielded", "Runnable, gave its CPU away"},
};

static const char *const status_names[NR_SAMPLE_STATUSES] = {
#define STATUS(name, json, text) [SAMPLE_STATUS_##name] = json,
#include "abi/status.def"
#undef STATUS
};

static const char *const frame_kind_names[] = {
	[FRAME_ERLANG] = "erlang", [FRAME_BIF] = "bif",	      [FRAME_NIF] = "nif",
	[FRAME_NATIVE] = "native", [FRAME_KERNEL] = "kernel", [FRAME_RUNTIME] = "runtime",
	[FRAME_ELIDED] = "elided", [FRAME_STATE] = "state",
};

static const char *const symbol_source_names[NR_SYMBOL_SOURCES] = {
	[SYMBOL_SOURCE_SYMTAB] = "symtab",	   [SYMBOL_SOURCE_DYNSYM] = "dynsym",
	[SYMBOL_SOURCE_DEBUG_FILE] = "debug file", [SYMBOL_SOURCE_PLT] = "plt",
	[SYMBOL_SOURCE_IMPORT] = "import",	   [SYMBOL_SOURCE_REFERENCE] = "reference",
	[SYMBOL_SOURCE_PROBE] = "probe",
};

static const char *const by_names[] = {
	[SNAPSHOT_BY_NAME] = "name",
	[SNAPSHOT_BY_PROCESS] = "process",
	[SNAPSHOT_BY_INITIAL_CALL] = "initial-call",
	[SNAPSHOT_BY_SCHEDULER] = "scheduler",
	[SNAPSHOT_BY_NONE] = "none",
};

void snapshot_close(struct snapshot *s)
{
	struct snapshot_data *data;

	if (!s)
		return;
	data = CONTAINER_OF(s, struct snapshot_data, s);
	free(data->frames);
	free(data->functions);
	free(data->processes);
	free(data->threads);
	free(data->stacks);
	free(data->stack_frames);
	free(data->counters);
	free(data->meta);
	arena_free(&data->strings);
	free(data);
}

const char *snapshot_meta(const struct snapshot *s, const char *key)
{
	for (uint32_t i = 0; i < s->nr_meta; i++) {
		if (strcmp(s->meta[i].key, key) == 0)
			return s->meta[i].value;
	}
	return NULL;
}

void snapshot_add_build_id_key(struct strbuf *out, const char *module)
{
	strbuf_addf(out, "build_id.%s", module);
}

const char *snapshot_build_id(const struct snapshot *s, const char *module)
{
	struct strbuf key = STRBUF_INIT;
	const char *id;

	snapshot_add_build_id_key(&key, module);
	id = snapshot_meta(s, key.buf);
	strbuf_free(&key);
	return id;
}

uint64_t snapshot_counter(const struct snapshot *s, const char *name)
{
	for (uint32_t i = 0; i < s->nr_counters; i++) {
		if (strcmp(s->counters[i].name, name) == 0)
			return s->counters[i].value;
	}
	return 0;
}

void snapshot_add_margin_key(struct strbuf *out, enum sample_kind kind)
{
	strbuf_addf(out, "margin_of_error [%s]", sample_kind_name(kind));
}

bool snapshot_margin(const struct snapshot *s, enum sample_kind kind, uint64_t *out)
{
	struct strbuf key = STRBUF_INIT;
	const char *value;

	snapshot_add_margin_key(&key, kind);
	value = snapshot_meta(s, key.buf);
	*out = value ? strtoull(value, NULL, 10) : 0;
	strbuf_free(&key);
	return value != NULL;
}

bool sample_kind_is_state(enum sample_kind kind)
{
	return (kind >= SAMPLE_WAITING && kind <= SAMPLE_EXITING) ||
	       (kind >= SAMPLE_OFF_LOCK_ETS && kind <= SAMPLE_OFF_YIELDED);
}

const char *sample_kind_name(enum sample_kind kind)
{
	return (unsigned int)kind < NR_SAMPLE_KINDS ? kind_names[kind][0] : "unknown";
}

const char *sample_kind_title(enum sample_kind kind)
{
	return (unsigned int)kind < NR_SAMPLE_KINDS ? kind_names[kind][1] : "Unknown";
}

const char *sample_status_name(enum sample_status status)
{
	return (unsigned int)status < NR_SAMPLE_STATUSES ? status_names[status] : "unknown";
}

const char *frame_kind_name(enum frame_kind kind)
{
	return (unsigned int)kind < ARRAY_SIZE(frame_kind_names) ? frame_kind_names[kind]
								 : "unknown";
}

const char *symbol_source_name(enum symbol_source source)
{
	return (unsigned int)source < NR_SYMBOL_SOURCES ? symbol_source_names[source] : NULL;
}

const char *snapshot_native_name(enum snapshot_native native)
{
	static const char *const words[] = {"full", "leaf", "none"};

	return words[native];
}

const char *snapshot_by_name(enum snapshot_by by)
{
	return (unsigned int)by < ARRAY_SIZE(by_names) ? by_names[by] : "unknown";
}
