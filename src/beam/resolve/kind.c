/* SPDX-License-Identifier: BSD-2-Clause */
/* See kind.h. */
#include "beam/resolve/kind.h"

#include <stddef.h>
#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/process/process.h"

static bool begins(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix) {
		text++;
		prefix++;
	}
	return !*prefix;
}

/* C functions that determine the kind of a sample; a name matches by its beginning. */
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
	{"full_sweep_heaps", SAMPLE_FULL_GC},
	{"enc_term", SAMPLE_TERM_FORMAT},
	{"dec_term", SAMPLE_TERM_FORMAT},
	{"encode_size_struct", SAMPLE_TERM_FORMAT},
	{"decoded_size", SAMPLE_TERM_FORMAT},
	{"erts_encode_", SAMPLE_TERM_FORMAT},
	{"erts_decode_", SAMPLE_TERM_FORMAT},
	{"erts_term_to_binary", SAMPLE_TERM_FORMAT},
	{"binary_to_term", SAMPLE_TERM_FORMAT},
	{"erts_pcre_", SAMPLE_REGEXP},
	{"pcre2_", SAMPLE_REGEXP},
	{"erts_bs_", SAMPLE_BINARY},
	{"erts_new_bs_", SAMPLE_BINARY},
	{"erts_alcu_", SAMPLE_ALLOC},
	{"erts_mseg_", SAMPLE_ALLOC},
	{"erts_alloc_handle_delayed_dealloc", SAMPLE_ALLOC},
	{"ethr_mutex_", SAMPLE_LOCK},
	{"ethr_rwmutex_", SAMPLE_LOCK},
	{"ethr_spin_lock", SAMPLE_LOCK},
	{"ethr_read_lock", SAMPLE_LOCK},
	{"ethr_write_lock", SAMPLE_LOCK},
	{"erts_proc_lock_", SAMPLE_LOCK},
	{"pthread_mutex_", SAMPLE_LOCK},
	{"__pthread_mutex_", SAMPLE_LOCK},
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

/* BIFs whose time has a kind of its own; "erlang" includes erts_internal, NULL: all of a module. */
static const struct {
	const char *module, *name;
	enum sample_kind kind;
} by_bif[] = {
	{"ets", NULL, SAMPLE_ETS},
	{"code", NULL, SAMPLE_CODE},
	{"re", NULL, SAMPLE_REGEXP},
	{"binary", NULL, SAMPLE_BINARY},
	{"erlang", "port_command", SAMPLE_PORT},
	{"erlang", "port_control", SAMPLE_PORT},
	{"erlang", "port_connect", SAMPLE_PORT},
	{"erlang", "port_close", SAMPLE_PORT},
	{"erlang", "port_call", SAMPLE_PORT},
	{"erlang", "open_port", SAMPLE_PORT},
	{"erlang", "port_info", SAMPLE_PORT},
	{"erlang", "port_set_data", SAMPLE_PORT},
	{"erlang", "port_get_data", SAMPLE_PORT},
	{"erlang", "prepare_loading", SAMPLE_CODE},
	{"erlang", "finish_loading", SAMPLE_CODE},
	{"erlang", "load_module", SAMPLE_CODE},
	{"erlang", "check_process_code", SAMPLE_CODE},
	{"erlang", "purge_module", SAMPLE_CODE},
	{"erlang", "delete_module", SAMPLE_CODE},
	{"erlang", "make_stub_module", SAMPLE_CODE},
	{"erlang", "finish_after_on_load", SAMPLE_CODE},
	{"erlang", "load_nif", SAMPLE_CODE},
	{"erlang", "re_run", SAMPLE_REGEXP},
	{"erlang", "term_to_binary", SAMPLE_TERM_FORMAT},
	{"erlang", "term_to_iovec", SAMPLE_TERM_FORMAT},
	{"erlang", "binary_to_term", SAMPLE_TERM_FORMAT},
	{"erlang", "external_size", SAMPLE_TERM_FORMAT},
	{"erlang", "binary_copy", SAMPLE_BINARY},
	{"erlang", "binary_find", SAMPLE_BINARY},
	{"erlang", "binary_longest_prefix", SAMPLE_BINARY},
	{"erlang", "binary_longest_suffix", SAMPLE_BINARY},
	{"erlang", "binary_part", SAMPLE_BINARY},
	{"erlang", "binary_to_list", SAMPLE_BINARY},
	{"erlang", "bitstring_to_list", SAMPLE_BINARY},
	{"erlang", "iolist_size", SAMPLE_BINARY},
	{"erlang", "iolist_to_binary", SAMPLE_BINARY},
	{"erlang", "iolist_to_iovec", SAMPLE_BINARY},
	{"erlang", "list_to_binary", SAMPLE_BINARY},
	{"erlang", "list_to_bitstring", SAMPLE_BINARY},
	{"erlang", "split_binary", SAMPLE_BINARY},
};

