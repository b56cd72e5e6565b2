/* SPDX-License-Identifier: BSD-2-Clause */
/* Binaries in the queue of a port: data that its driver could not write yet. */
#include "abi/vm.h"
#include "base/compiler.h"
#include "beam/vm/ports.h"

/* ErtsIOQueue (erl_io_queue.h, OTP 25 to 29), from its member `size` on: size; v_start, v_end,
 * v_head, v_tail of SysIOVec {address, size}, five of these; b_start, b_end, b_head, b_tail of
 * ErlDrvBinary *, which is the end of a Binary from its size on. */
#define V_HEAD	   24
#define B_HEAD	   136
#define B_TAIL	   144
#define VEC_SIZE   16
#define VEC_LENGTH 8

#define QUEUE_MAX (1u << 20) /* elements */

bool port_queue_walk(struct beam_node *n, raddr port,
		     void (*visit)(void *arg, raddr binary, uint64_t used), void *arg)
{
	raddr queue = port + (raddr)n->layout.port_ioq_size, v, b, end, at;
	uint64_t used;

	if (mem_read_u64(n->mem, queue + V_HEAD, &v) != 0 ||
	    mem_read_u64(n->mem, queue + B_HEAD, &b) != 0 ||
	    mem_read_u64(n->mem, queue + B_TAIL, &end) != 0 || b > end || b % 8 != 0 ||
	    (end - b) / 8 > QUEUE_MAX)
		return false;
	for (; b < end; b += 8, v += VEC_SIZE) {
		if (mem_read_u64(n->mem, b, &at) != 0 ||
		    mem_read_u64(n->mem, v + VEC_LENGTH, &used) != 0)
			return false;
		if (at)
			visit(arg, at - (raddr)n->layout.binary_orig_size, used);
	}
	return true;
}
