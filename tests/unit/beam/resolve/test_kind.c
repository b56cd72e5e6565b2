/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread was doing: each rule, on evidence with symbols and on what is left without them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/resolve/kind.h"

#define PROCESS 0x7f0000001000ull
#define PORT	0x87ull

struct row {
	const char *what;
	enum sample_kind kind;
	enum thread_type thread;
	uint64_t process, port;
	enum code_place place;
	uint32_t state, flags;
	const char *bif; /* "module:name", of a NIF with "nif " in front */
	const char *fragment, *native, *entry;
	const char *outer;     /* the function that called `native` */
	const char *kernel[4]; /* leaf first */
};

/* Where a thread stood. */
#define IN_JIT	       .thread = THREAD_NORMAL, .process = PROCESS, .place = PLACE_JIT
#define IN_RUNTIME     .thread = THREAD_NORMAL, .process = PROCESS, .place = PLACE_JIT_RUNTIME
#define IN_C	       .thread = THREAD_NORMAL, .process = PROCESS, .place = PLACE_C_FROM_JIT
#define IN_LOOP	       .thread = THREAD_NORMAL, .process = PROCESS, .place = PLACE_C_PROCESS
#define DIRTY_CPU      .thread = THREAD_DIRTY_CPU, .process = PROCESS, .place = PLACE_C_PROCESS
#define DIRTY_IO       .thread = THREAD_DIRTY_IO, .process = PROCESS, .place = PLACE_C_PROCESS
#define PORT_TASK      .thread = THREAD_NORMAL, .port = PORT, .place = PLACE_OTHER
#define IDLE	       .thread = THREAD_NORMAL, .place = PLACE_OTHER
#define IDLE_RUNTIME   .thread = THREAD_NORMAL, .place = PLACE_JIT_RUNTIME
#define IDLE_DIRTY_CPU .thread = THREAD_DIRTY_CPU, .place = PLACE_OTHER
#define IDLE_DIRTY_IO  .thread = THREAD_DIRTY_IO, .place = PLACE_OTHER
#define NO_SCHEDULER   .thread = THREAD_OTHER, .place = PLACE_OTHER
#define UNKNOWN	       .thread = THREAD_UNKNOWN, .place = PLACE_OTHER

