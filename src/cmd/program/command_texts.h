/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions that are too long for commands.c. */
#ifndef EBEAM_CMD_COMMAND_TEXTS_H
#define EBEAM_CMD_COMMAND_TEXTS_H

extern const char describe_record[], describe_locks[];
extern const char describe_crashdump[], describe_diagnose[], describe_mem[];
extern const char describe_events[], describe_msg[], describe_gc[], describe_alloc[];
extern const char describe_proc[], describe_sched[], describe_top[];
extern const char describe_trace[];

#endif
