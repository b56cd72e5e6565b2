/* SPDX-License-Identifier: BSD-2-Clause */
/* See uprobe.h. */
#include "probe/kernel/uprobe.h"
#include "target/privilege.h"

#include <errno.h>
#include <unistd.h>

void uprobe_prepare(struct bpf_program *program, bool multi)
{
	if (multi)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)MULTI_ATTACH_TYPE);
}

int uprobe_attach(struct uprobe *out, const struct bpf_program *program, bool multi, int os_pid,
		  const struct multi_points *points)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = points->at_return,
		    .ref_ctr_offset = points->ref_ctr_offsets ? points->ref_ctr_offsets[0] : 0,
		    .bpf_cookie = points->cookies ? points->cookies[0] : 0);

	*out = UPROBE_NONE;
	if (multi) {
		int fd = multi_link(bpf_program__fd(program), os_pid, points);

		if (fd < 0)
			return fd;
		out->fd = fd;
		return 0;
	}
	out->link = bpf_program__attach_uprobe_opts(program, os_pid, points->path,
						    points->offsets[0], &opts);
	return out->link ? 0 : -errno;
}

void uprobe_remove(struct uprobe *u)
{
	bpf_link__destroy(u->link);
	if (u->fd >= 0)
		close(u->fd);
	*u = UPROBE_NONE;
}

int uprobe_error(int rc, const char *path, struct error *err)
{
	bool forbidden = rc == -EPERM || rc == -EACCES;

	if (rc == -ESRCH)
		return error_set(err, ERROR_KIND_FAILED, rc, "the node exited");
	return error_set(err, forbidden ? ERROR_KIND_PRIVILEGE : ERROR_KIND_KERNEL, rc,
			 "cannot place a uprobe in %s: %s%s%s", path, error_text(rc),
			 forbidden ? ". " : "", forbidden ? privilege_fix(PRIVILEGE_UPROBE) : "");
}

int uprobe_prove(struct mem *mem, const struct elf_file *elf, uint64_t bias, uint64_t offset,
		 struct error *err)
{
	uint64_t start; /* bias of a mapping: address of the byte at offset 0 of the file */
	uint8_t before, now;

	if (!elf_file_bias(elf, 0, offset, 1, &start) ||
	    pread(elf_file_fd(elf), &before, 1, (off_t)offset) != 1 ||
	    mem_read(mem, bias - start, &now, 1) != 0 || now != before)
		return 0;
	/* The kernel resolves the path by d_real_inode() when the link is made (uprobe_multi,
	 * trace_uprobe), and may get another inode than the one that the node has mapped. */
	return error_set(err, ERROR_KIND_FAILED, -ESTALE,
			 "the kernel has put the probes into a copy of the file that the node "
			 "runs: overlayfs makes one when the file is changed (chmod, chown, "
			 "touch). Restart the node; what needs no probes works, such as ps, dump, "
			 "sched --now and record");
}
