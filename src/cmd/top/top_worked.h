/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work of schedulers that samples of CPUs do not show, as their threads sleep in a NIF or have no
 * CPU: what the VM counted of their work in the window (of dirty ones always, of normal ones while
 * scheduler_wall_time is on), or for how long its thread waited for a CPU, by the kernel, or the
 * time slice that it is still in; less what was sampled.
 */
#ifndef EBEAM_CMD_TOP_WORKED_H
#define EBEAM_CMD_TOP_WORKED_H

#include "beam/node/node.h"
#include "model/top/top_frame.h"

struct top_worked;

/* Borrows the node.  NULL: where schedulers stand is not known. */
struct top_worked *top_worked_open(struct beam_node *n);
void top_worked_close(struct top_worked *w); /* NULL ok */
/* Reads what is counted by now, and corrects the shares of the frame's window. */
void top_worked_give(struct top_worked *w, struct top_frame *f);

#endif
