/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits of Process.state; erl_process.h, OTP 25 to 29.  bpf/beam.bpf.h has the same. */
#ifndef EBEAM_BEAM_PROCESS_STATE_H
#define EBEAM_BEAM_PROCESS_STATE_H

#define PSFLG_FREE    (1u << 10)
#define PSFLG_EXITING (1u << 11)
#define PSFLG_GC      (1u << 17)

#endif
