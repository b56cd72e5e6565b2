/* SPDX-License-Identifier: BSD-2-Clause */
/* See sources.h.  A kind is available if every function of its rows is found.  The signatures of
 * the functions are at the programs, bpf/event_*.bpf.h. */
#include "probe/site/sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/xalloc.h"
#include "probe/site/driver_sources.h"
#include "probe/site/libc_sources.h"
#include "probe/site/sources_usdt.h"
#include "target/objects.h"

#define KIND(kind) (1ull << EVENT_##kind)
#define GC_KINDS                                                                                   \
	(KIND(GC_MINOR_START) | KIND(GC_MINOR_END) | KIND(GC_MAJOR_START) | KIND(GC_MAJOR_END))
/* Kinds of events that the probe at the end of a collection gives. */
#define COLLECTED_KINDS                                                                            \
	(GC_KINDS | KIND(PROCESS_HEAP_GROW) | KIND(PROCESS_HEAP_SHRINK) | KIND(LONG_GC))
#define SCHEDULE_KINDS (KIND(PROCESS_SCHEDULED) | KIND(LONG_SCHEDULE))
#define NIF_KINDS      (KIND(NIF_ENTRY) | KIND(NIF_RETURN))
#define OUTPUT_KINDS   (KIND(DIST_OUTPUT) | KIND(DIST_OUTPUTV))
#define SIZE_KINDS     (KIND(MESSAGE_SEND) | KIND(MESSAGE_QUEUED))

