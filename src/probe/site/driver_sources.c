/* SPDX-License-Identifier: BSD-2-Clause */
/* See driver_sources.h. */
#include "probe/site/driver_sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "abi/config.h"
#include "base/compiler.h"
#include "base/log.h"
#include "target/objects.h"

#define KIND(kind) (1ull << EVENT_##kind)

static const struct {
	enum event_kind kind;
	const char *name, *program, *args;
} callbacks[NR_DRIVER_CALLBACKS] = {
#define CALLBACK(id, callback, registers)                                                          \
	[DRIVER_##id] = {.kind = EVENT_DRIVER_##id,                                                \
			 .name = #callback,                                                        \
			 .program = "event_driver_" #callback,                                     \
			 .args = (registers)}
	CALLBACK(START, start, "di"),
	CALLBACK(STOP, stop, "di"),
	CALLBACK(FINISH, finish, ""),
	CALLBACK(FLUSH, flush, "di"),
	CALLBACK(OUTPUT, output, "di dx"),
	CALLBACK(OUTPUTV, outputv, "di si"),
	CALLBACK(CONTROL, control, "di si cx"),
	CALLBACK(CALL, call, "di si cx"),
	CALLBACK(READY_INPUT, ready_input, "di"),
	CALLBACK(READY_OUTPUT, ready_output, "di"),
	CALLBACK(READY_ASYNC, ready_async, "di"),
	CALLBACK(TIMEOUT, timeout, "di"),
	CALLBACK(PROCESS_EXIT, process_exit, "di"),
	CALLBACK(STOP_SELECT, stop_select, ""),
#undef CALLBACK
};

/* Kinds whose callback the VM calls for a port that is not the scheduler's current one.  The
 * callers of the callback have the port as first argument, and a probe on them keeps it for the
 * event. */
#define KEPT_KINDS                                                                                 \
	(KIND(DRIVER_READY_ASYNC) | KIND(DRIVER_PROCESS_EXIT) | KIND(DRIVER_STOP) |                \
	 KIND(DRIVER_FLUSH))
static const char *const kept_at[] = {"async_ready", "erts_fire_port_monitor"};

uint64_t driver_source_kinds(void)
{
	uint64_t kinds = 0;

	for (int i = 0; i < NR_DRIVER_CALLBACKS; i++)
		kinds |= 1ull << callbacks[i].kind;
	return kinds;
}

const char *driver_source_callback(enum event_kind kind)
{
	for (int i = 0; i < NR_DRIVER_CALLBACKS; i++)
		if (callbacks[i].kind == kind)
			return callbacks[i].name;
	return NULL;
}

/* Finds the file offset of a function of the process, and its cheapest probe site.  False, with the
 * reason in *why, if it cannot be probed. */
static bool locate(struct source_plan *plan, const struct beam_node *n, raddr addr,
		   struct source_point *point, const char **why)
{
	const struct placement_request request = {
		.args = source_arguments(point->args),
		.nops = placement_kernel_emulates_nops(),
	};
	const struct proc_map *map = proc_maps_find(objects_maps(n->objects), addr);
	const struct elf_file *elf;
	uint64_t bias;

	*why = "it is in no file";
	if (!map || !map->x || !*map->path || *map->path == '[')
		return false;
	elf = objects_elf(n->objects, addr, &bias);
	if (!elf)
		return false;
	*why = "too many libraries, or its file cannot be opened";
	if (elf != n->elf) {
		point->path = source_plan_path(plan, n->os_pid, map);
		if (!point->path)
			return false;
	}
	placement_find_in_elf(&point->site, elf, addr - bias, &request);
	*why = point->site.reason;
	point->addr = addr - bias;
	point->offset = addr - map->start + map->offset + point->site.offset;
	return point->site.ok;
}

/* False if an earlier driver has the same function as this callback, so that it has a point
 * already. */
static bool is_first(const struct driver_list *l, size_t driver, int callback)
{
	for (size_t i = 0; i < driver; i++)
		if (l->data[i].callbacks[callback] == l->data[driver].callbacks[callback])
			return false;
	return true;
}

