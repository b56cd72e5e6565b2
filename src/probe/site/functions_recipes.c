/* SPDX-License-Identifier: BSD-2-Clause */
/* Recipes for functions that have no symbol.  What each row relies on is in the sources of OTP
 * 25, 27 and 29, in erts/emulator/beam unless said otherwise: jit/x86 for fragments (@), bif.c
 * for BIFs, else the file of the function itself. */
#include "base/compiler.h"
#include "probe/site/functions_internal.h"

/* Least number of calls with `system` as sender; there are 20 to 30 in OTP 25 to 29. */
#define SYSTEM_MESSAGES_MIN 8

static bool calls(struct functions *f, uint64_t addr, const char *name)
{
	const struct function_set *set = functions_callees(f, addr);
	uint64_t target;

	return set && functions_find(f, name, &target) && function_set_has(set, target);
}

static unsigned int nr_shared(const struct function_set *a, const struct function_set *b)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < a->at.len; i++)
		nr += function_set_has(b, a->at.data[i]);
	return nr;
}

static bool is_same(const struct function_set *a, const struct function_set *b)
{
	return a->at.len == b->at.len && nr_shared(a, b) == a->at.len;
}

/* Conditions (recipe.fits) on a candidate for a function: `addr` is the candidate, `all` are all
 * candidates that the clues leave. */

/* erts_queue_message(..., am_system): nothing else is called with that atom so often. */
static bool takes_system_messages(struct functions *f, uint64_t addr,
				  const struct function_set *all)
{
	unsigned int own, other;

	(void)all;
	functions_fifth_atom(f, "system", addr, &own, &other);
	return own >= SYSTEM_MESSAGES_MIN && own >= 4 * other;
}

/* It calls the same one or two functions as erts_queue_message(). */
static bool is_twin_of_queue_message(struct functions *f, uint64_t addr,
				     const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *other;
	uint64_t twin;

	(void)all;
	if (!own || !functions_find(f, "erts_queue_message", &twin) || twin == addr)
		return false;
	other = functions_callees(f, twin);
	return other && own->at.len >= 1 && own->at.len <= 2 && is_same(own, other);
}

/* It calls the same functions as erts_queue_proc_message(), of which the caller has an inlined
 * copy. */
static bool is_rest_of_queue_message(struct functions *f, uint64_t addr,
				     const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *other;
	uint64_t whole;

	if (!own || !functions_find(f, "erts_queue_proc_message", &whole) ||
	    function_set_has(all, whole))
		return false;
	other = functions_callees(f, whole);
	return other && is_same(own, other);
}

static bool queues_for_process(struct functions *f, uint64_t addr, const struct function_set *all)
{
	(void)all;
	return calls(f, addr, "erts_queue_proc_message");
}

/* It calls at least two of the other candidates: these are erts_alloc_message_ref() and what that
 * calls when memory runs out. */
static bool calls_two_others(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr);

	return own && nr_shared(all, own) >= 2;
}

static bool sends_on_heap(struct functions *f, uint64_t addr, const struct function_set *all)
{
	(void)all;
	return calls(f, addr, "erts_try_alloc_message_on_heap") &&
	       !calls(f, addr, "erts_queue_proc_message");
}

/* It calls seq_trace_update_serial() and seq_trace_output_generic(), the two functions that
 * enif_send(), do_send() and erts_send_message() all call. */
static bool traces_sequence(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *one, *two, *three;
	uint64_t nif, send, local;
	unsigned int nr = 0, shared = 0;

	(void)all;
	if (!own || !functions_find(f, "enif_send", &nif) || !functions_find(f, "do_send", &send) ||
	    !functions_find(f, "erts_send_message", &local))
		return false;
	one = functions_callees(f, nif);
	two = functions_callees(f, send);
	three = functions_callees(f, local);
	for (size_t i = 0; one && two && three && i < one->at.len; i++) {
		uint64_t at = one->at.data[i];

		if (!function_set_has(two, at) || !function_set_has(three, at))
			continue;
		nr++;
		shared += function_set_has(own, at);
	}
	return nr == 2 && shared == 2;
}

/* It only makes a tail call, to a function that a callee of unlink/1 calls as well.  That callee
 * also calls erts_proc_sig_make_unlink_op(), as unlink/1 itself does for ports. */
static bool only_sends_signal(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *unlink;
	uint64_t bif;
	bool yes = false;

	(void)all;
	if (!functions_only_jumps(f, addr) || !own || own->at.len != 1 ||
	    !functions_bif(f, "erlang:unlink/1", &bif))
		return false;
	unlink = functions_callees(f, bif);
	for (size_t i = 0; unlink && i < unlink->at.len && !yes; i++) {
		const struct function_set *s = functions_callees(f, unlink->at.data[i]);

		yes = s && function_set_has(s, own->at.data[0]) && nr_shared(s, unlink) > 0;
	}
	return yes;
}