/* A BIF that traps goes on in another, as binary_to_list/1 in binary_to_list_continue/1. */
static bool is_bif(const char *name, const char *bif)
{
	size_t len = strlen(bif);

	return begins(name, bif) && (!name[len] || strcmp(name + len, "_continue") == 0 ||
				     strcmp(name + len, "_trap") == 0);
}

static enum sample_kind kind_by_bif(const char *module, const char *name)
{
	if (strcmp(module, "erts_internal") == 0)
		module = "erlang";
	for (size_t i = 0; i < ARRAY_SIZE(by_bif); i++) {
		if (strcmp(module, by_bif[i].module) == 0 &&
		    (!by_bif[i].name || is_bif(name, by_bif[i].name)))
			return by_bif[i].kind;
	}
	return SAMPLE_BIF;
}

static enum sample_kind kind_of_function(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(by_function); i++) {
		if (begins(name, by_function[i].prefix))
			return by_function[i].kind;
	}
	return NR_SAMPLE_KINDS;
}

void native_kinds_add(struct native_kinds *k, const char *symbol)
{
	enum sample_kind kind = kind_of_function(symbol);

	if (kind == SAMPLE_LOCK) {
		k->lock = true;
		k->process_lock |= begins(symbol, "erts_proc_lock_");
		k->mutex |= begins(symbol, "pthread_mutex_") || begins(symbol, "__pthread_mutex_");
		if (k->outermost == SAMPLE_WAIT) /* ethr_event_wait(), for the lock */
			k->outermost = NR_SAMPLE_KINDS;
	} else if (kind == SAMPLE_FULL_GC) {
		k->full_gc = true;
	} else if (kind != NR_SAMPLE_KINDS) {
		k->outermost = kind;
	}
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

/* A scheduler that sleeps waits in ethr_event_wait(), which is not for a lock. */
static bool waits_for_lock(const struct kind_evidence *e)
{
	return e->native.lock && e->native.outermost != SAMPLE_WAIT;
}

/* Kind of a sample of a scheduler that runs no process. */
static enum sample_kind kind_of_scheduler(const struct kind_evidence *e)
{
	enum sample_kind kind;

	if (e->raw->port_id)
		return SAMPLE_PORT;
	if (kind_by_kernel(e, &kind))
		return kind == SAMPLE_WAIT && waits_for_lock(e) ? SAMPLE_LOCK : kind;
	if (e->native.outermost != NR_SAMPLE_KINDS)
		return e->native.outermost;
	/* The flag is set while it waits busily, too, and just before and after it sleeps. */
	return e->raw->sleep_flags & SSI_FLG_WAITING ? SAMPLE_WAIT : SAMPLE_SCHEDULER;
}

/* Copying and collecting are what they are whatever BIF they are for; work of a BIF that has a kind
 * has that, and of any other BIF the kind that its C functions say. */
static enum sample_kind kind_of_bif(const struct kind_evidence *e)
{
	enum sample_kind kind = e->nif ? SAMPLE_NIF : kind_by_bif(e->bif_module, e->bif_name);

	switch (kind) {
	case SAMPLE_NIF:
	case SAMPLE_ETS:
	case SAMPLE_PORT:
	case SAMPLE_CODE:
		return kind;
	default:
		break;
	}
	switch (e->native.outermost) {
	case SAMPLE_COPY:
	case SAMPLE_GC:
		return e->native.outermost;
	case SAMPLE_TERM_FORMAT:
	case SAMPLE_REGEXP:
	case SAMPLE_BINARY:
	case SAMPLE_ALLOC:
		return kind == SAMPLE_BIF ? e->native.outermost : kind;
	default:
		return kind;
	}
}

static bool fragment_starts(const struct kind_evidence *e, const char *prefix)
{
	return e->fragment && begins(e->fragment, prefix);
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
	if (e->native.outermost != NR_SAMPLE_KINDS)
		return e->native.outermost;
	/* A helper of the VM that the code of the process called: microstate accounting counts it
	 * as emulator.  If no Erlang code called it, as on a dirty scheduler, it is the scheduler's
	 * own work. */
	return e->raw->place == PLACE_C_FROM_JIT || e->raw->place == PLACE_INTERPRETER
		       ? SAMPLE_ERLANG
		       : SAMPLE_SCHEDULER;
}

static enum sample_kind kind_of_thread(const struct kind_evidence *e)
{
	if (e->thread == THREAD_OTHER)
		return SAMPLE_OTHER;
	if (e->raw->process)
		return kind_of_process(e);
	if (e->thread == THREAD_UNKNOWN)
		return SAMPLE_OTHER;
	return kind_of_scheduler(e);
}

enum sample_kind kind_of_sample(const struct kind_evidence *e)
{
	enum sample_kind kind = kind_of_thread(e);

	switch (kind) {
	case SAMPLE_GC:
		return e->native.full_gc ? SAMPLE_FULL_GC : kind;
	case SAMPLE_NIF:
	case SAMPLE_LITERAL_GC:
	case SAMPLE_POLL:
	case SAMPLE_WAIT:
	case SAMPLE_OTHER:
		return kind;
	default:
		return e->native.lock ? SAMPLE_LOCK : kind;
	}
}