/* clang-format off */
static const struct source_row {
	uint64_t kinds;
	const char *symbols[3]; /* names in different releases; the first that is found */
	const char *program, *args;
	const char *at_return; /* program at the return; NULL = none */
} rows[] = {
	{KIND(PROCESS_SPAWN) | KIND(PROCESS_LINK) | KIND(PROCESS_RUNNABLE), {"erl_create_process"},
		"event_spawn", "di si dx cx r8", "event_spawn_return"},
	{KIND(PROCESS_EXIT), {"erts_do_exit_process"}, "event_exit", "di si", NULL},
	{KIND(PROCESS_EXCEPTION), {"handle_error"}, "event_error", "di dx", "event_error_return"},
	{KIND(PROCESS_EXCEPTION), {"erts_do_exit_process"}, "event_error_exit", "di si", NULL},
	{KIND(PROCESS_LINK), {"erts_proc_sig_send_link"}, "event_link", "di si dx", NULL},
	{KIND(PROCESS_UNLINK), {"erts_proc_sig_send_unlink"}, "event_unlink", "si dx", NULL},
	{KIND(PROCESS_REGISTER), {"erts_register_name"},
		"event_register", "di si dx", "event_register_return"},
	{KIND(PROCESS_UNREGISTER), {"erts_unregister_name"}, "event_unregister", "di cx", NULL},
	{SCHEDULE_KINDS, {"erts_schedule"},
		"event_schedule", "di si dx", "event_schedule_return"},
	{KIND(PROCESS_RUNNABLE), {"erts_schedule_process"},
		"event_schedule_process", "di", NULL},
	{KIND(PROCESS_RUNNABLE), {"erts_proc_sys_schedule"}, "event_sys_schedule", "di", NULL},
	{KIND(SCHEDULER_ACTIVE), {"erts_thr_progress_active"},
		"event_scheduler_active", "si", NULL},
	/* since OTP 28 also called for hibernate/0, which has no function to continue with */
	{KIND(PROCESS_HIBERNATE), {"erts_hibernate"},
		"event_hibernate", "di si", NULL},
	{KIND(PROCESS_HIBERNATE), {"erts_hibernate"},
		"event_hibernate_arity", "di si dx", NULL},
	{SIZE_KINDS, {"erts_queue_proc_message"},
		"event_queue_proc_message", "di si cx r8", NULL},
	{SIZE_KINDS, {"queue_messages"}, "event_queue_messages", "di cx r8", NULL},
	{SIZE_KINDS, {"erts_try_alloc_message_on_heap"}, "event_alloc_message", "di cx", NULL},
	{KIND(MESSAGE_QUEUED), {"erts_queue_message"}, "event_queue_message", "di dx cx r8", NULL},
	{SIZE_KINDS, {"erts_proc_sig_send_to_alias",
			"erts_proc_sig_send_altact_msg"}, "event_send_to_alias", "di dx r8", NULL},
	{KIND(MESSAGE_QUEUED), {"erts_queue_dist_message"},
		"event_queue_dist_message", "di r9", NULL},
	{KIND(MESSAGE_QUEUED), {"erts_proc_sig_send_dist_to_alias",
			"erts_proc_sig_send_dist_altact_msg"},
		"event_dist_to_alias", "di si", NULL},
	{KIND(MESSAGE_SEND), {"erts_dsig_send_msg"}, "event_send_remote", "di si", NULL},
	{KIND(MESSAGE_SEND), {"erts_dsig_send_reg_msg"},
		"event_send_remote", "di si", NULL},
	/* C++ since OTP 25: (process *, long, ...), since 27 (process *, int, ...) */
	{KIND(MESSAGE_RECEIVE), {"_Z23beam_jit_remove_messageP7processlPmS1_j",
			"_Z23beam_jit_remove_messageP7processiPmS1_j", "beam_jit_remove_message"},
		"event_receive", "di", NULL},
	{COLLECTED_KINDS, {"erts_garbage_collect_nobump"}, "event_gc", "di si", "event_gc_return"},
	{COLLECTED_KINDS, {"erts_garbage_collect"}, "event_gc", "di si", "event_gc_return"},
	{COLLECTED_KINDS, {"erts_gc_after_bif_call_lhf"},
		"event_gc_after_bif", "di", "event_gc_return"},
	{KIND(PORT_OPEN), {"erts_open_driver"},
		"event_port_open", "si", "event_port_open_return"},
	{KIND(PORT_EXIT), {"erts_deliver_port_exit"}, "event_port_exit", "di si dx", NULL},
	{KIND(PORT_COMMAND), {"erts_port_output"}, "event_port_output", "di dx", NULL},
	{KIND(PORT_CONTROL), {"erts_port_control"}, "event_port_control", "di si dx", NULL},
	{KIND(PORT_CONNECT), {"erts_port_connect"}, "event_port_connect", "di dx r8", NULL},
	{KIND(PORT_LINK), {"erts_port_link"}, "event_port_link", "di si", NULL},
	{KIND(PORT_UNLINK), {"erts_port_unlink"}, "event_port_unlink", "di si", NULL},
	{KIND(PORT_SCHEDULED), {"erts_port_task_execute"},
		"event_port_task", "di", "event_port_task_return"},
	{KIND(PORT_BUSY) | KIND(PORT_NOT_BUSY), {"set_busy_port"},
		"event_port_busy", "di si", NULL},
	{KIND(DRIVER_INIT), {"erts_add_driver_entry"}, "event_driver_init", "di", NULL},
	{KIND(PROCESS_EXIT_SIGNAL), {"erts_proc_sig_send_exit"},
		"event_send_exit", "si dx cx", NULL},
	{KIND(PROCESS_EXIT_SIGNAL), {"erts_proc_sig_send_link_exit"},
		"event_send_link_exit", "si dx cx", NULL},
	{KIND(PROCESS_EXIT_SIGNAL), {"erts_proc_sig_send_dist_exit"},
		"event_send_dist_exit", "si dx r9", NULL},
	{KIND(PROCESS_EXIT_SIGNAL), {"erts_proc_sig_send_dist_link_exit"},
		"event_send_dist_exit", "si dx r9", NULL},
	{KIND(COPY_STRUCT), {"copy_struct_x"}, "event_copy_struct", "di si", NULL},
	{KIND(COPY_OBJECT), {"copy_object_x"}, "event_copy_object", "di si", NULL},
	{KIND(COPY_OBJECT), {"copy_struct_x"}, "event_copy_object_struct", "si", NULL},
	/* C++: (process *, void const *, unsigned long *, ..., erl_module_nif *), OTP 25 and 27 */
	{NIF_KINDS, {"_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_E"
			"P14erl_module_nif",
			"beam_jit_call_nif"},
		"event_nif", "di si", "event_nif_return"},
	{NIF_KINDS, {"erts_call_dirty_nif"}, "event_dirty_nif", "si dx", "event_nif_return"},
	{KIND(DIST_MONITOR), {"erts_set_dist_entry_connected"}, "event_node_up", "di dx", NULL},
	{KIND(DIST_MONITOR), {"erts_do_net_exits"}, "event_node_down", "di si", NULL},
	{OUTPUT_KINDS, {"erts_dist_command"},
		"event_dist_command", "di", "event_dist_command_return"},
	{KIND(DIST_PORT_BUSY), {"erts_dsig_send"},
		"event_dsig_send", "di", "event_dsig_send_return"},
	{KIND(DIST_PORT_BUSY), {"erts_suspend"}, "event_suspend", "di", NULL},
	{KIND(DIST_PORT_NOT_BUSY), {"erts_dist_port_not_busy"},
		"event_dist_not_busy", "di", NULL},
	/* Found in the running node, by pointers in its structs. */
	{KIND(CARRIER_CREATE), {"Allctr_t.mseg_alloc"},
		"event_carrier_alloc", "di si dx", "event_carrier_alloc_return"},
	{KIND(CARRIER_CREATE), {"Allctr_t.sys_alloc"},
		"event_carrier_alloc", "di si dx", "event_carrier_alloc_return"},
	{KIND(CARRIER_DESTROY), {"Allctr_t.mseg_dealloc"},
		"event_carrier_free", "di dx cx", NULL},
	{KIND(CARRIER_DESTROY), {"Allctr_t.sys_dealloc"}, "event_carrier_free", "di dx cx", NULL},
	{KIND(CARRIER_RESIZE), {"Allctr_t.mseg_realloc"},
		"event_carrier_mseg_realloc", "di dx cx", "event_carrier_realloc_return"},
	{KIND(CARRIER_RESIZE), {"Allctr_t.sys_realloc"},
		"event_carrier_sys_realloc", "di dx cx", "event_carrier_realloc_return"},
	{KIND(CARRIER_POOL_PUT), {"Allctr_t.remove_mbc"}, "event_carrier_remove", "di si", NULL},
	{KIND(CARRIER_POOL_GET), {"Allctr_t.add_mbc"}, "event_carrier_add", "di si", NULL},
	/* The functions that call these: see carriers_by_callers(). */
	{KIND(CARRIER_CREATE) | KIND(CARRIER_POOL_GET), {"create_carrier"},
		"event_create_carrier", "di", "event_create_carrier_return"},
	{KIND(CARRIER_DESTROY), {"destroy_carrier"}, "event_destroy_carrier", "di si dx", NULL},
	/* Its last argument is the same in all calls. */
	{KIND(CARRIER_RESIZE), {"resize_carrier", "resize_carrier.constprop.0"},
		"event_resize_carrier", "di si", "event_resize_carrier_return"},
	{KIND(CARRIER_POOL_PUT), {"abandon_carrier"}, "event_carrier_remove", "di si", NULL},
};
/* clang-format on */
_Static_assert(2 * ARRAY_SIZE(rows) <= SOURCE_MAX_POINTS + 2, "each row may be two points");

