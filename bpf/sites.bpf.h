/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by units that walk stacks: the cache of classified call sites, and return addresses that
 * return probes have replaced. */
#ifndef EBEAM_BPF_SITES_H
#define EBEAM_BPF_SITES_H

#include "maps.bpf.h"
#include "walk.bpf.h"

INLINE enum site_class site_class_of(uint64_t ip)
{
	struct site_value *known = bpf_map_lookup_elem(&sites, &ip), fresh;

	if (known && known->generation == state.code_generation)
		return known->site_class;
	fresh.generation = state.code_generation;
	fresh.site_class = (uint32_t)site_classify(ip);
	if (fresh.site_class == SITE_UNREADABLE)
		return SITE_UNREADABLE; /* not cached: the page may be in memory later */
	bpf_map_update_elem(&sites, &ip, &fresh, BPF_ANY);
	return fresh.site_class;
}

INLINE uint64_t return_kept(uint64_t at)
{
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct kept_return *kept = bpf_map_lookup_elem(&kept_returns, &tid);

	return kept && kept->at == at ? kept->ra : 0;
}

#endif
