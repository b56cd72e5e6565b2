/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognises machine code that the kernel compiles for x86-64; see kernel.h. */
#include "probe/kernel/kernel.h"

#include <stdint.h>
#include <string.h>

/* add %gs:OFFSET, %r9: emit_priv_frame_ptr() of arch/x86/net/bpf_jit_comp.c puts it before the code
 * of a function with a private stack; nothing else adds to r9. */
static const uint8_t adds_cpu_offset_to_r9[] = {0x65, 0x4c, 0x03, 0x0c, 0x25};

bool kernel_uses_private_stack(const void *code, size_t size)
{
	return memmem(code, size, adds_cpu_offset_to_r9, sizeof(adds_cpu_offset_to_r9)) != NULL;
}