/* It calls the function that erts_proc_sig_send_link() calls, which sends the signal. */
static bool sends_signal(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *link;
	uint64_t twin;

	(void)all;
	if (!own || !functions_find(f, "erts_proc_sig_send_link", &twin))
		return false;
	link = functions_callees(f, twin);
	return link && link->at.len == 1 && function_set_has(own, link->at.data[0]);
}

/* It ends a process that has no catch: calls erts_do_exit_process() itself, or by way of
 * terminate_proc() if that is not inlined. */
static bool ends_processes(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr);
	bool yes = calls(f, addr, "erts_do_exit_process");

	(void)all;
	for (size_t i = 0; own && i < own->at.len && !yes; i++)
		yes = calls(f, own->at.data[i], "erts_do_exit_process");
	return yes;
}

static bool unregisters(struct functions *f, uint64_t addr, const struct function_set *all)
{
	(void)all;
	return calls(f, addr, "erts_unregister_name");
}

static bool sets_limits_of_queue(struct functions *f, uint64_t addr, const struct function_set *all)
{
	(void)all;
	return calls(f, addr, "erl_drv_busy_msgq_limits");
}

/* It calls erts_port_handle_xports(), which the exit and the opening of a port call, too. */
static bool runs_ports(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *exit, *open;
	uint64_t exit_at, open_at, first;
	bool yes = false;

	(void)all;
	if (!own || !functions_find(f, "erts_deliver_port_exit", &exit_at) ||
	    !functions_find(f, "erts_open_driver", &open_at) ||
	    !functions_find(f, "erts_port_connect", &first))
		return false;
	exit = functions_callees(f, exit_at);
	open = functions_callees(f, open_at);
	for (size_t i = 0; exit && open && i < own->at.len; i++) {
		uint64_t at = own->at.data[i];

		/* erts_port_handle_xports() comes before erts_port_connect() in the same file. */
		yes |= at < first && function_set_has(exit, at) && function_set_has(open, at);
	}
	return yes;
}

/* It calls erl_create_process(), as a remote node may ask for a spawn, or (OTP 29) jumps to the
 * function that does. */
static bool makes_processes(struct functions *f, uint64_t addr, const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr);

	(void)all;
	if (own && own->at.len == 1 && functions_only_jumps(f, addr))
		addr = own->at.data[0];
	return calls(f, addr, "erl_create_process");
}

/* It shares QUEUES_SHARED_MIN callees or more with queue_messages(), which erts_queue_message()
 * calls: for the lock of the outer queue, its buffers, the wake-up.  Other candidates share up to
 * 5. */
#define QUEUES_SHARED_MIN 6
static bool queues_like_a_message(struct functions *f, uint64_t addr,
				  const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *queue, *step;
	uint64_t twin, create;
	bool yes = false;

	(void)all;
	if (!own || !functions_find(f, "erts_queue_message", &twin) ||
	    !functions_find(f, "erl_create_process", &create))
		return false;
	/* erl_create_process() queues a message for the new process, and is among the
	 * candidates. */
	if (addr == create)
		return false;
	queue = functions_callees(f, twin);
	for (size_t i = 0; queue && i < queue->at.len; i++) {
		step = functions_callees(f, queue->at.data[i]);
		yes |= step && nr_shared(own, step) >= QUEUES_SHARED_MIN;
	}
	return yes;
}

/* It copies a message as erts_queue_dist_message() does (COPIES_SHARED_MIN shared callees), and
 * queues it as a signal. */
#define COPIES_SHARED_MIN 6
static bool signals_message_of_node(struct functions *f, uint64_t addr,
				    const struct function_set *all)
{
	const struct function_set *own = functions_callees(f, addr), *other;
	uint64_t twin;

	if (!sends_signal(f, addr, all) || !functions_find(f, "erts_queue_dist_message", &twin))
		return false;
	other = functions_callees(f, twin);
	return other && nr_shared(own, other) >= COPIES_SHARED_MIN;
}

#define BY(...)	 .called_by = {__VA_ARGS__}
#define NOT(...) .not_by = {__VA_ARGS__}
/* In io.c, of which link/1, unlink/1 and the BIFs of ports call few other functions. */
#define IN_IO_C .after = "erts_port_connect", .before = "driver_failure"