static bool is_shared(const struct driver_list *l, size_t driver, int callback)
{
	for (size_t i = 0; i < l->len; i++)
		if (i != driver &&
		    l->data[i].callbacks[callback] == l->data[driver].callbacks[callback])
			return true;
	return false;
}

/* True if a driver uses this function for another callback, too: then a call of it does not show
 * which callback is meant. */
static bool is_ambiguous(const struct driver_list *l, raddr addr, int callback)
{
	for (size_t i = 0; i < l->len; i++)
		for (int k = 0; k < NR_DRIVER_CALLBACKS; k++)
			if (k != callback && l->data[i].callbacks[k] == addr)
				return true;
	return false;
}

static struct source_point callback_point(int callback)
{
	return (struct source_point){
		.symbol = callbacks[callback].name,
		.program = callbacks[callback].program,
		.args = callbacks[callback].args,
		.kinds = 1ull << callbacks[callback].kind,
	};
}

static void add_callback(struct source_plan *plan, const struct beam_node *n,
			 const struct driver_list *l, size_t driver, int callback)
{
	const struct driver_facts *d = &l->data[driver];
	struct source_point point = callback_point(callback);
	const char *why = SOURCE_TOO_MANY;

	point.cookie = d->addr | (is_shared(l, driver, callback) ? EVENT_COOKIE_SHARED : 0);
	if (is_ambiguous(l, d->callbacks[callback], callback)) {
		log_info("driver %s: calls of %s() are not watched: another callback is the "
			 "same function",
			 d->name, callbacks[callback].name);
		plan->unwatched++;
	} else if (!locate(plan, n, d->callbacks[callback], &point, &why) ||
		   !source_plan_add(plan, &point)) {
		log_info("driver %s: %s() cannot be watched: %s", d->name, callbacks[callback].name,
			 why);
		plan->unwatched++;
	}
}

static struct source_point kept_point(size_t i, uint64_t kinds)
{
	return (struct source_point){
		.symbol = kept_at[i],
		.program = "event_port_kept",
		.args = "di",
		.kinds = kinds & KEPT_KINDS,
	};
}

/* Adds the probes of KEPT_KINDS.  Without them some calls find their port only in registers of the
 * caller. */
static void add_kept(struct source_plan *plan, const struct beam_node *n, uint64_t kinds)
{
	for (size_t i = 0; kinds & KEPT_KINDS && i < ARRAY_SIZE(kept_at); i++) {
		struct source_point point = kept_point(i, kinds);
		struct elf_symbol symbol;
		const char *why;

		if (elf_file_symbol(n->elf, kept_at[i], &symbol) && symbol.function &&
		    locate(plan, n, symbol.addr + n->bias, &point, &why))
			source_plan_add(plan, &point);
	}
}

void driver_sources_add(struct source_plan *plan, const struct beam_node *n, uint64_t kinds)
{
	struct driver_list drivers;
	struct error why;

	kinds &= driver_source_kinds();
	if (!kinds)
		return;
	if (drivers_read(n, &drivers, &why)) {
		log_info("%s", why.msg);
		return;
	}
	for (int c = 0; c < NR_DRIVER_CALLBACKS; c++) {
		if (!(kinds >> callbacks[c].kind & 1))
			continue;
		plan->kinds |= 1ull << callbacks[c].kind;
		plan->missing[callbacks[c].kind] = NULL;
		for (size_t i = 0; i < drivers.len; i++)
			if (drivers.data[i].callbacks[c] && is_first(&drivers, i, c))
				add_callback(plan, n, &drivers, i, c);
	}
	add_kept(plan, n, kinds);
	driver_list_free(&drivers);
}

void driver_sources_everything(struct source_plan *plan)
{
	for (int c = 0; c < NR_DRIVER_CALLBACKS; c++) {
		struct source_point point = callback_point(c);

		source_plan_add(plan, &point);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kept_at); i++) {
		struct source_point point = kept_point(i, KEPT_KINDS);

		source_plan_add(plan, &point);
	}
}
