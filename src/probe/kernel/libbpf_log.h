/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends messages of libbpf to the log, at -vv only: many are of programs that are only loaded to
 * find out what the kernel can do. */
#ifndef EBEAM_PROBE_LIBBPF_LOG_H
#define EBEAM_PROBE_LIBBPF_LOG_H

/* To be called before libbpf is used; more calls do no harm.  Any thread. */
void libbpf_log_open(void);

#endif
