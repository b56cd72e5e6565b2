/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits of Process.state, Process.flags and ErtsRunQueue.flags; erl_process.h, OTP 24 to 29.
 * bpf/beam.bpf.h has those of Process.state, too. */
#ifndef EBEAM_BEAM_PROCESS_STATE_H
#define EBEAM_BEAM_PROCESS_STATE_H

#define PSFLG_FREE    (1u << 10)
#define PSFLG_EXITING (1u << 11)
#define PSFLG_GC      (1u << 17)

#define F_HAVE_BLCKD_MSCHED  (1u << 8)
#define F_HAVE_BLCKD_NMSCHED (1u << 15)

#define RUNQ_FLG_SUSPENDED (1u << 22)

#endif