/* Releases for which the rows of a program are used; 0 = no limit. */
static const struct {
	const char *program;
	int from_otp, until_otp;
} limits[] = {
	{"event_hibernate", 0, 27},
	{"event_hibernate_arity", 28, 0},
	{"event_queue_messages", 0, 24},
};

/* Functions that need not exist from some release on: other functions do their work then. */
static const struct {
	const char *symbol;
	int from_otp;
} gone[] = {
	{"erts_dsig_send_reg_msg", 28}, /* erts_dsig_send_msg() sends to names too */
	{"queue_messages", 0},		/* used where erts_queue_proc_message() is not called */
};

/* False if the row is not for this release. */
static bool is_for(const struct source_row *row, int otp)
{
	for (size_t i = 0; otp && i < ARRAY_SIZE(limits); i++) {
		if (strcmp(limits[i].program, row->program) == 0)
			return otp >= limits[i].from_otp &&
			       (!limits[i].until_otp || otp <= limits[i].until_otp);
	}
	return true;
}

static bool may_be_absent(const struct source_row *row, int otp)
{
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++) {
		if (strcmp(gone[i].symbol, row->symbols[0]) == 0)
			return otp >= gone[i].from_otp;
	}
	return false;
}

/* Finds the function of a row.  Returns the first of its names that exists; NULL: none does. */
static const char *find_function(const struct source_row *row, struct functions *f, uint64_t *addr)
{
	for (size_t i = 0; i < ARRAY_SIZE(row->symbols) && row->symbols[i]; i++) {
		if (functions_find(f, row->symbols[i], addr))
			return row->symbols[i];
	}
	return NULL;
}

/* True for functions that have no symbol, and to which a struct of the VM points. */
static bool is_found_in_node(const struct source_row *row)
{
	return strchr(row->symbols[0], '.') != NULL;
}

/* Functions that call functions of allocators. */
static bool is_caller(const struct source_row *row)
{
	return !is_found_in_node(row) && row->kinds & SOURCE_CARRIER_KINDS;
}

