/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bounds shared by BPF programs and user space, each with its reason. */
#ifndef EBEAM_ABI_LIMITS_H
#define EBEAM_ABI_LIMITS_H

/* Frames kept next to the leaf, and next to the root, of a deep Erlang stack.  One frame between
 * them has the number of those that are missing. */
#define EBEAM_LEAF_FRAMES 896
#define EBEAM_ROOT_FRAMES 64

/* Kernel frames of one sample; of deeper stacks the leaf side is kept. */
#define EBEAM_KERNEL_FRAMES 32

/* Frames of C code of one sample; of deeper stacks the leaf side is kept. */
#define EBEAM_NATIVE_FRAMES 128

/* Mappings that hold JIT code.  OTP adds carriers of 8 to 64 MiB as code grows. */
#define EBEAM_JIT_RANGES 32

/* Words of an Erlang stack read at once: small enough for the verifier to walk the inner loop. */
#define EBEAM_CHUNK_WORDS 32

/* Chunks walked from the leaf side: 8,192 words = 64 KiB of stack. */
#define EBEAM_LEAF_CHUNKS 256

/* Of x86-64; memory is mapped in whole pages. */
#define EBEAM_PAGE_SIZE 4096

/* Bytes that a stack is followed if its end is not known, as its process is being collected; it
 * must have its bottom return address within them. */
#define EBEAM_UNBOUNDED_STACK_SIZE 65536

/* Chunks walked from the root side of a deeper stack. */
#define EBEAM_ROOT_CHUNKS 8

/* C stack searched for the saved Erlang stack pointer: 8 KiB. */
#define EBEAM_C_CHUNKS 32

/* Bytes of JIT code after a call that are searched for how the stack pointer is restored. */
#define EBEAM_SITE_BYTES 256

/* Bytes of a module's JIT record copied at load time, before it can be purged. */
#define EBEAM_CODE_BYTES 32768

/* Threads of a node that can be distinguished: OTP allows 1024 schedulers of each of three
 * kinds. */
#define EBEAM_THREADS 4096

/* Largest parts of struct process that programs of events read at once, on any release.  QUEUES:
 * lengths of the inner queues (OTP 27 and later).  GC_PART, for a collection: from id to heap_sz or
 * flags, from old_hend or gen_gcs to state, from flags to state.  For a message: from data to the
 * size of its fragment. */
#define EBEAM_QUEUES  64
#define EBEAM_GC_PART 512
#define EBEAM_MESSAGE 80

#endif
