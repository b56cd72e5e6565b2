/* SPDX-License-Identifier: BSD-2-Clause */
/* See call_probes.h. */
#include "probe/call_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "probe/placement.h"
#include "target/elf.h"

struct call_probes {
	struct call_programs programs;
	int os_pid;
	VEC(struct bpf_link *) links;
};

void call_probes_open(struct call_probes **out, const struct call_programs *programs, int os_pid)
{
	struct call_probes *p = xcalloc(1, sizeof(*p));

	p->programs = *programs;
	p->os_pid = os_pid;
	*out = p;
}

void call_probes_close(struct call_probes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->links.len; i++)
		bpf_link__destroy(p->links.data[i]);
	vec_free(&p->links);
	free(p);
}

int call_probes_filter(struct call_probes *p, uint32_t point, const struct call_filter *filter,
		       struct error *err)
{
	if (bpf_map_update_elem(p->programs.filters, &point, filter, BPF_ANY))
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot set a filter: %s",
				 error_text(errno));
	return 0;
}

static int attach(struct call_probes *p, struct bpf_program *program, const struct call_probe *c,
		  uint64_t offset, bool at_return, struct error *err)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = CALL_COOKIE(c->point, c->nif),
		    .retprobe = at_return);
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(program, p->os_pid, c->path, offset, &opts);
	int rc = -errno;

	if (link) {
		vec_push(&p->links, link);
		return 0;
	}
	return error_set(
		err, rc == -EPERM || rc == -EACCES ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
		"cannot place a uprobe in %s for %s: %s", c->path, c->name, error_text(rc));
}

int call_probes_add(struct call_probes *p, const struct call_probe *c, struct error *err)
{
	/* Process, arguments, caller; of a NIF env, number, arguments. */
	struct placement_request request = {
		.args = PLACEMENT_ARGS(3),
		.returns = c->returns,
		.nops = placement_kernel_emulates_nops(),
	};
	struct placement place;
	uint64_t offset;
	int rc;

	placement_find_in_elf(&place, c->elf, c->addr, &request);
	offset = elf_file_offset_of(c->elf, c->addr);
	if (!place.ok || offset == UINT64_MAX)
		return error_set(err, ERROR_KIND_UNSUPPORTED, -ENOTSUP, "%s cannot be probed: %s",
				 c->name,
				 place.ok ? "it is in no segment of its file" : place.reason);
	log_info("%s at %s+0x%" PRIx64 " (%s)", c->name, c->path, offset + place.offset,
		 place.instruction);
	rc = attach(p, p->programs.function, c, offset + place.offset, false, err);
	return rc || !c->returns ? rc
				 : attach(p, p->programs.function_return, c, offset + place.offset,
					  true, err);
}