static const struct row rows[] = {
	/* in the code of a process */
	{"Erlang code", SAMPLE_ERLANG, IN_JIT},
	{"between code and runtime", SAMPLE_ERLANG, IN_RUNTIME},
	{"helper", SAMPLE_ERLANG, IN_C, .native = "eq", .entry = "eq"},
	{"helper, no symbols", SAMPLE_ERLANG, IN_C},
	{"helper that copies", SAMPLE_COPY, IN_C, .native = "copy_struct_x"},
	{"BIF", SAMPLE_BIF, IN_C, .bif = "lists:reverse", .fragment = "call_light_bif_shared",
	 .native = "lists_reverse_2"},
	{"BIF, no symbols", SAMPLE_BIF, IN_C, .bif = "erlang:integer_to_list",
	 .fragment = "call_light_bif_shared"},
	{"BIF that copies", SAMPLE_COPY, IN_C, .bif = "erlang:send", .native = "copy_struct_x"},
	{"BIF that sends", SAMPLE_COPY, IN_C, .bif = "erlang:send",
	 .native = "erts_queue_proc_message"},
	{"BIF that collects", SAMPLE_GC, IN_C, .bif = "erlang:hibernate",
	 .native = "erts_garbage_collect_hibernate"},
	{"BIF that polls is still a BIF", SAMPLE_BIF, IN_C, .bif = "erlang:display",
	 .native = "erts_poll_wait"},
	{"NIF", SAMPLE_NIF, IN_C, .bif = "nif crypto:hash", .fragment = "call_nif_shared",
	 .native = "SHA256_Update"},
	{"NIF of a module called ets", SAMPLE_NIF, IN_C, .bif = "nif ets:x"},
	{"NIF in the kernel", SAMPLE_NIF, IN_C, .bif = "nif prim_file:read_nif",
	 .kernel = {"do_futex"}},

	/* ETS, ports, code: by module and name of the BIF */
	{"ETS", SAMPLE_ETS, IN_C, .bif = "ets:lookup", .native = "db_get_hash"},
	{"ETS, no symbols", SAMPLE_ETS, IN_C, .bif = "ets:insert"},
	{"ETS that copies", SAMPLE_ETS, IN_C, .bif = "ets:insert", .native = "copy_struct_x"},
	{"port command", SAMPLE_PORT, IN_C, .bif = "erlang:port_command"},
	{"port control", SAMPLE_PORT, IN_C, .bif = "erts_internal:port_control"},
	{"open port", SAMPLE_PORT, IN_C, .bif = "erts_internal:open_port"},
	{"not the port BIF of another module", SAMPLE_BIF, IN_C, .bif = "mine:port_command"},
	{"code loading", SAMPLE_CODE, IN_C, .bif = "erlang:prepare_loading"},
	{"code purging", SAMPLE_CODE, IN_C, .bif = "erts_internal:check_process_code"},
	{"module code", SAMPLE_CODE, IN_C, .bif = "code:is_module_native"},
	{"no code loading of another module", SAMPLE_BIF, IN_C, .bif = "mine:load_nif"},

	/* garbage collection, whatever runs */
	{"flag, in Erlang code", SAMPLE_GC, IN_JIT, .state = PSFLG_GC},
	{"flag, in a BIF", SAMPLE_GC, IN_C, .state = PSFLG_GC, .bif = "lists:reverse"},
	{"flag, dirty", SAMPLE_GC, DIRTY_CPU, .state = PSFLG_GC},
	{"other flags", SAMPLE_ERLANG, IN_JIT, .state = ~PSFLG_GC},
	{"fragment", SAMPLE_GC, IN_C, .fragment = "garbage_collect"},
	{"entry", SAMPLE_GC, IN_C, .entry = "erts_garbage_collect_nobump"},
	{"after a BIF", SAMPLE_GC, IN_C, .entry = "erts_gc_after_bif_call_lhf"},

	{"full sweep", SAMPLE_FULL_GC, IN_C, .state = PSFLG_GC, .native = "sweep_new_heap",
	 .outer = "full_sweep_heaps.isra.0"},
	{"full sweep, dirty", SAMPLE_FULL_GC, DIRTY_CPU, .native = "full_sweep_heaps",
	 .outer = "erts_garbage_collect_nobump"},
	{"collection that allocates, and takes a lock for it", SAMPLE_GC, IN_C, .state = PSFLG_GC,
	 .native = "ethr_mutex_lock", .outer = "erts_alcu_alloc"},

	/* by names of C functions, or of the BIF */
	{"lock of a table", SAMPLE_LOCK, IN_C, .bif = "ets:insert", .native = "ethr_rwmutex_rwlock",
	 .outer = "db_put_hash"},
	{"lock of a process", SAMPLE_LOCK, IN_C, .bif = "erlang:send",
	 .native = "erts_proc_lock_failed"},
	{"lock of a scheduler", SAMPLE_LOCK, IDLE, .native = "pthread_mutex_lock",
	 .outer = "ethr_mutex_lock"},
	{"waiting for a lock", SAMPLE_LOCK, IN_C, .native = "ethr_event_wait",
	 .outer = "ethr_mutex_lock"},
	{"a scheduler, in the kernel", SAMPLE_LOCK, IDLE, .native = "pthread_mutex_lock",
	 .kernel = {"futex_wait", "do_futex"}},
	{"binary:split/2 after its trap", SAMPLE_BINARY, IN_C, .bif = "erlang:binary_find_trap"},
	{"lock of a NIF", SAMPLE_NIF, IN_C, .bif = "nif mine:f", .native = "pthread_mutex_lock"},
	{"going to sleep takes a lock", SAMPLE_POLL, IDLE, .native = "ethr_mutex_lock",
	 .outer = "erts_check_io"},
	{"allocation of a BIF", SAMPLE_ALLOC, IN_C, .bif = "erlang:spawn_opt",
	 .native = "mbc_alloc", .outer = "erts_alcu_alloc_thr_pref"},
	{"allocation for a table", SAMPLE_ETS, IN_C, .bif = "ets:insert",
	 .native = "erts_alcu_alloc_ts", .outer = "db_put_hash"},
	{"allocation for a message", SAMPLE_COPY, IN_C, .native = "erts_alcu_alloc_ts",
	 .outer = "erts_send_message"},
	{"memory freed by others", SAMPLE_ALLOC, IDLE,
	 .native = "erts_alloc_handle_delayed_dealloc"},
	{"term format, no symbols", SAMPLE_TERM_FORMAT, IN_C, .bif = "erlang:binary_to_term"},
	{"term format that allocates", SAMPLE_TERM_FORMAT, IN_C, .bif = "erlang:term_to_binary",
	 .native = "erts_alcu_realloc_ts"},
	{"distribution", SAMPLE_TERM_FORMAT, IN_C, .bif = "erlang:send", .native = "enc_term_int",
	 .outer = "erts_encode_dist_ext"},
	{"terms of a compressed table", SAMPLE_ETS, IN_C, .bif = "ets:lookup", .native = "dec_term",
	 .outer = "db_get_hash"},
	{"regular expression", SAMPLE_REGEXP, IN_C, .bif = "re:run", .native = "pcre2_match_8"},
	{"regular expression, in its trap", SAMPLE_REGEXP, IN_C, .native = "match",
	 .outer = "erts_pcre_exec"},
	{"binary BIF", SAMPLE_BINARY, IN_C, .bif = "binary:split"},
	{"BIF that goes on after a trap", SAMPLE_BINARY, IN_C,
	 .bif = "erts_internal:list_to_binary_continue"},
	{"binary BIF that collects", SAMPLE_GC, IN_C, .bif = "binary:split",
	 .native = "erts_garbage_collect_nobump"},
	{"bits matched by Erlang code", SAMPLE_BINARY, IN_C, .native = "erts_bs_get_integer_2"},

	/* what others had a process do */
	{"system task", SAMPLE_TASK, IN_C, .state = 1u << 21, .fragment = "process_main"},
	{"system task, with symbols", SAMPLE_TASK, IN_C, .state = 1u << 21,
	 .entry = "erts_schedule", .native = "copy_struct_x"},
	{"system task without JIT code", SAMPLE_TASK, IN_LOOP, .state = 1u << 21},
	{"system task that collects", SAMPLE_GC, IN_C, .state = PSFLG_GC | 1u << 21},
	{"search for literals", SAMPLE_LITERAL_GC, IN_C, .state = 1u << 21,
	 .flags = RAW_SAMPLE_LITERALS},
	{"literals that are copied", SAMPLE_LITERAL_GC, IN_LOOP, .state = PSFLG_GC | 1u << 21,
	 .flags = RAW_SAMPLE_LITERALS},
	{"none on dirty schedulers", SAMPLE_SCHEDULER, DIRTY_CPU, .state = 1u << 21 | 1u << 30},
	{"dirty, another handles its signals", SAMPLE_NIF, DIRTY_IO, .state = 1u << 21,
	 .bif = "nif prim_file:write_nif"},

	/* the scheduler, for a process */
	{"schedule", SAMPLE_SCHEDULER, IN_C, .entry = "erts_schedule", .fragment = "process_main"},
	{"schedule, no symbols", SAMPLE_SCHEDULER, IN_C, .fragment = "process_main"},
	{"context switch", SAMPLE_SCHEDULER, IN_C, .fragment = "context_switch_simplified"},
	{"do_schedule", SAMPLE_SCHEDULER, IN_C, .fragment = "do_schedule"},
	{"C with a process", SAMPLE_SCHEDULER, IN_LOOP},
	{"timers with a process", SAMPLE_TIMER, IN_LOOP, .native = "erts_bump_timers"},

	/* dirty schedulers */
	{"dirty NIF", SAMPLE_NIF, DIRTY_IO, .bif = "nif prim_file:write_nif"},
	{"dirty BIF", SAMPLE_BIF, DIRTY_CPU, .bif = "erts_debug:dirty_cpu"},
	{"dirty, nothing known", SAMPLE_SCHEDULER, DIRTY_CPU},

	/* schedulers without a process */
	{"port task", SAMPLE_PORT, PORT_TASK, .native = "writev"},
	{"port task in the kernel", SAMPLE_PORT, PORT_TASK,
	 .kernel = {"tcp_sendmsg", "do_epoll_wait"}},
	{"polling", SAMPLE_POLL, IDLE, .kernel = {"schedule", "ep_poll", "do_epoll_wait"}},
	{"polling, user side", SAMPLE_POLL, IDLE, .native = "erts_check_io"},
	{"select", SAMPLE_POLL, IDLE, .kernel = {"core_sys_select"}},
	{"poll", SAMPLE_POLL, IDLE_DIRTY_IO, .kernel = {"do_sys_poll"}},
	{"going to sleep", SAMPLE_WAIT, IDLE, .native = "syscall",
	 .kernel = {"futex_wait_queue", "futex_wait", "do_futex"}},
	{"sleeping, other kernels", SAMPLE_WAIT, IDLE_DIRTY_CPU,
	 .kernel = {"schedule", "do_futex"}},
	{"waking another", SAMPLE_SCHEDULER, IDLE,
	 .kernel = {"try_to_wake_up", "futex_wake", "do_futex"}},
	{"yielding", SAMPLE_WAIT, IDLE, .kernel = {"__x64_sys_sched_yield"}},
	{"spinning", SAMPLE_WAIT, IDLE, .native = "ethr_event_swait"},
	{"timers", SAMPLE_TIMER, IDLE, .native = "erts_twheel_bump_timers"},
	{"next timeout", SAMPLE_TIMER, IDLE, .native = "erts_check_next_timeout_time"},
	{"port task, by symbol", SAMPLE_PORT, IDLE, .native = "erts_port_task_execute"},
	{"looking for work", SAMPLE_SCHEDULER, IDLE, .native = "erts_schedule"},
	{"looking for work, no symbols", SAMPLE_SCHEDULER, IDLE},
	{"a page fault says nothing", SAMPLE_SCHEDULER, IDLE,
	 .kernel = {"handle_mm_fault", "exc_page_fault"}},
	{"in JIT code without a process", SAMPLE_SCHEDULER, IDLE_RUNTIME},

	/* not schedulers */
	{"poll thread", SAMPLE_OTHER, NO_SCHEDULER, .kernel = {"ep_poll"}},
	{"async thread", SAMPLE_OTHER, NO_SCHEDULER, .native = "do_futex"},
	{"unknown thread", SAMPLE_OTHER, UNKNOWN},
};

