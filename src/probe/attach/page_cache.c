/* SPDX-License-Identifier: BSD-2-Clause */
/* See page_cache.h. */
#include "probe/attach/page_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/compiler.h"

#define MAX_INSTRUCTION 16 /* MAX_UINSN_BYTES of the kernel; it may reach into the next page */

void page_cache_read(const char *path, uint64_t offset)
{
	char instruction[MAX_INSTRUCTION];
	/* The node may have replaced the file of this path since, by a FIFO or a device. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t ignored;
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		ignored = pread(fd, instruction, sizeof(instruction), (off_t)offset);
		UNUSED(ignored);
	}
	close(fd);
}
