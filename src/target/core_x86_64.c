/* SPDX-License-Identifier: BSD-2-Clause */
/* See core_internal.h. */
#include <sys/procfs.h>

#include "target/core_internal.h"

/* Indices of registers in elf_prstatus.pr_reg: struct user_regs_struct, sys/user.h. */
enum {
	REG_BP = 4,
	REG_BX = 5,
	REG_SI = 13,
	REG_DI = 14,
	REG_ORIG_AX = 15,
	REG_IP = 16,
	REG_SP = 19,
	REG_FS = 21
};

struct core_thread core_thread_of(const struct elf_prstatus *s)
{
	return (struct core_thread){
		.os_tid = s->pr_pid,
		.ip = s->pr_reg[REG_IP],
		.sp = s->pr_reg[REG_SP],
		.bp = s->pr_reg[REG_BP],
		.bx = s->pr_reg[REG_BX],
		.di = s->pr_reg[REG_DI],
		.si = s->pr_reg[REG_SI],
		.thread_pointer = s->pr_reg[REG_FS],
		.syscall = (int64_t)s->pr_reg[REG_ORIG_AX],
	};
}
