/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of the VM: uprobes on functions that the VM exports (event_*.bpf.h);
 * src/probe/site/sources.c has which program is attached where.  A program reads the facts of its
 * event from arguments and process, and emits one record or several.
 *
 * A program may be preempted, and one of another thread may run on its CPU meanwhile: so there is
 * no per-CPU scratch here.  State is kept by thread; records are built in the ring itself.
 *
 * Signatures and structs: OTP 25 and 27 (26 and 28 where they agree with both); each program names
 * its source file.
 */
#include "call.bpf.h"
#include "event_driver.bpf.h"
#include "event_alloc.bpf.h"
#include "event_copy.bpf.h"
#include "event_dist.bpf.h"
#include "event_exception.bpf.h"
#include "event_gc.bpf.h"
#include "event_libc.bpf.h"
#include "event_message.bpf.h"
#include "event_port.bpf.h"
#include "event_process.bpf.h"
#include "event_signal.bpf.h"
#include "event_usdt.bpf.h"
