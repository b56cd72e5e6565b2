/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_probes.h. */
#include "probe/session/call_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/site/placement.h"
#include "target/elf.h"

struct call_probes {
	struct call_programs programs;
	VEC(struct source_point) points;
	VEC(char *) strings; /* owned strings of the points */
};

void call_probes_open(struct call_probes **out, const struct call_programs *programs)
{
	struct call_probes *p = xcalloc(1, sizeof(*p));

	p->programs = *programs;
	*out = p;
}

void call_probes_close(struct call_probes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->strings.len; i++)
		free(p->strings.data[i]);
	vec_free(&p->strings);
	vec_free(&p->points);
	free(p);
}

const struct source_point *call_probes_points(const struct call_probes *p, unsigned int *nr)
{
	*nr = (unsigned int)p->points.len;
	return p->points.data;
}

int call_probes_filter(struct call_probes *p, uint32_t point, const struct call_filter *filter,
		       struct error *err)
{
	if (bpf_map_update_elem(p->programs.filters, &point, filter, BPF_ANY))
		return error_set(err, ERROR_KIND_FAILED, -errno,
				 "cannot put the conditions of a traced function into a BPF map: "
				 "%s",
				 error_text(errno));
	return 0;
}

static const char *keep(struct call_probes *p, const char *text)
{
	char *copy = xstrdup(text);

	vec_push(&p->strings, copy);
	return copy;
}

int call_probes_add(struct call_probes *p, const struct call_probe *c, struct error *err)
{
	uint64_t offset = elf_file_offset_of(c->elf, c->addr);
	struct placement_pair sites;
	struct source_point point = {
		.symbol = keep(p, c->name),
		.program = "call_function",
		.kinds = 1ull << EVENT_CALLS,
		.path = keep(p, c->path),
		.addr = c->addr,
		.cookie = CALL_COOKIE(c->point, c->nif),
	};

	/* First three arguments: process, argument array, caller; of a NIF: env, argc, argv. */
	if (!placement_find_pair(&sites, c->elf, c->addr, PLACEMENT_ARGS(3), c->returns) ||
	    offset == UINT64_MAX)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP, "%s cannot be probed: %s",
				 c->name,
				 !sites.call.ok	  ? sites.call.reason
				 : !sites.back.ok ? sites.back.reason
						  : "it is in no segment of its file");
	point.offset = offset + sites.call.offset;
	point.site = sites.call;
	log_info("%s at %s+0x%" PRIx64 " (%s)", c->name, c->path, point.offset,
		 sites.call.instruction);
	vec_push(&p->points, point);
	if (!c->returns)
		return 0;
	point.program = "call_function_return";
	point.at_return = true;
	point.offset = offset + sites.back.offset;
	point.site = sites.back;
	vec_push(&p->points, point);
	return 0;
}
