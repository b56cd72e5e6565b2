/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Constants of the VM that are not in debug information, with OTP's names, for ebeam's programs
 * and for BPF.  Each with the file of erts/emulator/beam and the releases that were read;
 * differences between releases are noted.  Offsets are in abi/layout.h. */
#ifndef EBEAM_ABI_VM_H
#define EBEAM_ABI_VM_H

/* ---- terms: erl_term.h, OTP 24 to 29 -------------------------------------------------------- */

#define TERM_NIL	   0x3bull
#define TERM_IS_LIST(t)	   (((t)&3) == 1) /* a cons; [] is not one */
#define TERM_IS_BOXED(t)   (((t)&3) == 2)
#define TERM_IS_HEADER(t)  (((t)&3) == 0) /* of a word on a heap; on a stack: return address */
#define TERM_IS_POINTER(t) (TERM_IS_LIST(t) || TERM_IS_BOXED(t))
#define TERM_IS_ATOM(t)	   (((t)&0x3f) == 0x0b)
#define TERM_IS_CATCH(t)   (((t)&0x3f) == 0x1b)
#define TERM_IS_SMALL(t)   (((t)&0xf) == 0xf)
#define TERM_IS_PID(t)	   (((t)&TERM_TAG_MASK) == TERM_TAG_PID)
#define TERM_IS_PORT(t)	   (((t)&TERM_TAG_MASK) == TERM_TAG_PORT)
/* Low bits of an immediate term. */
#define TERM_TAG_MASK 0xf
#define TERM_TAG_PID  0x3
#define TERM_TAG_PORT 0x7
/* ERTS_INVALID_PID, erl_node_container_utils.h: 28 bits of data up to OTP 25, then 60.  Also the id
 * of the process that runs a match specification: db_prog_match() makes it the current process of
 * its scheduler (erl_db_util.c, OTP 24 to 29). */
#define TERM_INVALID_PID_25    0xfffffff3ull
#define TERM_INVALID_PID       0xfffffffffffffff3ull
#define TERM_IS_INVALID_PID(t) ((t) == TERM_INVALID_PID_25 || (t) == TERM_INVALID_PID)
/* Address in a list or boxed term; bit 0x4 marks a literal. */
#define TERM_ADDR(t) ((t) & ~7ull)

/* The header word of a boxed term: two bits 0, four bits of subtag, then the arity. */
#define HEADER_SUBTAG(h)   ((h)&0x3f)
#define HEADER_ARITY(h)	   ((h) >> 6)
#define HEADER_IS_TUPLE(h) (HEADER_SUBTAG(h) == SUBTAG_TUPLE)
#define HEADER_TUPLE(n)	   ((n)*1ull << 6)

#define SUBTAG_TUPLE	     0x00
#define SUBTAG_FUN_REF	     0x04 /* OTP 27 on; up to 26: match state of a binary */
#define SUBTAG_BIG_POSITIVE  0x08
#define SUBTAG_BIG_NEGATIVE  0x0c
#define SUBTAG_REF	     0x10
#define SUBTAG_FUN	     0x14
#define SUBTAG_FLOAT	     0x18
#define SUBTAG_RECORD	     0x1c /* OTP 29; OTP 24: external fun */
#define SUBTAG_PROC_BIN	     0x20 /* up to OTP 26 */
#define SUBTAG_HEAP_BIN	     0x24 /* up to OTP 26 */
#define SUBTAG_SUB_BIN	     0x28 /* up to OTP 26 */
#define SUBTAG_HEAP_BITS     0x20 /* OTP 27 on */
#define SUBTAG_SUB_BITS	     0x24 /* OTP 27 on */
#define SUBTAG_BIN_REF	     0x28 /* OTP 27 on */
#define SUBTAG_MAP	     0x2c /* OTP 27 on */
#define SUBTAG_EXTERNAL_PID  0x30
#define SUBTAG_EXTERNAL_PORT 0x34
#define SUBTAG_EXTERNAL_REF  0x38
#define SUBTAG_MAP_26	     0x3c /* up to OTP 26 */

/* ErlSubBits.base_flags, erl_bits.h of OTP 27 to 29: the address of a bitstring's bytes, with
 * flags in its low bits.  VOLATILE: the bytes are or were writable, so they may have moved since;
 * then their address is in the Binary that the BinRef points to. */
#define SUB_BITS_FLAGS	  3ull
#define SUB_BITS_VOLATILE 2

/* Header of a map: its type, and the bitmap of a node.  erl_map.h, OTP 24 to 29. */
#define HEADER_MAP_TYPE(h)   ((h) >> 6 & 3)
#define HEADER_MAP_BITMAP(h) ((h) >> 16 & 0xffff)
#define MAP_FLAT	     0
#define MAP_NODE	     1
#define MAP_HEAD_ARRAY	     2
#define MAP_HEAD_BITMAP	     3

/* ---- processes: erl_process.h, OTP 24 to 29 ------------------------------------------------- */

/* Process.state */
#define PSFLG_FREE		(1u << 10)
#define PSFLG_EXITING		(1u << 11)
#define PSFLG_ACTIVE		(1u << 13)
#define PSFLG_IN_RUNQ		(1u << 14)
#define PSFLG_RUNNING		(1u << 15)
#define PSFLG_SUSPENDED		(1u << 16)
#define PSFLG_GC		(1u << 17)
#define PSFLG_ACTIVE_SYS	(1u << 20)
#define PSFLG_RUNNING_SYS	(1u << 21)
#define PSFLG_OFF_HEAP_MSGQ	(1u << 24)
#define PSFLG_DIRTY_CPU_PROC	(1u << 26) /* runs on a dirty CPU scheduler next */
#define PSFLG_DIRTY_IO_PROC	(1u << 27)
#define PSFLG_DIRTY_ACTIVE_SYS	(1u << 28)
#define PSFLG_DIRTY_RUNNING	(1u << 29)
#define PSFLG_DIRTY_RUNNING_SYS (1u << 30)
#define PSFLGS_DIRTY_WORK	(PSFLG_DIRTY_CPU_PROC | PSFLG_DIRTY_IO_PROC)
/* One of these is set while the process is on a scheduler. */
#define PSFLGS_ON_SCHEDULER                                                                        \
	(PSFLG_RUNNING | PSFLG_RUNNING_SYS | PSFLG_DIRTY_RUNNING | PSFLG_DIRTY_RUNNING_SYS)

/* Process.flags */
#define F_NEED_FULLSWEEP     (1u << 4)
#define F_HAVE_BLCKD_MSCHED  (1u << 8) /* has blocked multi-scheduling */
#define F_DISABLE_GC	     (1u << 11)
#define F_ABANDONED_HEAP_USE (1u << 12)
#define F_DELAY_GC	     (1u << 13)
#define F_HAVE_BLCKD_NMSCHED (1u << 15) /* has blocked normal schedulers only */
#define F_DIRTY_MAJOR_GC     (1u << 19)
#define F_HIBERNATED	     (1u << 21)
#define F_TRAP_EXIT	     (1u << 22)

/* ErtsSignalInQueueFlags */
#define FS_ON_HEAP_MSGQ (1u << 1)

/* ---- schedulers: erl_process.h, OTP 24 to 29 ------------------------------------------------ */

/* ErtsSchedulerSleepInfo.flags */
#define SSI_FLG_WAITING (1u << 3)
/* ErtsRunQueue.flags */
#define RUNQ_FLG_SUSPENDED (1u << 22)
#define RUNQ_FLG_MSB_EXEC  (1u << 28) /* run queue of scheduler 1: multi-scheduling is blocked */

#endif
