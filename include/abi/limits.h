/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bounds shared by BPF programs and user space, each with its reason. */
#ifndef EBEAM_ABI_LIMITS_H
#define EBEAM_ABI_LIMITS_H

/* Frames kept at the leaf end and at the root end of an Erlang stack that is too deep.  One frame
 * between the two parts (FRAME_ELIDED) shows how many frames are missing. */
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

/* Bytes of a page of x86-64, the unit in which memory is mapped. */
#define EBEAM_PAGE_SIZE 4096

/* Bytes of an Erlang stack that are searched for its bottom return address, if its end is not
 * known because a garbage collection is moving the stack. */
#define EBEAM_UNBOUNDED_STACK_SIZE 65536

/* Chunks walked from the root side of a deeper stack. */
#define EBEAM_ROOT_CHUNKS 8

/* Chunks (8 KiB) of the C stack that are searched for the saved Erlang stack pointer. */
#define EBEAM_C_CHUNKS 32

/* Bytes of JIT code after a call that are searched for the instruction that restores the Erlang
 * stack pointer. */
#define EBEAM_SITE_BYTES 256

/* Bytes of a module's JIT record copied at load time, before it can be purged. */
#define EBEAM_CODE_BYTES 32768

/* Threads of a node for which the maps have room: OTP allows 1024 schedulers of each of three
 * kinds. */
#define EBEAM_THREADS 4096

/* Bytes of adjacent fields that event programs read at once (struct part), enough for any release.
 * QUEUES: lengths of the inner message queues in struct process (OTP 27 and later).  GC_PART: what
 * a collection changes in struct process, from id to heap_sz or flags, or from old_hend, gen_gcs or
 * flags to state.  MESSAGE: ErtsMessage, from data to the used size of its heap fragment. */
#define EBEAM_QUEUES  64
#define EBEAM_GC_PART 512
#define EBEAM_MESSAGE 80

/* Sampled blocks of the C library that are not freed yet; further ones are counted (blocks_full).
 * ebeam samples less before that happens. */
#define EBEAM_LIBC_BLOCKS 262144

/* Bytes of which one is sampled, at most; larger blocks count as this size where their mean is
 * taken. */
#define EBEAM_LIBC_EVERY (64u << 10)

/* Calls of malloc's functions within each other; more are a mark that was left behind. */
#define EBEAM_LIBC_DEPTH 8

#endif
