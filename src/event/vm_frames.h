/* SPDX-License-Identifier: BSD-2-Clause */
/* The VM's own frames at the leaf of a stack, which events do without. */
#ifndef EBEAM_EVENT_VM_FRAMES_H
#define EBEAM_EVENT_VM_FRAMES_H

#include "names/names.h"

/* The stack without the VM's frames at its leaf. */
uint32_t vm_frames_cut(const struct names *names, uint32_t stack);
/* The stack of a process that will continue at `leaf`: `stack` without the frames of the VM's
 * scheduling code at its end, and with `leaf` as its leaf. */
uint32_t vm_frames_leaf(struct names *names, uint32_t stack, uint32_t leaf);

#endif
