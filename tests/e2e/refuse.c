/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For LD_PRELOAD: a kernel that refuses the BPF programs named in REFUSE ("event_gc_return,..."),
 * as a verifier of before 6.13 does that finds their stack too large.  Names as the kernel keeps
 * them, cut after 15 characters.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS                                                                                      \
	"combined stack size of 4 calls is 544. Too large\n"                                       \
	"processed 12345 insns (limit 1000000) max_states_per_insn 4 total_states 99 "             \
	"peak_states 98 mark_read 97\n"

static int is_refused(const union bpf_attr *attr)
{
	const char *list = getenv("REFUSE"), *name = attr->prog_name;
	size_t len = strnlen(name, BPF_OBJ_NAME_LEN);

	/* Every kernel takes what does nothing. */
	if (attr->insn_cnt <= 2)
		return 0;

	for (; list && *list; list += strcspn(list, ",") + (list[strcspn(list, ",")] == ',')) {
		if (strcspn(list, ",") == len && memcmp(list, name, len) == 0)
			return 1;
	}
	return 0;
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	union bpf_attr *attr;
	va_list ap;
	long a[6];

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	attr = (union bpf_attr *)a[1];
	if (number != SYS_bpf || a[0] != BPF_PROG_LOAD || !is_refused(attr))
		return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (attr->log_level && attr->log_buf)
		snprintf((char *)(uintptr_t)attr->log_buf, attr->log_size, "%s", WORDS);
	errno = EACCES;
	return -1;
}