static enum sample_kind kind_of_row(const struct row *row)
{
	struct rec_raw_sample raw = {
		.process = row->process,
		.port_id = row->port,
		.place = (uint8_t)row->place,
		.process_state = row->state,
		.flags = (uint8_t)row->flags,
		.thread_type = (uint8_t)row->thread,
	};
	struct kind_evidence e = {
		.raw = &raw,
		.thread = row->thread,
		.fragment = row->fragment,
		.native = NATIVE_KINDS_NONE,
		.entry = row->entry,
		.kernel = row->kernel,
	};
	char module[64] = "";
	const char *bif = row->bif;

	native_kinds_add(&e.native, row->native);
	native_kinds_add(&e.native, row->outer);
	while (e.nr_kernel < ARRAY_SIZE(row->kernel) && row->kernel[e.nr_kernel])
		e.nr_kernel++;
	if (bif && strncmp(bif, "nif ", 4) == 0) {
		e.nif = true;
		bif += 4;
	}
	if (bif) {
		strncat(module, bif, strcspn(bif, ":"));
		e.bif_module = module;
		e.bif_name = strchr(bif, ':') + 1;
	}
	return kind_of_sample(&e);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		enum sample_kind kind = kind_of_row(&rows[i]);

		if (kind != rows[i].kind)
			fail_msg("%s: kind %d, not %d", rows[i].what, kind, rows[i].kind);
	}
}

/* Names that only begin like a rule's, or hold it, are others. */
static void test_names_are_exact(void **state)
{
	static const struct row near[] = {
		{"inner", SAMPLE_SCHEDULER, IDLE, .native = "my_copy_struct"},
		{"kernel", SAMPLE_SCHEDULER, IDLE, .kernel = {"ep_poll_x"}},
		{"empty", SAMPLE_SCHEDULER, IDLE, .native = ""},
		{"bif", SAMPLE_BIF, IN_C, .bif = "etsx:f"},
		{"port", SAMPLE_BIF, IN_C, .bif = "erlang:port_command_x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(near); i++)
		assert_int_equal(kind_of_row(&near[i]), near[i].kind);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_names_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