/* True if events of carriers come from the functions that call those to which allocators point: gcc
 * 16 (-fspeculatively-call-stored-functions), which stock builds of OTP 29 are compiled by, puts
 * copies of these into their callers, and no probe there is ever hit. */
static bool carriers_by_callers(struct functions *f)
{
	uint64_t addr;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (is_caller(&rows[i]) && !find_function(&rows[i], f, &addr))
			return false;
	}
	return true;
}

/* Name of a row that is to be reported as missing: the first for which there is a reason. */
static void find_reason(const struct source_row *row, struct functions *f, const char **name,
			const char **why)
{
	*name = row->symbols[0];
	*why = "";
	for (size_t i = 0; i < ARRAY_SIZE(row->symbols) && row->symbols[i] && !**why; i++) {
		*why = functions_reason(f, row->symbols[i]);
		if (**why)
			*name = row->symbols[i];
	}
}

bool source_plan_add(struct source_plan *p, const struct source_point *point)
{
	if (p->nr_points >= SOURCE_MAX_POINTS)
		return false;
	p->points[p->nr_points++] = *point;
	return true;
}

const char *source_plan_path(struct source_plan *p, int os_pid, const struct proc_map *map)
{
	char path[OBJECTS_PATH_SIZE];

	if (objects_file_path(os_pid, map, path) || strlen(path) >= SOURCE_PATH_SIZE)
		return NULL;
	for (unsigned int i = 0; i < p->nr_paths; i++)
		if (strcmp(p->paths[i], path) == 0)
			return p->paths[i];
	if (p->nr_paths >= SOURCE_MAX_PATHS)
		return NULL;
	memcpy(p->paths[p->nr_paths], path, strlen(path) + 1);
	return p->paths[p->nr_paths++];
}

void source_plan_leave_out(struct source_plan *p, const char *program)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < p->nr_points; i++)
		if (strcmp(p->points[i].program, program) != 0)
			p->points[nr++] = p->points[i];
	p->nr_points = nr;
}

#define NOT_FOUND "not found in this node"

unsigned int source_arguments(const char *args)
{
	static const char *const names[] = {"di", "si", "dx", "cx", "r8", "r9"};
	unsigned int mask = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strstr(args, names[i]))
			mask |= 1u << i;
	}
	return mask;
}

static bool site_of_row(struct placement_pair *out, const struct source_row *row,
			const struct elf_file *elf, uint64_t addr)
{
	return placement_find_pair(out, elf, addr, source_arguments(row->args),
				   row->at_return != NULL);
}

void source_plan_refuse(struct source_plan *p, uint64_t kinds, const char *symbol, const char *why)
{
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (!(kinds >> kind & 1) || p->missing[kind])
			continue;
		p->missing[kind] = symbol;
		snprintf(p->refused[kind], sizeof(p->refused[kind]), "%s", why);
	}
	p->kinds &= ~kinds;
}

void source_plan_take_out(struct source_plan *p, uint64_t kinds, const char *symbol,
			  const char *why)
{
	unsigned int nr = 0;

	source_plan_refuse(p, kinds, symbol, why);
	p->usdt_kinds &= ~kinds;
	for (unsigned int i = 0; i < p->nr_points; i++) {
		p->points[i].kinds &= ~kinds;
		if (p->points[i].kinds)
			p->points[nr++] = p->points[i];
	}
	p->nr_points = nr;
}

void source_plan_full(struct source_plan *p, uint64_t kinds, const char *symbol)
{
	source_plan_take_out(p, kinds, symbol, SOURCE_TOO_MANY);
}

bool source_plan_drop(struct source_plan *p, const char *program, const char *why)
{
	const char *symbol = NULL;
	uint64_t kinds = 0;

	for (unsigned int i = 0; i < p->nr_points; i++) {
		if (strcmp(p->points[i].program, program) != 0)
			continue;
		symbol = symbol ? symbol : p->points[i].symbol;
		kinds |= p->points[i].kinds;
	}
	if (symbol)
		source_plan_take_out(p, kinds, symbol, why);
	return symbol != NULL;
}

static void add_points(struct source_plan *p, const struct source_row *row, uint64_t kinds,
		       const char *symbol, uint64_t addr, uint64_t offset,
		       const struct placement_pair *sites)
{
	struct source_point point = {
		.symbol = symbol,
		.program = row->program,
		.args = row->args,
		.kinds = kinds,
		.gives = row->kinds,
		.addr = addr,
		.offset = offset + sites->call.offset,
		.site = sites->call,
	};
	bool added;

	added = source_plan_add(p, &point);
	if (row->at_return) {
		point.program = row->at_return;
		point.args = "";
		point.at_return = true;
		point.offset = offset + sites->back.offset;
		point.site = sites->back;
		added = added && source_plan_add(p, &point);
	}
	if (!added)
		source_plan_full(p, kinds, symbol);
}

