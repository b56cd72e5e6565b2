/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages of files on which probes are to be placed. */
#ifndef EBEAM_PROBE_PAGE_CACHE_H
#define EBEAM_PROBE_PAGE_CACHE_H

#include <stdint.h>

/*
 * Reads the instruction at this offset of a file into the page cache.  Otherwise the kernel reads
 * the page itself when it places a uprobe (install_breakpoint(), read_cache_page()), without the
 * locks that file systems expect: some warn of that (ext4_check_map_extents_env(), 7871da20d484,
 * Linux 6.16 and later, with CONFIG_EXT4_DEBUG), and with kernel.panic_on_warn a warning halts the
 * host.  Errors are ignored: then the kernel reads the page after all.
 */
void page_cache_read(const char *path, uint64_t offset);

#endif
