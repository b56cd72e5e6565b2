/* SPDX-License-Identifier: BSD-2-Clause */
/* What libbpf says: to the log, for -vv; failures are answers in many places. */
#ifndef EBEAM_PROBE_LIBBPF_LOG_H
#define EBEAM_PROBE_LIBBPF_LOG_H

/* Before libbpf is used; again and from any thread, too. */
void libbpf_log_open(void);

#endif
