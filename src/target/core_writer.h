/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a core file of a live process with what readers of the VM's memory need (core.h): memory
 * that differs from files.  Of files that are mapped and not written only the first page, which
 * says which build they are; no pages that were never touched, or hold zeros only.  A part of the
 * memory that is mapped twice, as the JIT's code is, is in the file once.  Of terabytes that were
 * reserved (sanitizers) the parts of which nothing was touched are no part of the file, and cannot
 * be read from it.
 *
 * Without a pause the memory is copied while the process changes it, and registers of threads are
 * not in the file.  With one all threads are stopped by ptrace(2) meanwhile, and go on if ebeam is
 * killed.
 */
#ifndef EBEAM_TARGET_CORE_WRITER_H
#define EBEAM_TARGET_CORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "target/mem.h"

/* Owner of a note, without data, in a core whose memory was copied while the process ran. */
#define CORE_TORN_NOTE "EBEAM"

/* Where the file goes, byte after byte.  0 or negative errno. */
struct core_sink {
	int (*write)(void *arg, const void *data, size_t size);
	int (*skip)(void *arg, uint64_t size); /* so many zeros */
	void *arg;
};

struct core_written {
	uint64_t size;	     /* of the file */
	uint64_t copied;     /* bytes of memory in it; the rest of `size` is zeros */
	uint64_t unreadable; /* bytes that could not be read: zeros in the file */
	uint64_t paused_ns;
	size_t threads; /* whose registers are in it */
};

/* ERROR_KIND_PRIVILEGE: the process cannot be stopped; _FAILED: it has exited; the sink's code with
 * its own text left to the caller (*err is not set) if that fails. */
int core_write(struct mem *mem, int os_pid, bool pause, const struct core_sink *sink,
	       struct core_written *out, struct error *err);

#endif
