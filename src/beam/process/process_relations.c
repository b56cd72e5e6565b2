/* SPDX-License-Identifier: BSD-2-Clause */
/* Links and monitors of processes, counted as process_info() counts them; see process_walk.h. */
#include "beam/process/process_walk.h"
#include "beam/vm/links.h"

/* ErtsMonitorData {origin, target, Eterm ref, u32 refc}, then data of its kind. */
#define MONITOR_REF(m)	   (2u * (m))
#define MONITOR_REFC(m)	   (2u * (m) + 8)
#define MONITOR_HEAP_WORDS 4u  /* ErtsMonitorDataHeap: an internal reference of the largest kind */
#define SUSPEND_SIZE	   16u /* ErtsMonitorSuspend: next, state */
#define EXTENDED_SIZE	   24u /* ErtsMonitorDataExtended: u, uptr, dist; then a heap */
/* ErtsELink {ErtsLink proc, dist; u32 refc; three words; Eterm heap[1]}. */
#define ELINK_REFC(l) (2u * (l))
#define ELINK_HEAP(l) (2u * (l) + 32)
#define ELINK_SIZE(l) (2u * (l) + 40)

static uint64_t thing_words(const struct walk *w, uint64_t term)
{
	uint64_t header;

	if ((term & 3) != 2 || mem_read_u64(w->r->mem, term & ~7ull, &header) != 0 ||
	    (header & 3) != 0)
		return 0;
	return (header >> 6 & 0xff) + 1; /* the longest such term is a reference */
}

static void push_children(struct walk *w, const struct step *s, const uint8_t *node, int32_t parent,
			  int32_t left, int32_t right)
{
	raddr l = bytes_u64(node, left), r = bytes_u64(node, right);

	if ((bytes_u64(node, parent) & ~LINK_PARENT_FLAGS) != s->from) {
		walk_bad(w, s);
		return;
	}
	if (l)
		walk_push(w, s->kind, s->process, l, s->addr, 0);
	if (r)
		walk_push(w, s->kind, s->process, r, s->addr, 0);
}

/* erts_link_size() of a link to another node: both ends share a struct, each counts half of it. */
static uint64_t extended_link_bytes(const struct walk *w, const struct step *s, uint16_t offset)
{
	uint32_t size = (uint32_t)w->r->l->link_size, refc;
	uint8_t bytes[WALK_STEP_MAX];

	if (mem_read(w->r->mem, s->addr - offset, bytes, ELINK_SIZE(size)) != 0)
		return 0;
	refc = bytes_u32(bytes, (int32_t)ELINK_REFC(size));
	return (ELINK_SIZE(size) + 8 * (bytes_u64(bytes, (int32_t)ELINK_HEAP(size)) >> 6 & 0xff)) /
	       (refc == 2 ? 2 : 1);
}

/* collect_one_link() of erl_bif_info.c: links that are being removed are not in the number of
 * links, but their memory counts (ErtsILink {ErtsLink link; Uint64 unlinking}). */
void walk_take_link(struct walk *w, const struct step *s, const uint8_t *node)
{
	const struct beam_layout *l = w->r->l;
	struct process_facts *p = &w->b->facts[s->process];
	struct link_kind kind = link_kind_of(node, l->link_type, l->link_flags);

	if (kind.flags & LINK_FLAG_EXTENDED) {
		p->nr_links++;
		p->memory += extended_link_bytes(w, s, bytes_u16(node, l->link_offset));
	} else {
		p->nr_links += bytes_u64(node, l->link_size) == 0;
		p->memory += (uint64_t)l->link_size;
	}
	push_children(w, s, node, l->link_parent, l->link_left, l->link_right);
}

/* erts_monitor_size(), erl_monitor_link.c of OTP 25 to 29: `data` is an ErtsMonitorData. */
static uint64_t monitor_bytes(const struct walk *w, const uint8_t *data, struct link_kind kind)
{
	const struct beam_layout *l = w->r->l;
	uint32_t m = (uint32_t)l->monitor_size, refc = bytes_u32(data, (int32_t)MONITOR_REFC(m));
	uint64_t size = PROCESS_MONITOR_DATA(m), words = 0;

	if (kind.type == MONITOR_SUSPEND) {
		size += SUSPEND_SIZE;
	} else if (kind.type != MONITOR_ALIAS && !(kind.flags & LINK_FLAG_EXTENDED)) {
		size += 8 * MONITOR_HEAP_WORDS;
	} else if (kind.type != MONITOR_ALIAS) {
		if (kind.type != MONITOR_NODE && kind.type != MONITOR_NODES)
			words = thing_words(w, bytes_u64(data, (int32_t)MONITOR_REF(m)));
		if (kind.type == MONITOR_DIST_PROC || kind.type == MONITOR_DIST_PORT)
			words += thing_words(w, bytes_u64(data, l->monitor_item)) +
				 thing_words(w, bytes_u64(data + m, l->monitor_item));
		size += EXTENDED_SIZE + 8 * words;
	}
	return size / (refc == 2 ? 2 : 1);
}

/* collect_one_origin_monitor() and collect_one_target_monitor() of erl_bif_info.c. */
static void count_monitor(struct process_facts *p, struct link_kind kind)
{
	bool target = kind.flags & LINK_FLAG_TARGET;

	switch (kind.type) {
	case MONITOR_PROC:
	case MONITOR_PORT:
	case MONITOR_DIST_PROC:
	case MONITOR_TIME_OFFSET:
		if (!target)
			p->nr_monitors += !(kind.flags & LINK_FLAG_SPAWN_PENDING);
		else if (kind.type != MONITOR_TIME_OFFSET)
			p->nr_monitored_by++;
		break;
	case MONITOR_RESOURCE:
		p->nr_monitored_by += target;
		break;
	default:
		break;
	}
}

/* `around`: monitor_size bytes before the monitor, the monitor, and bytes after it: all of its
 * ErtsMonitorData. */
void walk_take_monitor(struct walk *w, const struct step *s, const uint8_t *around)
{
	const struct beam_layout *l = w->r->l;
	const uint8_t *node = around + l->monitor_size;
	struct process_facts *p = &w->b->facts[s->process];
	uint16_t offset = bytes_u16(node, l->monitor_offset);
	struct link_kind kind = link_kind_of(node, l->monitor_type, l->monitor_flags);
	raddr next;

	if ((offset != 0 && offset != l->monitor_size) || kind.type >= NR_MONITOR_TYPES) {
		walk_bad(w, s);
		return;
	}
	count_monitor(p, kind);
	if (w->r->what & PROCESS_READ_MEMORY)
		p->memory += monitor_bytes(w, node - offset, kind);
	if (s->kind == STEP_MONITOR) {
		push_children(w, s, node, l->monitor_parent, l->monitor_left, l->monitor_right);
		return;
	}
	/* The list is a ring: {next, prev}. */
	next = bytes_u64(node, l->monitor_list_next);
	if (s->from && bytes_u64(node, l->monitor_list_next + 8) != s->from)
		walk_bad(w, s);
	else if (next != p->lt_monitors)
		walk_push(w, STEP_LT_MONITOR, s->process, next, s->addr, 0);
}
