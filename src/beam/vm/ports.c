/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the port table: slots, structs, and data that these point to.  Each step is done for all
 * ports together, with one system call for many of them.  See ports.h.
 */
#include "beam/vm/ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "beam/term/atoms.h"
#include "beam/vm/ports_internal.h"

#define SLOTS_CHUNK 8192
#define JOBS_CHUNK  512 /* structs that are copied at once */
#define NAME_CHUNK  128 /* bytes of each name that are read first; most names are shorter */
#define READ_TRIES  3

/* LineBuf {size_t bufsiz, ovlen, ovsiz; char data[1];}, erl_port.h, OTP 25 to 29. */
#define LINEBUF_SIZE  32
#define LINEBUF_OVSIZ 16

/* ErtsPortDataHeap {ErtsThrPrgrLaterOp; Uint hsize; Eterm data; ErlOffHeap; Eterm heap[1];},
 * erl_bif_port.c, OTP 25 to 29. */
#define PORT_DATA_SIZE	72
#define PORT_DATA_HSIZE 32

#define PORT_STATES_NONE (PORT_STATE_FREE | PORT_STATE_INITIALIZING | PORT_STATE_INVALID)

struct slot {
	uint32_t index;
	raddr port;
};

struct port_table {
	struct beam_node *node;
	struct id_format format;
	raddr tab;
	VEC(struct slot) slots; /* that hold a port */
};

/* ---- slots ---------------------------------------------------------------------------------- */

static int read_slots(struct port_table *t)
{
	struct beam_node *n = t->node;
	raddr ptab = n->anchors.port_tab, invalid;
	uint32_t max;
	raddr *chunk;
	int rc = mem_read_u32(n->mem, ptab + (raddr)n->layout.ptab_max, &max);

	rc = rc ? rc : mem_read_u64(n->mem, ptab + (raddr)n->layout.ptab_tab, &t->tab);
	rc = rc ? rc : mem_read_u64(n->mem, ptab + (raddr)n->layout.ptab_invalid_element, &invalid);
	if (rc)
		return rc;
	if (max > BEAM_MAX_PTAB)
		return -EBADMSG;
	chunk = xmalloc(SLOTS_CHUNK * sizeof(*chunk));
	for (uint32_t from = 0; !rc && from < max; from += SLOTS_CHUNK) {
		uint32_t nr = MIN(SLOTS_CHUNK, max - from);

		rc = mem_read(n->mem, t->tab + 8 * (raddr)from, chunk, nr * sizeof(*chunk));
		for (uint32_t i = 0; !rc && i < nr; i++)
			if (chunk[i] && chunk[i] != invalid)
				vec_push(&t->slots, ((struct slot){from + i, chunk[i]}));
	}
	free(chunk);
	return rc;
}

/* internal_port_index(), erl_term.h: up to 25 the high word of an id is its slot. */
static uint32_t slot_of(const struct id_format *f, uint64_t id)
{
	return f->whole_word ? (uint32_t)((id >> 4) & f->pix_mask) : (uint32_t)(id >> 32);
}

/* ---- structs -------------------------------------------------------------------------------- */

static void parse_port(const struct port_table *t, struct port_job *j, const uint8_t *bytes)
{
	const struct beam_layout *l = &t->node->layout;
	struct port_facts *p = &j->facts;

	p->id = bytes_u64(bytes, l->port_id);
	p->state = bytes_u32(bytes, l->port_state);
	/* The slot has another port now, or none. */
	j->gone = !TERM_IS_PORT(p->id) || slot_of(&t->format, p->id) != p->slot ||
		  (p->state & PORT_STATES_NONE);
	if (j->gone)
		return;
	p->number = id_data(&t->format, p->id);
	p->connected = bytes_u64(bytes, l->port_connected);
	p->bytes_in = bytes_u64(bytes, l->port_bytes_in);
	p->received = p->bytes_in;
	p->bytes_out = bytes_u64(bytes, l->port_bytes_out);
	p->queue_size = bytes_u64(bytes, l->port_ioq_size);
	p->os_pid = (int64_t)bytes_u64(bytes, l->port_os_pid);
	p->task_flags = bytes_u32(bytes, l->port_sched_flags);
	p->torn = !TERM_IS_PID(p->connected);
	j->name = bytes_u64(bytes, l->port_name);
	j->driver = bytes_u64(bytes, l->port_drv_ptr);
	j->reg = bytes_u64(bytes, l->port_reg);
	j->linebuf = bytes_u64(bytes, l->port_linebuf);
	j->drv_data = bytes_u64(bytes, l->port_drv_data);
	j->data = bytes_u64(bytes, l->port_data);
	j->links = bytes_u64(bytes, l->port_links);
	j->monitors = bytes_u64(bytes, l->port_monitors);
	j->lt_monitors = bytes_u64(bytes, l->port_lt_monitors);
	j->suspended = bytes_u64(bytes, l->port_suspended);
}

