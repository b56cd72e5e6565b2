/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of the VM: uprobes on functions that the VM exports (event_*.bpf.h); which program
 * belongs where stands in src/probe/site/sources.c.  A program reads the facts of its event from
 * the arguments and the process, and emits one record, or several.
 *
 * Such a program may be preempted, and another thread's may run on its CPU meanwhile: so there is
 * no per-CPU scratch here.  What is kept is kept by thread; records are made in the ring itself.
 *
 * Signatures and structs: OTP 25 and 27 (where 26 and 28 agree with both), the source file stands
 * at each program.
 */
#include "call.bpf.h"
#include "event_driver.bpf.h"
#include "event_alloc.bpf.h"
#include "event_copy.bpf.h"
#include "event_dist.bpf.h"
#include "event_exception.bpf.h"
#include "event_gc.bpf.h"
#include "event_message.bpf.h"
#include "event_port.bpf.h"
#include "event_process.bpf.h"
#include "event_signal.bpf.h"
#include "event_usdt.bpf.h"
