/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory images: arbitrary bytes as an image, read back through a recorder, whose own image must
 * open and say the same. */
#include <stdlib.h>
#include <string.h>

#include "lib/mem_image.h"
#include "target/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An address of the image: that of its first range. */
static raddr first_addr(const uint8_t *data, size_t size)
{
	raddr addr = 0;

	if (size >= 16)
		memcpy(&addr, data + 8, sizeof(addr));
	return addr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mem *image, *recorder, *again;
	raddr addr = first_addr(data, size);
	char name[32], bytes[64], same[64];
	size_t copy_size;
	void *copy;

	if (mem_open_image(&image, data, size, NULL) != 0)
		return 0;
	recorder = mem_open_recorder(image);
	mem_read_string(recorder, addr, name, sizeof(name));
	for (size_t want = 1; want <= sizeof(bytes); want *= 2)
		mem_read(recorder, addr + want, bytes, want);
	copy = mem_recorder_image(recorder, &copy_size);
	if (!copy || mem_open_image(&again, copy, copy_size, NULL) != 0)
		abort();
	for (size_t want = 1; want <= sizeof(bytes); want *= 2)
		if (mem_read(image, addr + want, bytes, want) == 0 &&
		    (mem_read(again, addr + want, same, want) != 0 ||
		     memcmp(bytes, same, want) != 0))
			abort();
	free(copy);
	mem_close(again);
	mem_close(recorder);
	mem_close(image);
	return 0;
}