struct found_row {
	const char *name; /* NULL = not found, or not needed */
	uint64_t addr;
	struct placement_pair sites;
};

/* Finds the functions of the rows that give these kinds; kinds that lack one are refused. */
static void find_rows(struct source_plan *p, struct found_row *found, struct functions *f,
		      uint64_t kinds)
{
	int otp = functions_otp(f);
	const char *name, *why;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct found_row *r = &found[i];

		if (!(rows[i].kinds & kinds) || !is_for(&rows[i], otp) ||
		    (p->carriers_by_callers ? is_found_in_node(&rows[i]) : is_caller(&rows[i])))
			continue;
		r->name = find_function(&rows[i], f, &r->addr);
		if (!r->name && !may_be_absent(&rows[i], otp)) {
			find_reason(&rows[i], f, &name, &why);
			if (is_found_in_node(&rows[i]))
				why = NOT_FOUND;
			source_plan_refuse(p, rows[i].kinds & kinds, name, why);
		} else if (r->name &&
			   !site_of_row(&r->sites, &rows[i], functions_elf(f), r->addr)) {
			source_plan_refuse(p, rows[i].kinds & kinds, r->name,
					   r->sites.call.ok ? r->sites.back.reason
							    : r->sites.call.reason);
		}
	}
}

/* Adds kinds that were refused as uprobes, but that USDT probes can give. */
static void add_refused(struct source_plan *p, uint64_t usdt)
{
	usdt &= ~p->kinds;
	p->kinds |= usdt;
	p->usdt_kinds |= usdt;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (usdt >> kind & 1) {
			p->missing[kind] = NULL;
			p->refused[kind][0] = '\0';
		}
	}
}

void source_plan(struct source_plan *out, struct functions *f, uint64_t kinds,
		 enum source_choice choice)
{
	struct found_row *found = xcalloc(ARRAY_SIZE(rows), sizeof(*found));
	const struct elf_file *elf = functions_elf(f);
	uint64_t usdt = 0;

	memset(out, 0, sizeof(*out));
	out->kinds = kinds & ~(driver_source_kinds() | KIND(LIBC_ALLOC));
	out->carriers_by_callers = kinds & SOURCE_CARRIER_KINDS && carriers_by_callers(f);
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if ((kinds & driver_source_kinds()) >> kind & 1)
			out->missing[kind] = "driver_list";
	}
	if (kinds & KIND(LIBC_ALLOC))
		out->missing[EVENT_LIBC_ALLOC] = "malloc";
	if (choice != SOURCE_UPROBE)
		usdt = sources_usdt_kinds(elf, out->kinds);
	out->usdt_kinds = choice == SOURCE_USDT ? usdt : 0;
	find_rows(out, found, f, kinds & ~out->usdt_kinds);
	add_refused(out, usdt);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct found_row *r = &found[i];
		uint64_t needed = rows[i].kinds & out->kinds & ~out->usdt_kinds;

		if (r->name && needed)
			add_points(out, &rows[i], needed, r->name, r->addr,
				   elf_file_offset_of(elf, r->addr), &r->sites);
	}
	if (out->usdt_kinds)
		sources_usdt_add(out, elf, out->usdt_kinds);
	free(found);
}

void source_plan_everything(struct source_plan *out, int otp)
{
	const struct placement_pair nowhere = {0};

	memset(out, 0, sizeof(*out));
	out->kinds = (1ull << NR_EVENT_KINDS) - 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (is_for(&rows[i], otp))
			add_points(out, &rows[i], rows[i].kinds, rows[i].symbols[0], 0, 0,
				   &nowhere);
	}
	driver_sources_everything(out);
	libc_sources_everything(out);
}

void source_plan_of_node(struct source_plan *out, const struct beam_node *n, uint64_t kinds,
			 enum source_choice choice)
{
	struct functions *f;

	functions_open(&f, n);
	source_plan(out, f, kinds, choice);
	functions_close(f);
}

