/* SPDX-License-Identifier: BSD-2-Clause */
/* See multi.h. */
#include "probe/kernel/multi.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"

/* linux/bpf.h of 6.6, which the headers of older systems lack. */
#define MULTI_RETURN 1u /* BPF_F_UPROBE_MULTI_RETURN */
struct multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t nr, multi_flags, os_pid, pad;
};

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

int multi_link(int prog_fd, int os_pid, const struct multi_points *points)
{
	struct multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = MULTI_ATTACH_TYPE,
		.path = address(points->path),
		.offsets = address(points->offsets),
		.ref_ctr_offsets = address(points->ref_ctr_offsets),
		.cookies = address(points->cookies),
		.nr = points->nr,
		.multi_flags = points->at_return ? MULTI_RETURN : 0,
		.os_pid = (uint32_t)os_pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

/* Tries to link a program to a file that cannot be probed: *at_file is the error for all processes,
 * *at_pid that for a pid that does not exist.  False: no such program can be loaded. */
static bool try_links(int *at_file, int *at_pid)
{
	const struct bpf_insn nothing[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)MULTI_ATTACH_TYPE);
	const uint64_t offset = 0;
	const struct multi_points points = {.path = "/", .offsets = &offset, .nr = 1};
	int prog = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "ebeam_multi", "Dual BSD/GPL", nothing,
				 ARRAY_SIZE(nothing), &opts);

	if (prog < 0)
		return false;
	*at_file = multi_link(prog, 0, &points);
	*at_pid = multi_link(prog, -1, &points);
	close(prog);
	return true;
}

/*
 * The first kernels with uprobe_multi compared threads where they should have compared processes.
 * Repaired ones (46ba0e49b642, "bpf: fix multi-uprobe PID filtering logic") check the pid before
 * the file.  So the error of a link with a pid that does not exist, in a file that cannot be
 * probed, shows which of the two kernels this is.
 */
bool multi_available(void)
{
	int at_file, at_pid;

	return try_links(&at_file, &at_pid) && at_file == -EBADF && at_pid == -EINVAL;
}

bool multi_filters_threads(void)
{
	int at_file, at_pid;

	return try_links(&at_file, &at_pid) && at_file == -EBADF && at_pid != -EINVAL;
}
