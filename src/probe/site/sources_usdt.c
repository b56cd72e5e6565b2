/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See sources_usdt.h.  Probes and their arguments: erts/emulator/beam/erlang_dtrace.d of OTP 25 to
 * 29.  A kind is here only if its events are the same as those of uprobes.  So these are not used:
 *   process_scheduled: the JIT has no site where a process comes to a normal scheduler;
 *   message_send: fires for the messages of traces, too, and neither for those to aliases nor for
 *   what the VM itself sends for a process;
 *   message_queued: fires when the receiver examines the message, without sender, for fewer;
 *   process_exit, port_exit: the reason is truncated text, not a term;
 *   port_connect: has the old owner, not the process that asked.
 * Uprobes are preferred where both are possible: the VM makes text of pids and ports for its USDT
 * probes, which costs more than most uprobes, and process_heap_grow needs uprobes on collections
 * anyway.
 */
#include "probe/site/sources_usdt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "target/usdt.h"

#define PROVIDER "erlang"
#define KIND(k)	 (1ull << EVENT_##k)
/* clang-format off */
#define PORT(n) {USDT_VALUE_PORT, n}
#define DRIVER(n) {USDT_VALUE_DRIVER, n}
#define TEXT(n) {USDT_VALUE_TEXT, n}
#define NUMBER(n) {USDT_VALUE_NUMBER, n}
/* clang-format on */
#define GC_KINDS                                                                                   \
	(KIND(GC_MINOR_START) | KIND(GC_MINOR_END) | KIND(GC_MAJOR_START) | KIND(GC_MAJOR_END))

#define GC_END_DIFFERS                                                                             \
	"reclaimed is known however many messages wait; a collection that is given up, because "   \
	"the process is killed for its max_heap_size, has an end, too"
#define AT_THE_DRIVER "when the driver is called: for a busy port later, once, and on any thread"

/* clang-format off */
static const struct usdt_row {
	enum event_kind kind;
	uint64_t with;	     /* further kinds that need this probe too */
	const char *probe;
	const char *program; /* event_usdt: `about` and values[] are all that it needs */
	unsigned int nr_args; /* arguments, from the first on, that must be readable */
	int about;	     /* argument with the pid, -1 = none */
	const char *only;    /* text of argument nr_args - 1, else the hit is no event; NULL: any */
	struct { uint8_t type, arg; } values[USDT_POINT_VALUES];
	bool by_process;     /* no event if the pid is none: the VM did it, not a process */
	const char *differs; /* from what uprobes give; NULL = nothing */
} rows[] = {
	{EVENT_GC_MINOR_START, GC_KINDS, "gc_minor__start", "event_usdt_gc_start",
		2, 0, NULL, {}, false, NULL},
	{EVENT_GC_MINOR_END, GC_KINDS, "gc_minor__end", "event_usdt_gc_end",
		2, 0, NULL, {}, false, GC_END_DIFFERS},
	{EVENT_GC_MAJOR_START, GC_KINDS, "gc_major__start", "event_usdt_gc_start",
		2, 0, NULL, {}, false, NULL},
	{EVENT_GC_MAJOR_END, GC_KINDS, "gc_major__end", "event_usdt_gc_end",
		2, 0, NULL, {}, false, GC_END_DIFFERS},
	{EVENT_PROCESS_SPAWN, 0, "process__spawn", "event_usdt_spawn",
		2, 0, NULL, {}, false, NULL},
	{EVENT_PROCESS_HIBERNATE, 0, "process__hibernate", "event_usdt_hibernate",
		2, 0, NULL, {}, false, NULL},
	{EVENT_MESSAGE_RECEIVE, 0, "message__receive", "event_usdt_receive",
		1, 0, NULL, {}, false, NULL},
	{EVENT_PORT_OPEN, 0, "port__open", "event_usdt", 3, 0, NULL,
		{PORT(2), DRIVER(2), TEXT(1)}, false, NULL},
	{EVENT_PORT_COMMAND, 0, "port__command", "event_usdt", 4, 0, "command",
		{PORT(1), DRIVER(1)}, false, AT_THE_DRIVER},
	{EVENT_PORT_CONTROL, 0, "port__control", "event_usdt", 4, 0, NULL,
		{PORT(1), DRIVER(1), NUMBER(3)}, true, AT_THE_DRIVER},
};