void source_missing(const struct source_plan *p, enum event_kind kind, char *buf, size_t size)
{
	if (p->refused[kind][0])
		snprintf(buf, size, "%s: %s", p->missing[kind], p->refused[kind]);
	else
		snprintf(buf, size, "no symbol %s", p->missing[kind] ? p->missing[kind] : "");
}

bool source_function(unsigned int i, struct source_function *out)
{
	if (i >= ARRAY_SIZE(rows))
		return false;
	*out = (struct source_function){
		.request.args = source_arguments(rows[i].args),
		.request.nops = placement_kernel_emulates_nops(),
		.returns = rows[i].at_return != NULL,
	};
	memcpy(out->symbols, rows[i].symbols, sizeof(out->symbols));
	return true;
}

static void append(char *list, size_t size, const char *separator, const char *text)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? separator : "", text);
}

static void count_site(struct source_sites *out, const char *name, const struct placement_pair *p)
{
	char text[256];

	out->found++;
	if (!p->call.ok || !p->back.ok) {
		out->refused++;
		snprintf(text, sizeof(text), "%s (%s)", name,
			 p->call.ok ? p->back.reason : p->call.reason);
		append(out->refused_names, sizeof(out->refused_names), "; ", text);
	} else if (p->call.emulated && p->back.emulated) {
		out->emulated++;
	} else {
		out->stepped++;
		append(out->stepped_names, sizeof(out->stepped_names), ", ", name);
	}
}

void source_sites(struct source_sites *out, const struct beam_node *n)
{
	struct placement_pair sites;
	struct functions *f;
	uint64_t addr;

	*out = (struct source_sites){0};
	functions_open(&f, n);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *name = NULL;

		if (is_for(&rows[i], functions_otp(f)))
			name = find_function(&rows[i], f, &addr);
		if (!name)
			continue;
		site_of_row(&sites, &rows[i], functions_elf(f), addr);
		count_site(out, name, &sites);
	}
	functions_close(f);
}

/* ---- functions that are found in a running node ---------------------------------------------- */

/* Finds sites for all functions of the row's name, in order, and adds their points if `add` is set;
 * false if there is no such function, or one has no site. */
static bool site_found(struct source_plan *p, const struct source_row *row,
		       const struct elf_file *elf, const struct source_found *found, size_t nr,
		       bool add)
{
	struct placement_pair sites;
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		if (strcmp(found[i].name, row->symbols[0]) != 0)
			continue;
		any = true;
		if (!site_of_row(&sites, row, elf, found[i].addr)) {
			source_plan_refuse(p, row->kinds, row->symbols[0],
					   sites.call.ok ? sites.back.reason : sites.call.reason);
			return false;
		}
		if (add)
			add_points(p, row, row->kinds & p->kinds, row->symbols[0], found[i].addr,
				   elf_file_offset_of(elf, found[i].addr), &sites);
	}
	return any;
}

static bool is_asked(const struct source_row *row, uint64_t kinds)
{
	return is_found_in_node(row) && row->kinds & kinds;
}

void source_plan_found(struct source_plan *p, const struct elf_file *elf, uint64_t kinds,
		       const struct source_found *found, size_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!is_asked(&rows[i], kinds))
			continue;
		p->kinds |= rows[i].kinds & kinds;
		for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
			if (rows[i].kinds & kinds & 1ull << kind)
				p->missing[kind] = NULL;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (is_asked(&rows[i], kinds) && !site_found(p, &rows[i], elf, found, nr, false))
			source_plan_refuse(p, rows[i].kinds & kinds, rows[i].symbols[0], NOT_FOUND);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (is_asked(&rows[i], kinds & p->kinds))
			site_found(p, &rows[i], elf, found, nr, true);
	}
}

void source_functions(enum event_kind kind, char *buf, size_t size)
{
	size_t at = 0;

	buf[0] = '\0';
	if (driver_source_callback(kind))
		snprintf(buf, size, "callback %s of each driver", driver_source_callback(kind));
	if (kind == EVENT_LIBC_ALLOC)
		snprintf(buf, size, "%s", LIBC_SOURCES_FUNCTIONS);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && at < size; i++) {
		/* Rows of different releases for the same function are adjacent. */
		if (i > 0 && strcmp(rows[i].symbols[0], rows[i - 1].symbols[0]) == 0)
			continue;
		if (rows[i].kinds >> kind & 1)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "",
					       strstr(rows[i].symbols[0], "remove_message")
						       ? "beam_jit_remove_message"
					       : strstr(rows[i].symbols[0], "call_nif")
						       ? "beam_jit_call_nif"
						       : rows[i].symbols[0]);
	}
}
