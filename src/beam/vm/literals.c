/* SPDX-License-Identifier: BSD-2-Clause */
/* See literals.h. */
#include "beam/vm/literals.h"

/* {off_heap, end, start[]} */
#define AREA_START 16
#define AREA_MAX   ((uint64_t)1 << 40)
/* BeamCodeHeader {..., literal_area, on_load, line_table, ...} */
#define BEFORE_LINE_TABLE 16

bool literal_area_read(struct beam_node *n, raddr area, struct literal_area *out)
{
	uint64_t words[2];

	if (!area || mem_read(n->mem, area, words, sizeof(words)) != 0)
		return false;
	*out = (struct literal_area){
		.start = area + AREA_START, .end = words[1], .off_heap = words[0]};
	return out->end >= out->start && out->end - out->start <= AREA_MAX &&
	       (out->end - out->start) % 8 == 0;
}

raddr literal_area_of_code(struct beam_node *n, raddr code)
{
	raddr area;

	if (mem_read_u64(n->mem, code + (raddr)n->layout.code_header_line_table - BEFORE_LINE_TABLE,
			 &area) != 0)
		return 0;
	return area;
}