static void read_structs(const struct port_table *t, struct port_job *jobs, size_t nr)
{
	size_t size = (size_t)t->node->layout.port_size;
	uint8_t *bytes = xmalloc(JOBS_CHUNK * size);
	struct mem_range ranges[JOBS_CHUNK];

	for (size_t from = 0; from < nr; from += JOBS_CHUNK) {
		size_t chunk = MIN(JOBS_CHUNK, nr - from);

		for (size_t i = 0; i < chunk; i++)
			ranges[i] = (struct mem_range){.addr = jobs[from + i].facts.addr,
						       .buf = bytes + i * size,
						       .size = size};
		mem_readv(t->node->mem, ranges, chunk);
		for (size_t i = 0; i < chunk; i++) {
			struct port_job *j = &jobs[from + i];

			if (ranges[i].err)
				j->gone = true;
			else
				parse_port(t, j, bytes + i * size);
		}
	}
	free(bytes);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_wanted(const struct port_job *j)
{
	return !j->gone && !j->facts.torn;
}

static void read_long_name(struct beam_node *n, struct port_job *j)
{
	char text[PORT_NAME_MAX];

	if (mem_read_string(n->mem, j->name, text, sizeof(text)) != 0) {
		j->facts.torn = true;
		text[0] = '\0';
	}
	j->facts.name = xstrdup(text);
}

static void read_names(struct beam_node *n, struct port_job *jobs, size_t nr)
{
	char(*text)[NAME_CHUNK] = xmalloc(JOBS_CHUNK * sizeof(*text));
	struct mem_range ranges[JOBS_CHUNK];
	struct port_job *wanted[JOBS_CHUNK];
	size_t i = 0;

	while (i < nr) {
		size_t chunk = 0;

		for (; i < nr && chunk < JOBS_CHUNK; i++) {
			if (!is_wanted(&jobs[i]))
				continue;
			wanted[chunk] = &jobs[i];
			ranges[chunk] = (struct mem_range){
				.addr = jobs[i].name, .buf = text[chunk], .size = NAME_CHUNK};
			chunk++;
		}
		mem_readv(n->mem, ranges, chunk);
		for (size_t k = 0; k < chunk; k++) {
			if (!wanted[k]->name)
				wanted[k]->facts.name = xstrdup("");
			else if (ranges[k].err == 0 && memchr(text[k], '\0', NAME_CHUNK))
				wanted[k]->facts.name = xstrdup(text[k]);
			else
				read_long_name(n, wanted[k]);
		}
	}
	free(text);
}

/* Reads each driver's name once, as a node has few drivers. */
static void read_drivers(struct beam_node *n, struct port_job *jobs, size_t nr)
{
	struct known {
		raddr driver;
		char name[64];
	};
	VEC(struct known) known = {0};

	for (size_t i = 0; i < nr; i++) {
		struct port_job *j = &jobs[i];
		struct known new = {.driver = j->driver};
		raddr name;
		size_t k = 0;

		if (!is_wanted(j))
			continue;
		while (k < known.len && known.data[k].driver != j->driver)
			k++;
		if (k == known.len) {
			if (mem_read_u64(n->mem, j->driver + (raddr)n->layout.driver_name, &name) ||
			    mem_read_string(n->mem, name, new.name, sizeof(new.name)) != 0) {
				j->facts.torn = true;
				continue;
			}
			vec_push(&known, new);
		}
		memcpy(j->facts.driver, known.data[k].name, sizeof(j->facts.driver));
	}
	vec_free(&known);
}

/* Reads the RegProc; if it does not refer to the port, the name was unregistered meanwhile. */
static void read_registered(struct beam_node *n, struct port_job *j)
{
	uint64_t name;
	raddr port;

	if (mem_read_u64(n->mem, j->reg + (raddr)n->layout.regproc_pt, &port) != 0 ||
	    mem_read_u64(n->mem, j->reg + (raddr)n->layout.regproc_name, &name) != 0 ||
	    port != j->facts.addr || !TERM_IS_ATOM(name))
		j->facts.torn = true;
	else
		j->facts.registered = name;
}

/* port_info(P, memory) without links and monitors: LineBuf and the data of port_set_data(). */
static void read_memory(struct beam_node *n, struct port_job *j)
{
	uint64_t size;

	if (j->linebuf) {
		if (mem_read_u64(n->mem, j->linebuf + LINEBUF_OVSIZ, &size) != 0)
			j->facts.torn = true;
		else
			j->facts.memory += LINEBUF_SIZE + size;
	}
	if (j->data && (j->data & 3) == 0) {
		if (mem_read_u64(n->mem, j->data + PORT_DATA_HSIZE, &size) != 0)
			j->facts.torn = true;
		else
			j->facts.memory += PORT_DATA_SIZE + 8 * (size - 1);
	}
}

static void finish_memory(const struct beam_node *n, struct port_job *j)
{
	/* The size that counts for a monitor depends on whether the other side still has it. */
	j->facts.memory_known = !j->monitors && !j->lt_monitors && !j->cut && !j->facts.torn;
	j->facts.memory += j->facts.links.len * (uint64_t)n->layout.link_size;
}

/* ---- all ports ------------------------------------------------------------------------------ */

/* Data belongs to the port only if its slot still points to it. */
static void check_again(const struct port_table *t, struct port_job *jobs, size_t nr)
{
	const struct beam_layout *l = &t->node->layout;
	struct mem_range ranges[3 * JOBS_CHUNK];
	struct now {
		raddr slot;
		uint64_t id;
		uint32_t state;
	} now[JOBS_CHUNK];

	for (size_t from = 0; from < nr; from += JOBS_CHUNK) {
		size_t chunk = MIN(JOBS_CHUNK, nr - from);

		for (size_t i = 0; i < chunk; i++) {
			const struct port_facts *p = &jobs[from + i].facts;

			ranges[3 * i] = (struct mem_range){.addr = t->tab + 8 * (raddr)p->slot,
							   .buf = &now[i].slot,
							   .size = 8};
			ranges[3 * i + 1] = (struct mem_range){
				.addr = p->addr + (raddr)l->port_id, .buf = &now[i].id, .size = 8};
			ranges[3 * i + 2] =
				(struct mem_range){.addr = p->addr + (raddr)l->port_state,
						   .buf = &now[i].state,
						   .size = 4};
		}
		mem_readv(t->node->mem, ranges, 3 * chunk);
		for (size_t i = 0; i < chunk; i++) {
			struct port_job *j = &jobs[from + i];
			const struct mem_range *r = &ranges[3 * i];

			if (r[0].err || r[1].err || r[2].err || now[i].slot != j->facts.addr ||
			    now[i].id != j->facts.id || (now[i].state & PORT_STATES_NONE))
				j->gone = true;
		}
	}
}

static void read_jobs(const struct port_table *t, struct port_list *out, struct port_job *jobs,
		      size_t nr)
{
	struct beam_node *n = t->node;

	read_structs(t, jobs, nr);
	read_names(n, jobs, nr);
	read_drivers(n, jobs, nr);
	for (size_t i = 0; i < nr; i++) {
		if (is_wanted(&jobs[i]) && jobs[i].reg)
			read_registered(n, &jobs[i]);
		if (is_wanted(&jobs[i]))
			read_memory(n, &jobs[i]);
	}
	ports_read_fds(n, jobs, nr);
	ports_read_refs(n, out, jobs, nr);
	for (size_t i = 0; i < nr; i++)
		finish_memory(n, &jobs[i]);
	check_again(t, jobs, nr);
}

/* Begins the job again for the port that is in the slot now.  False if the slot is empty. */
static bool restart(const struct port_table *t, struct port_job *j)
{
	uint32_t slot = j->facts.slot;
	raddr port;

	free(j->facts.name);
	*j = (struct port_job){.facts = {.slot = slot, .fds = {-1, -1}}};
	if (mem_read_u64(t->node->mem, t->tab + 8 * (raddr)slot, &port) != 0 || !port)
		return false;
	j->facts.addr = port;
	return true;
}

/* Reads an inconsistent port again, alone. */
static void settle(const struct port_table *t, struct port_list *out, struct port_job *j)
{
	for (int i = 1; i < READ_TRIES && (j->gone || j->facts.torn); i++) {
		if (!restart(t, j)) {
			j->gone = true;
			return;
		}
		read_jobs(t, out, j, 1);
	}
}

/* Keeps ports in the order of the slots, which is that of erlang:ports(). */
static void keep_jobs(const struct port_table *t, struct port_list *out, struct port_job *jobs,
		      size_t nr)
{
	out->data = xcalloc(nr ? nr : 1, sizeof(*out->data));
	for (size_t i = 0; i < nr; i++) {
		settle(t, out, &jobs[i]);
		if (jobs[i].gone) {
			out->vanished++;
			free(jobs[i].facts.name);
			continue;
		}
		out->torn += jobs[i].facts.torn;
		out->cut += jobs[i].cut;
		out->data[out->len++] = jobs[i].facts;
	}
}

int ports_read(struct beam_node *n, struct port_list *out, struct error *err)
{
	struct port_table t = {.node = n};
	struct port_job *jobs;
	int rc;

	*out = (struct port_list){0};
	rc = id_format_read(&t.format, n->mem, &n->layout, n->anchors.port_tab, n->identity.otp);
	rc = rc ? rc : read_slots(&t);
	if (rc) {
		vec_free(&t.slots);
		return beam_node_unreadable(n, "port table", rc, err);
	}
	jobs = xcalloc(t.slots.len ? t.slots.len : 1, sizeof(*jobs));
	for (size_t i = 0; i < t.slots.len; i++)
		jobs[i].facts = (struct port_facts){.slot = t.slots.data[i].index,
						    .addr = t.slots.data[i].port,
						    .fds = {-1, -1}};
	read_jobs(&t, out, jobs, t.slots.len);
	keep_jobs(&t, out, jobs, t.slots.len);
	free(jobs);
	vec_free(&t.slots);
	return 0;
}

void port_list_free(struct port_list *l)
{
	for (size_t i = 0; i < l->len; i++)
		free(l->data[i].name);
	free(l->data);
	vec_free(&l->terms);
	*l = (struct port_list){0};
}
