/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work of schedulers that samples of CPUs do not show, as their threads sleep in a NIF or wait for
 * a CPU.  It is known from what the VM counts as work (of dirty schedulers always, of normal ones
 * while scheduler_wall_time is on), else from how long the thread waited for a CPU, by the kernel;
 * and from the time slice that a scheduler is still in.  What samples show of it is subtracted.
 */
#ifndef EBEAM_CMD_TOP_WORKED_H
#define EBEAM_CMD_TOP_WORKED_H

#include "beam/node/node.h"
#include "model/top/top_frame.h"

struct top_worked;

/* Borrows the node.  NULL: the schedulers of the node cannot be read. */
struct top_worked *top_worked_open(struct beam_node *n);
void top_worked_close(struct top_worked *w); /* NULL ok */
/* Reads the counters, and corrects the shares of schedulers in the frame's window. */
void top_worked_give(struct top_worked *w, struct top_frame *f);

#endif
