/* SPDX-License-Identifier: BSD-2-Clause */
/* See app_columns.h. */
#include "view/table/app_columns.h"

#define FIELD(name, title, type, member) TABLE_FIELD(name, title, type, struct top_app_row, member)

const struct table_column app_columns[] = {
	{FIELD("application", "APPLICATION", TEXT, name)},
	{FIELD("version", "VERSION", TEXT, vsn)},
	{FIELD("cpu", "CPU%", PERCENT, cpu)},
	{FIELD("code_cpu", "CODE CPU%", PERCENT, code_cpu)},
	{FIELD("memory", "MEMORY", BYTES, memory)},
	{FIELD("processes", "PROCESSES", COUNT, processes)},
	{FIELD("message_queue_len", "MESSAGES", COUNT, message_queue_len)},
	{FIELD("reductions_per_s", "REDUCTIONS/S", RATE, reductions)},
	{FIELD("modules", "MODULES", COUNT, modules)},
	{FIELD("running", "RUNNING", FLAG, running), .hidden = true},
	{0},
};
