/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of BTF (--btf), by which libbpf relocates programs for the running kernel if that has
 * no BTF of its own. */
#ifndef EBEAM_PROBE_BTF_FILE_H
#define EBEAM_PROBE_BTF_FILE_H

#include "base/error.h"

/* 0 if the file is BTF of this kernel, as far as can be tested: a BPF program reads its own
 * task_struct by it, the struct that ebeam's programs read.  ERROR_KIND_FAILED (cannot be read, is
 * not BTF, or is of another kernel), ERROR_KIND_PRIVILEGE, ERROR_KIND_KERNEL. */
int btf_file_check(const char *path, struct error *err);

#endif
