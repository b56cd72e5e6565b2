/* SPDX-License-Identifier: BSD-2-Clause */
/* See btf_file.h. */
#include "probe/session/btf_file.h"

#include <asm/prctl.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/compiler.h"
#include "kernel_btf.skel.h"
#include "probe/kernel/libbpf_log.h"
#include "probe/session/programs.h"

/* ---- the file -------------------------------------------------------------------------------- */

static bool is_id(const struct btf *btf, uint32_t id)
{
	return id < btf__type_cnt(btf);
}

/* True if the type refers only to types and names within the file: libbpf follows references
 * without a check. */
static bool is_sound(const struct btf *btf, const struct btf_type *t)
{
	bool good = btf__name_by_offset(btf, t->name_off) != NULL;

	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (int i = 0; i < btf_vlen(t); i++) {
			const struct btf_member *m = &btf_members(t)[i];

			good = good && is_id(btf, m->type) &&
			       btf__name_by_offset(btf, m->name_off) != NULL;
		}
		return good;
	case BTF_KIND_ARRAY:
		return good && is_id(btf, btf_array(t)->type) &&
		       is_id(btf, btf_array(t)->index_type);
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
	case BTF_KIND_VAR:
	case BTF_KIND_TYPE_TAG:
	case BTF_KIND_DECL_TAG:
		return good && is_id(btf, t->type);
	default:
		return good;
	}
}

static int check_file(const char *path, struct error *err)
{
	struct btf *btf;
	bool good;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, ERROR_KIND_FAILED, -errno, "--btf: cannot open %s: %s", path,
				 error_text(errno));
	close(fd);
	libbpf_log_open();
	btf = btf__parse(path, NULL);
	good = btf != NULL;
	for (uint32_t id = 1; good && id < btf__type_cnt(btf); id++)
		good = is_sound(btf, btf__type_by_id(btf, id));
	btf__free(btf);
	if (good)
		return 0;
	return error_set(err, ERROR_KIND_FAILED, -EINVAL,
			 "--btf: %s holds no BTF, or is truncated. It must be a copy of the BTF of "
			 "this kernel, or an ELF file with it (pahole makes one from the kernel's "
			 "debug symbols: pahole --btf_encode_detached=FILE vmlinux)",
			 path);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* FS base of this thread, as its C library registered it. */
static uint64_t own_fsbase(void)
{
	unsigned long base = 0;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

static bool fits(const struct kernel_btf_bpf *skel)
{
	return skel->bss->field_pid_tgid == skel->bss->kernel_pid_tgid &&
	       skel->bss->field_fsbase == own_fsbase() &&
	       (int64_t)skel->bss->field_stack < 0 && /* must be an address of the kernel */
	       memcmp(skel->bss->field_comm, skel->bss->kernel_comm,
		      sizeof(skel->bss->kernel_comm)) == 0;
}

static int run(struct kernel_btf_bpf *skel, const char *path, struct error *err)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	struct utsname u = {.release = "?"};
	int rc = kernel_btf_bpf__load(skel);

	if (rc)
		return programs_error(rc, err);
	rc = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.own_task), &opts);
	if (rc)
		return programs_error(rc, err);
	if (fits(skel))
		return 0;
	uname(&u);
	return error_set(err, ERROR_KIND_FAILED, -EINVAL,
			 "--btf: %s holds BTF, but not that of this kernel (%s): the fields of "
			 "task_struct are elsewhere",
			 path, u.release);
}

int btf_file_check(const char *path, struct error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	int rc = check_file(path, err);
	struct kernel_btf_bpf *skel;

	if (rc)
		return rc;
	libbpf_log_open();
	skel = kernel_btf_bpf__open_opts(&opts);
	rc = skel ? run(skel, path, err) : programs_error(-errno, err);
	kernel_btf_bpf__destroy(skel);
	return rc;
}