/* clang-format on */

void sources_usdt_names(enum event_kind kind, char *buf, size_t size)
{
	size_t at = 0;

	if (size)
		buf[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(rows) && at < size; i++) {
		if (rows[i].kind == kind)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", at ? ", " : "",
					       rows[i].probe);
	}
}

const char *sources_usdt_differs(enum event_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].kind == kind && rows[i].differs)
			return rows[i].differs;
	}
	return "";
}

/* Describes a site of this row to the BPF programs; false if an argument cannot be read. */
static bool make_point(struct usdt_point *out, const struct usdt_row *row,
		       const struct usdt_site *site)
{
	unsigned int nr = usdt_parse_args(site->args, out->args, USDT_POINT_ARGS);

	memset(out, 0, offsetof(struct usdt_point, args));
	for (unsigned int i = 0; i < row->nr_args; i++) {
		if (i >= nr || out->args[i].type == USDT_ARG_NONE)
			return false;
	}
	out->kind = (uint16_t)row->kind;
	out->about = row->about < 0 ? USDT_NO_ARG : (uint8_t)row->about;
	out->by_process = row->by_process;
	out->only_arg = USDT_NO_ARG;
	if (row->only) {
		out->only_arg = (uint8_t)(row->nr_args - 1);
		memcpy(out->only, row->only, MIN(strlen(row->only), sizeof(out->only) - 1));
	}
	while (out->nr_values < USDT_POINT_VALUES && row->values[out->nr_values].type) {
		out->values[out->nr_values].type = row->values[out->nr_values].type;
		out->values[out->nr_values].arg = row->values[out->nr_values].arg;
		out->nr_values++;
	}
	return true;
}

static bool is_of(const struct usdt_site *site, const struct usdt_row *row)
{
	return strcmp(site->provider, PROVIDER) == 0 && strcmp(site->name, row->probe) == 0;
}

/* True if the probe has sites, and the arguments can be read at all of them: with some of the sites
 * only, events would be missing. */
static bool is_given(const struct usdt_row *row, const struct usdt_site *sites, size_t nr)
{
	struct usdt_point point = {0};
	bool any = false;

	for (size_t i = 0; i < nr; i++) {
		if (!is_of(&sites[i], row))
			continue;
		if (!make_point(&point, row, &sites[i]))
			return false;
		any = true;
	}
	return any;
}

uint64_t sources_usdt_kinds(const struct elf_file *elf, uint64_t kinds)
{
	struct usdt_site *sites;
	size_t nr = usdt_sites(elf, &sites);
	uint64_t given = 0, lacking = 0;

	for (size_t i = 0; nr && i < ARRAY_SIZE(rows); i++) {
		uint64_t kind = 1ull << rows[i].kind;

		if (!is_given(&rows[i], sites, nr)) {
			lacking |= kind | rows[i].with;
			continue;
		}
		given |= kind;
	}
	free(sites);
	return given & kinds & ~lacking;
}

void sources_usdt_add(struct source_plan *p, const struct elf_file *elf, uint64_t kinds)
{
	struct usdt_site *sites;
	size_t nr = usdt_sites(elf, &sites);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t served = (1ull << rows[i].kind | rows[i].with) & kinds;

		for (size_t k = 0; served && k < nr; k++) {
			struct source_point point = {
				.symbol = rows[i].probe,
				.program = rows[i].program,
				.kinds = served,
				.is_instruction = true,
				.offset = elf_file_offset_of(elf, sites[k].addr),
				.cookie = p->nr_usdt,
				.site = {.ok = true, .emulated = true, .instruction = "nop"},
			};

			if (!is_of(&sites[k], &rows[i]))
				continue;
			if (p->nr_usdt >= SOURCE_MAX_USDT) {
				source_plan_full(p, served, rows[i].probe);
				break;
			}
			if (!make_point(&p->usdt[p->nr_usdt], &rows[i], &sites[k]))
				continue;
			if (sites[k].semaphore)
				point.ref_ctr_offset = elf_file_offset_of(elf, sites[k].semaphore);
			if (!source_plan_add(p, &point)) {
				source_plan_full(p, served, rows[i].probe);
				break;
			}
			p->nr_usdt++;
		}
	}
	free(sites);
}
