/* SPDX-License-Identifier: BSD-2-Clause */
/* See kind.h. */
#include "beam/resolve/kind.h"

#include <stddef.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/process.h"

/* VM functions that determine the kind of a sample; a name matches by its beginning. */
static const struct {
	const char *prefix;
	enum sample_kind kind;
} by_function[] = {
	{"copy_struct", SAMPLE_COPY},
	{"copy_shallow", SAMPLE_COPY},
	{"copy_shared", SAMPLE_COPY},
	{"size_object", SAMPLE_COPY},
	{"size_shared", SAMPLE_COPY},
	{"erts_queue_message", SAMPLE_COPY},
	{"erts_queue_proc_message", SAMPLE_COPY},
	{"erts_send_message", SAMPLE_COPY},
	{"db_", SAMPLE_ETS},
	{"erts_db_", SAMPLE_ETS},
	{"erts_bump_timers", SAMPLE_TIMER},
	{"erts_twheel", SAMPLE_TIMER},
	{"erts_check_next_timeout", SAMPLE_TIMER},
	{"erts_check_io", SAMPLE_POLL},
	{"erts_poll_", SAMPLE_POLL},
	{"erts_port_task_execute", SAMPLE_PORT},
	{"ethr_event_", SAMPLE_WAIT},
	{"erts_garbage_collect", SAMPLE_GC},
	{"erts_gc_after_bif_call", SAMPLE_GC},
};

/* Kernel functions that determine the kind: the one nearest to the leaf decides.  A thread that
 * wakes another one is working. */
static const struct {
	const char *name;
	enum sample_kind kind;
} by_kernel[] = {
	{"do_epoll_wait", SAMPLE_POLL},
	{"ep_poll", SAMPLE_POLL},
	{"do_sys_poll", SAMPLE_POLL},
	{"do_select", SAMPLE_POLL},
	{"core_sys_select", SAMPLE_POLL},
	{"futex_wake", SAMPLE_SCHEDULER},
	{"futex_wait", SAMPLE_WAIT},
	{"do_futex", SAMPLE_WAIT},
	{"__x64_sys_sched_yield", SAMPLE_WAIT},
};

/* BIFs of erlang and erts_internal that work on ports or on code. */
static const char *const port_bifs[] = {"port_command", "port_control",	 "port_connect",
					"port_close",	"port_call",	 "open_port",
					"port_info",	"port_set_data", "port_get_data"};
static const char *const code_bifs[] = {
	"prepare_loading",    "finish_loading",	      "load_module",
	"check_process_code", "purge_module",	      "delete_module",
	"make_stub_module",   "finish_after_on_load", "load_nif"};

static bool is_one_of(const char *name, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

enum sample_kind kind_of_function(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(by_function); i++) {
		if (strncmp(name, by_function[i].prefix, strlen(by_function[i].prefix)) == 0)
			return by_function[i].kind;
	}
	return NR_SAMPLE_KINDS;
}

static bool kind_by_kernel(const struct kind_evidence *e, enum sample_kind *kind)
{
	for (unsigned int k = 0; k < e->nr_kernel; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(by_kernel); i++) {
			if (strcmp(e->kernel[k], by_kernel[i].name) == 0) {
				*kind = by_kernel[i].kind;
				return true;
			}
		}
	}
	return false;
}

/* Kind of a sample of a scheduler that runs no process. */
static enum sample_kind kind_of_scheduler(const struct kind_evidence *e)
{
	enum sample_kind kind;

	if (e->raw->port_id)
		return SAMPLE_PORT;
	if (kind_by_kernel(e, &kind))
		return kind;
	if (e->native != NR_SAMPLE_KINDS)
		return e->native;
	/* The flag is set while it waits busily, too, and just before and after it sleeps. */
	return e->raw->sleep_flags & SSI_FLG_WAITING ? SAMPLE_WAIT : SAMPLE_SCHEDULER;
}

static enum sample_kind kind_of_bif(const struct kind_evidence *e)
{
	bool internal =
		strcmp(e->bif_module, "erlang") == 0 || strcmp(e->bif_module, "erts_internal") == 0;

	if (e->nif)
		return SAMPLE_NIF;
	if (strcmp(e->bif_module, "ets") == 0)
		return SAMPLE_ETS;
	if (internal && is_one_of(e->bif_name, port_bifs, ARRAY_SIZE(port_bifs)))
		return SAMPLE_PORT;
	if ((internal && is_one_of(e->bif_name, code_bifs, ARRAY_SIZE(code_bifs))) ||
	    strcmp(e->bif_module, "code") == 0)
		return SAMPLE_CODE;
	if (e->native == SAMPLE_COPY || e->native == SAMPLE_GC)
		return e->native;
	return SAMPLE_BIF;
}

static bool fragment_starts(const struct kind_evidence *e, const char *prefix)
{
	return e->fragment && strncmp(e->fragment, prefix, strlen(prefix)) == 0;
}

enum sample_kind kind_of_task(const struct rec_raw_sample *raw, enum thread_type thread)
{
	if (thread != THREAD_NORMAL || !raw->process || !(raw->process_state & PSFLG_RUNNING_SYS))
		return NR_SAMPLE_KINDS;
	if (raw->flags & RAW_SAMPLE_LITERALS)
		return SAMPLE_LITERAL_GC;
	return !(raw->process_state & PSFLG_GC) &&
			       (raw->place == PLACE_C_FROM_JIT || raw->place == PLACE_C_PROCESS)
		       ? SAMPLE_TASK
		       : NR_SAMPLE_KINDS;
}

/* Kind of a sample of a thread that runs a process. */
static enum sample_kind kind_of_process(const struct kind_evidence *e)
{
	enum sample_kind kind = kind_of_task(e->raw, e->thread);

	if (kind != NR_SAMPLE_KINDS)
		return kind;
	if ((e->raw->process_state & PSFLG_GC) || fragment_starts(e, "garbage_collect"))
		return SAMPLE_GC;
	if (e->bif_module)
		return kind_of_bif(e);
	if (e->raw->place == PLACE_JIT || e->raw->place == PLACE_JIT_RUNTIME)
		return SAMPLE_ERLANG;
	if (kind_of_function(e->entry) == SAMPLE_GC)
		return SAMPLE_GC;
	if (e->entry && strncmp(e->entry, "erts_schedule", 13) == 0)
		return SAMPLE_SCHEDULER;
	if (fragment_starts(e, "process_main") || fragment_starts(e, "context_switch") ||
	    fragment_starts(e, "do_schedule"))
		return SAMPLE_SCHEDULER;
	if (e->native != NR_SAMPLE_KINDS)
		return e->native;
	/* A helper of the VM that the code of the process called: microstate accounting counts it
	 * as emulator.  If no Erlang code called it, as on a dirty scheduler, it is the scheduler's
	 * own work. */
	return e->raw->place == PLACE_C_FROM_JIT || e->raw->place == PLACE_INTERPRETER
		       ? SAMPLE_ERLANG
		       : SAMPLE_SCHEDULER;
}

enum sample_kind kind_of_sample(const struct kind_evidence *e)
{
	if (e->thread == THREAD_OTHER)
		return SAMPLE_OTHER;
	if (e->raw->process)
		return kind_of_process(e);
	if (e->thread == THREAD_UNKNOWN)
		return SAMPLE_OTHER;
	return kind_of_scheduler(e);
}