/* clang-format off */
const struct recipe function_recipes[] = {
	/* The only C function that the fragment calls. */
	{"erts_garbage_collect_nobump", BY("@garbage_collect")},
	{"erts_do_exit_process", BY("@normal_exit")},
	/* All fragments that raise end in the first, those that find no function to call in the
	 * second. */
	{"handle_error", BY("@raise_exception_shared", "@process_exit"), NOT("@normal_exit"),
		.fits = ends_processes},
	{"erts_gc_after_bif_call_lhf", BY("@call_light_bif_shared", "@call_bif_shared>")},
	/* The only call whose result is the process that runs next. */
	{"erts_schedule", BY("@process_main"), .process = true},
	{"beam_jit_remove_message", BY("$remove_message")},
	{"beam_jit_call_nif", BY("@call_nif_shared"), NOT("@call_bif_shared")},

	/* BIFs that call little else. */
	{"erts_garbage_collect",
		BY("erts_internal:garbage_collect/1", "@update_map_assoc_shared>")},
	{"erl_create_process", BY("erlang:spawn/3", "erlang:spawn_link/3", "erlang:spawn_opt/4"),
		NOT("erlang:send/3")},
	{"erts_register_name", BY("erlang:register/2"), NOT("erlang:send/3")},
	{"erts_unregister_name", BY("erlang:unregister/1"), NOT("erlang:send/3")},
	{"erts_hibernate", BY("erlang:hibernate/3"), NOT("erlang:send/3")},

	/* Messages.  send/2 and send/3 share do_send(). */
	{"do_send", BY("erlang:send/2", "erlang:send/3"),
		NOT("erlang:spawn/3", "erts_internal:port_close/1"), .step = true},
	{"erts_send_message", BY("do_send"), .fits = queues_for_process},
	{"erts_queue_message", BY("enif_send"), .fits = takes_system_messages},
	{"erts_queue_proc_message", BY("enif_send", "do_send>"), .fits = is_twin_of_queue_message,
		.caller = "erts_send_message", .rest = "queue_messages"},
	{"queue_messages", BY("erts_send_message"), .fits = is_rest_of_queue_message,
		.not_by_symbol = true, .until_otp = 24},
	{"erts_try_alloc_message_on_heap", BY("enif_send", "erts_send_message"),
		NOT("enif_make_copy", "do_send"), .fits = calls_two_others},
	{"erts_proc_sig_send_altact_msg", BY("do_send"), .fits = sends_on_heap, .from_otp = 28},
	{"erts_proc_sig_send_to_alias", BY("do_send"), .fits = sends_on_heap, .until_otp = 27},
	{"erts_dsig_send_msg", BY("do_send>"), NOT("do_send", "enif_send"),
		.fits = traces_sequence, .from_otp = 28},

	/* Data that comes from a connection to another node. */
	{"erts_net_message", BY("driver_output_binary", "driver_output2"),
		.fits = makes_processes, .step = true},
	{"erts_queue_dist_message", BY("erts_net_message"), .fits = queues_like_a_message},
	{"erts_proc_sig_send_dist_altact_msg", BY("erts_net_message"),
		.fits = signals_message_of_node, .from_otp = 28},
	{"erts_proc_sig_send_dist_to_alias", BY("erts_net_message"),
		.fits = signals_message_of_node, .until_otp = 27},

	{"copy_struct_x", BY("enif_make_copy", "enif_send", "erts_send_message"),
		NOT("erts_debug:flat_size/1")},
	{"erts_suspend", BY("erts_internal:port_command/3", "do_send"),
		NOT("erts_internal:port_close/1")},

	/* Links. */
	{"erts_proc_sig_send_link", BY("erlang:link/1"), .fits = only_sends_signal},
	{"erts_proc_sig_send_unlink", BY("erlang:unlink/1"), .fits = sends_signal},

	/* Ports. */
	{"erts_port_connect", BY("erts_internal:port_connect/2"),
		NOT("erts_internal:port_close/1")},
	{"erts_port_exit", BY("erts_internal:port_close/1"), NOT("erts_internal:port_connect/2")},
	{"erts_port_output", BY("erts_internal:port_command/3"),
		NOT("erts_internal:port_close/1", "do_send")},
	{"erts_port_control", BY("erts_internal:port_control/3"), IN_IO_C},
	{"erts_port_link", BY("erlang:link/1"), IN_IO_C},
	{"erts_port_unlink", BY("erlang:unlink/1"), IN_IO_C},
	{"erts_deliver_port_exit", BY("driver_failure", "erts_port_exit"), .fits = unregisters},
	{"erts_port_task_execute", BY("erts_schedule"), .fits = runs_ports},
	{"erts_add_driver_entry", BY("add_driver_entry"),
		.after = "erts_port_connect", .before = "add_driver_entry"},
	{"erts_open_driver", BY("erts_internal:open_port/2+"), .fits = sets_limits_of_queue},
};
/* clang-format on */
const unsigned int nr_function_recipes = ARRAY_SIZE(function_recipes);
