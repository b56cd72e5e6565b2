/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampled blocks of malloc that were freed while no probe saw it: found in the node's memory, by
 * what malloc keeps around its blocks (target/libc_memory.h), of mappings by /proc/PID/maps.  Each
 * such block becomes an event of libc_alloc, op "gone", so that a capture has it, too.  So does
 * each block whose first bytes changed ("changed"), or are those of others ("alike"), and each
 * mapping of which a part is left ("shrunk", with its size): model/profile/leak_weights.h.  At the
 * end a warning of the recording says by how much malloc's resident memory grew meanwhile.
 */
#ifndef EBEAM_CMD_LEAK_CHECK_H
#define EBEAM_CMD_LEAK_CHECK_H

#include "cmd/run/live.h"
#include "event/event.h"

struct leak_check;

/* Borrows both.  If malloc is not that of glibc alone, only mappings are checked, and a warning of
 * the recording says so. */
struct leak_check *leak_check_open(struct beam_node *n, struct live *l);
void leak_check_close(struct leak_check *c); /* NULL ok */
/* Takes an event of libc_alloc. */
void leak_check_event(struct leak_check *c, const struct event *ev);
/* Checks the next blocks, so that all get their turn. */
void leak_check_some(struct leak_check *c);
/* The recording ends now; and, once the probes are detached, checks all blocks. */
void leak_check_stop(struct leak_check *c);
void leak_check_all(struct leak_check *c);
/* Blocks that are followed. */
size_t leak_check_nr(const struct leak_check *c);

#endif
