/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots made by hand, for tests of what reads them (call tree, diff, exporters, views).
 *
 * Add functions, frames, processes, threads and stacks in any order; snapfix_snapshot() then
 * sorts and sums everything as snapshot.h promises, adds the group and kind frames that the
 * options ask for, and lends the result.  Free it with snapfix_close(), never with
 * snapshot_close().  Names are copied.  Not for production: a bad index asserts.
 */
#ifndef EBEAM_TESTS_SNAPFIX_H
#define EBEAM_TESTS_SNAPFIX_H

#include "model/profile/snapshot.h"

struct snapfix;

struct snapfix *snapfix_open(const struct snapshot_options *opts); /* NULL = by none */
void snapfix_close(struct snapfix *f);

/* Ids are handed out from 0; the same arguments give the same id.  module, file: NULL = none. */
uint32_t snapfix_frame(struct snapfix *f, const char *name, const char *module, const char *file,
		       uint32_t line, enum frame_kind kind);
uint32_t snapfix_process(struct snapfix *f, const char *pid, const char *registered,
			 const char *label, const char *initial_call);
uint32_t snapfix_thread(struct snapfix *f, enum thread_type type, uint16_t scheduler,
			uint32_t os_tid, const char *name);

/* One stack, root first, without group frames.  process may be SNAPSHOT_NONE. */
void snapfix_stack(struct snapfix *f, const uint32_t *frames, uint32_t nr_frames, uint32_t process,
		   uint32_t thread, enum sample_kind kind, uint64_t count);
/* The same from text, "a:b/1;c:d/2": Erlang frames without files; "" is the empty stack. */
void snapfix_text(struct snapfix *f, const char *stack, uint32_t process, uint32_t thread,
		  enum sample_kind kind, uint64_t count);

void snapfix_meta(struct snapfix *f, const char *key, const char *value);
void snapfix_counter(struct snapfix *f, const char *name, uint64_t value);
void snapfix_status(struct snapfix *f, enum sample_status status, uint64_t count); /* of samples */

/* Borrowed; nothing may be added afterwards. */
const struct snapshot *snapfix_snapshot(struct snapfix *f);

#endif
