/* SPDX-License-Identifier: BSD-2-Clause */
/* A file of BTF (--btf), by which libbpf relocates programs for the running kernel if that has
 * no BTF of its own. */
#ifndef EBEAM_PROBE_BTF_FILE_H
#define EBEAM_PROBE_BTF_FILE_H

#include "base/error.h"

/* 0 if the file is BTF of this kernel, as far as the struct shows that programs read: a program
 * reads its own task by it.  ERROR_KIND_FAILED (cannot be read, is not BTF, or is of another
 * kernel), ERROR_KIND_PRIVILEGE, ERROR_KIND_KERNEL. */
int btf_file_check(const char *path, struct error *err);

#endif
