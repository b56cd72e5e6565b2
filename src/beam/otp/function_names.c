/* SPDX-License-Identifier: BSD-2-Clause */
/* See function_names.h. */
#include "beam/otp/function_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/vec.h"
#include "references.h"
#include "target/code_graph.h"
#include "target/code_match.h"
#include "target/code_reference.h"

struct reference {
	int otp;
	const char *source;
	const unsigned char *data;
	const unsigned int *size;
};

/* Builds whose functions have names, for each release those that people run: what a distribution
 * compiles, and what the sources compile to by default. */
#define REFERENCE(otp, kind, source)                                                               \
	{                                                                                          \
		otp, "OTP " source, asset_otp_##otp##_##kind##_gz,                                 \
			&asset_otp_##otp##_##kind##_gz_size                                        \
	}
static const struct reference references[] = {
	REFERENCE(25, debian, "25.2.3, Debian 12: gcc 12, -O2"),
	REFERENCE(25, default, "25.2.3, default options: gcc 12, -O3"),
	REFERENCE(27, debian, "27.3.4.1, Debian 13: gcc 14, -O2"),
	REFERENCE(27, default, "27.3.4.1, default options: gcc 14, -O3"),
	REFERENCE(29, debian, "29.1.1, Debian unstable: gcc 16, -O2"),
	REFERENCE(29, default, "29.1.1, default options: gcc 16, -O3"),
};

/* A reference that names fewer of the functions without symbol is of too different a build. */
#define LEAST_SHARE 0.1
/* One that names more is of this build, and the others are not tried. */
#define WHOLE_SHARE 0.99

struct function_names {
	const struct elf_file *elf;
	int otp;
	bool in_thread, done, is_whole;
	bool compared; /* set by the thread when it ends */
	pthread_t thread;
	VEC(struct function_name) list;
	struct arena texts;
	/* For the log: functions, and how many of them each reference names. */
	size_t nr_functions, nr_named[ARRAY_SIZE(references)];
	bool tried[ARRAY_SIZE(references)];
};

static bool has_reference(int otp)
{
	for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
		if (references[i].otp == otp)
			return true;
	}
	return false;
}

struct function_names *function_names_new(const struct elf_file *elf, int otp)
{
	struct function_names *f = xcalloc(1, sizeof(*f));

	f->elf = elf;
	f->otp = otp;
	f->done = !has_reference(otp) || !elf_file_is_stripped(elf);
	return f;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void take_names(struct function_names *f, const struct code_graph *reference,
		       const struct code_graph *executable, const uint32_t *found)
{
	f->list.len = 0;
	arena_free(&f->texts);
	for (size_t i = 0; i < executable->functions.len; i++) {
		const char *name = found[i] == CODE_MATCH_NONE
					   ? NULL
					   : reference->functions.data[found[i]].name;

		if (name)
			vec_push(&f->list,
				 ((struct function_name){executable->functions.data[i].addr,
							 arena_copy(&f->texts, name)}));
	}
}

/* Takes the names of a reference, if more functions have one than by those before it. */
static void try_reference(struct function_names *f, size_t i, const struct code_graph *executable)
{
	size_t nr = 0, symbols = 0, all = executable->functions.len;
	struct code_graph graph;

	for (size_t k = 0; k < all; k++)
		symbols += executable->functions.data[k].name != NULL;
	if (code_reference_read(&graph, references[i].data, *references[i].size, NULL) == 0) {
		uint32_t *found = code_match(&graph, executable, &nr);

		if (nr > f->list.len &&
		    (double)nr - (double)symbols >= LEAST_SHARE * (double)(all - symbols))
			take_names(f, &graph, executable, found);
		free(found);
	}
	code_graph_free(&graph);
	f->tried[i] = true;
	f->nr_named[i] = nr;
	f->nr_functions = all;
	f->is_whole = (double)nr >= WHOLE_SHARE * (double)all;
}

/* Opens the file a second time: struct elf_file is not for two threads. */
static struct elf_file *open_again(const struct elf_file *elf)
{
	int fd = fcntl(elf_file_fd(elf), F_DUPFD_CLOEXEC, 0);
	struct elf_file *own = NULL;

	if (fd >= 0 && elf_file_open(&own, fd, elf_file_name(elf), NULL) != 0)
		own = NULL;
	return own;
}

/* Comparing takes some 15 MB.  Without them there are no names: Capstone, for one, does not check
 * whether it gets memory. */
static bool has_memory(void)
{
	const size_t size = 32u << 20;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		log_info("functions of the VM without symbols have no names: not enough memory");
		return false;
	}
	munmap(p, size);
	return true;
}

static void *compare(void *arg)
{
	struct function_names *f = arg;
	struct elf_file *elf = has_memory() ? open_again(f->elf) : NULL;
	struct code_graph graph;

	if (elf) {
		if (code_graph_read(&graph, elf) == 0) {
			for (size_t i = 0; i < ARRAY_SIZE(references) && !f->is_whole; i++) {
				if (references[i].otp == f->otp)
					try_reference(f, i, &graph);
			}
		}
		code_graph_free(&graph);
	}
	elf_file_close(elf);
	__atomic_store_n(&f->compared, true, __ATOMIC_RELEASE);
	return NULL;
}

bool function_names_pending(const struct function_names *f)
{
	return f->in_thread && !__atomic_load_n(&f->compared, __ATOMIC_ACQUIRE);
}

void function_names_start(struct function_names *f)
{
	if (!f->in_thread && !f->done)
		f->in_thread = thread_start(&f->thread, compare, f);
}

void function_names_wait(struct function_names *f)
{
	if (f->done)
		return;
	if (f->in_thread)
		pthread_join(f->thread, NULL);
	else
		compare(f);
	f->in_thread = false;
	f->done = true;
	for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
		if (f->tried[i])
			log_info("names of native functions by %s: %zu of %zu",
				 references[i].source, f->nr_named[i], f->nr_functions);
	}
}

/* ---- asking ---------------------------------------------------------------------------------- */

size_t function_names_list(struct function_names *f, const struct function_name **out)
{
	function_names_wait(f);
	*out = f->list.data;
	return f->list.len;
}

bool function_names_find(struct function_names *f, const char *name, uint64_t *addr)
{
	const struct function_name *list;
	size_t nr = function_names_list(f, &list), found = 0;

	for (size_t i = 0; i < nr; i++) {
		if (strcmp(list[i].name, name) == 0) {
			*addr = list[i].addr;
			found++;
		}
	}
	return found == 1;
}

void function_names_close(struct function_names *f)
{
	if (!f)
		return;
	if (f->in_thread)
		pthread_join(f->thread, NULL);
	vec_free(&f->list);
	arena_free(&f->texts);
	free(f);
}
