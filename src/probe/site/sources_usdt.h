/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The USDT probes of a VM that was configured --with-dynamic-trace=systemtap (or dtrace), as
 * sources of events: which probe gives which kind, and how its arguments become the kind's fields.
 */
#ifndef EBEAM_PROBE_SOURCES_USDT_H
#define EBEAM_PROBE_SOURCES_USDT_H

#include "probe/site/sources.h"

/* Subset of `kinds` (bit sets) whose probes the file has, with arguments that can be read. */
uint64_t sources_usdt_kinds(const struct elf_file *elf, uint64_t kinds);
/* Adds the points of kinds that sources_usdt_kinds() has returned. */
void sources_usdt_add(struct source_plan *p, const struct elf_file *elf, uint64_t kinds);
/* The probes of a kind, "a, b"; "" if there are none. */
void sources_usdt_names(enum event_kind kind, char *buf, size_t size);
/* How the events of a kind differ from those of uprobes; "" = only in the moment at which they
 * come. */
const char *sources_usdt_differs(enum event_kind kind);

#endif
