/* SPDX-License-Identifier: BSD-2-Clause */
/* See function_names.h. */
#include "target/function_names.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "base/vec.h"
#include "references.h"
#include "target/code_graph.h"
#include "target/code_match.h"
#include "target/code_reference.h"
#include "target/name_cache.h"

struct reference {
	const char *what, *source;
	bool is_library;
	const unsigned char *data;
	const unsigned int *size;
};

/* Builds whose functions have names: of each OTP release those that people run, what a distribution
 * compiles and what the sources compile to by default; libraries as distributions compile them. */
#define REFERENCE(what, is_library, source, asset)                                                 \
	{                                                                                          \
		what, source, is_library, asset_##asset##_gz, &asset_##asset##_gz_size             \
	}
#define EMULATOR(otp, source, asset) REFERENCE("otp-" #otp, false, "OTP " source, asset)
#define LIBRARY(what, source, asset) REFERENCE(what, true, source, asset)
static const struct reference references[] = {
	EMULATOR(25, "25.2.3, Debian 12: gcc 12, -O2", otp_25_debian),
	EMULATOR(25, "25.2.3, default options: gcc 12, -O3", otp_25_default),
	EMULATOR(27, "27.3.4.1, Debian 13: gcc 14, -O2", otp_27_debian),
	EMULATOR(27, "27.3.4.1, default options: gcc 14, -O3", otp_27_default),
	EMULATOR(29, "29.1.1, Debian unstable: gcc 16, -O2", otp_29_debian),
	EMULATOR(29, "29.1.1, default options: gcc 16, -O3", otp_29_default),
	LIBRARY("libc.so.6", "glibc 2.36, Debian 12", libc_bookworm),
	LIBRARY("libc.so.6", "glibc 2.41, Debian 13", libc_trixie),
	LIBRARY("libc.so.6", "glibc 2.43, Debian unstable", libc_sid),
	LIBRARY("libcrypto.so.3", "OpenSSL 3.0.20, Debian 12", libcrypto_bookworm),
	LIBRARY("libcrypto.so.3", "OpenSSL 3.5.7, Debian 13", libcrypto_trixie),
	LIBRARY("libcrypto.so.3", "OpenSSL 3.6.3, Debian unstable", libcrypto_sid),
	LIBRARY("libz.so.1", "zlib 1.2.13, Debian 12", libz_bookworm),
	LIBRARY("libz.so.1", "zlib 1.3.1, Debian 13", libz_trixie),
	LIBRARY("libz.so.1", "zlib 1.3.2, Debian unstable", libz_sid),
};

/* A reference that names fewer of the functions without symbol is of too different a build. */
#define LEAST_SHARE 0.1
/* One of a library that names fewer is of another version, where small functions may have other
 * names: it names only those that have at least so many instructions, all of them equal. */
#define SAME_VERSION_SHARE  0.5
#define OTHER_VERSION_INSNS 100
/* One that names more is of this build, and the others are not tried. */
#define WHOLE_SHARE 0.99

/* One that was added. */
struct file {
	const struct elf_file *elf;
	char *what;
	bool is_whole, was_kept;
	VEC(struct function_name) list;
	struct arena texts;
	/* For the log: functions, and how many of them each reference names. */
	size_t nr_functions, nr_named[ARRAY_SIZE(references)];
	bool tried[ARRAY_SIZE(references)];
};

struct function_names {
	VEC(struct file *) files;
	size_t nr_started;   /* of these the first ones are compared, or in the thread */
	struct file **batch; /* those that the thread compares: files may move meanwhile */
	size_t nr_batch;
	bool in_thread, ended; /* ended: set by the thread */
	pthread_t thread;
	size_t nr_logged;
};

/* "libcrypto.so.3.0.7" is a "libcrypto.so.3". */
static bool is_reference_of(const struct reference *r, const char *what)
{
	size_t len = strlen(r->what);

	return strncmp(what, r->what, len) == 0 && (what[len] == '\0' || what[len] == '.');
}

bool function_names_known(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
		if (is_reference_of(&references[i], what))
			return true;
	}
	return false;
}

struct function_names *function_names_new(void)
{
	return xcalloc(1, sizeof(struct function_names));
}

static struct file *find_file(const struct function_names *f, const struct elf_file *elf)
{
	for (size_t i = 0; i < f->files.len; i++) {
		if (f->files.data[i]->elf == elf)
			return f->files.data[i];
	}
	return NULL;
}

void function_names_add(struct function_names *f, const struct elf_file *elf, const char *what)
{
	struct file *file;

	if (!function_names_known(what) || !elf_file_is_stripped(elf) || find_file(f, elf))
		return;
	file = xcalloc(1, sizeof(*file));
	file->elf = elf;
	file->what = xstrdup(what);
	vec_push(&f->files, file);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void take_names(struct file *f, const struct code_graph *reference,
		       const struct code_graph *own, const uint32_t *found, uint32_t least_insns)
{
	f->list.len = 0;
	arena_free(&f->texts);
	for (size_t i = 0; i < own->functions.len; i++) {
		const struct code_function *function = &own->functions.data[i];
		const char *name = found[i] == CODE_MATCH_NONE
					   ? NULL
					   : reference->functions.data[found[i]].name;

		if (name && !function->name && function->nr_insns >= least_insns)
			vec_push(&f->list, ((struct function_name){function->addr,
								   arena_copy(&f->texts, name)}));
	}
}

/* Takes the names of a reference, if more functions have one than by those before it. */
static void try_reference(struct file *f, size_t i, const struct code_graph *own)
{
	size_t nr = 0, symbols = 0, all = own->functions.len, most = 0;
	struct code_graph graph;

	for (size_t k = 0; k < all; k++)
		symbols += own->functions.data[k].name != NULL;
	for (size_t k = 0; k < i; k++)
		most = MAX(most, f->nr_named[k]);
	if (code_reference_read(&graph, references[i].data, *references[i].size, NULL) == 0) {
		uint32_t *found = code_match(&graph, own, &nr);

		double share = ((double)nr - (double)symbols) / ((double)(all - symbols) + 1e-9);

		if (nr > most && (share >= LEAST_SHARE || references[i].is_library))
			take_names(f, &graph, own, found,
				   references[i].is_library && share < SAME_VERSION_SHARE
					   ? OTHER_VERSION_INSNS
					   : 0);
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

/* False: that failed, as for lack of memory. */
static bool compare_with_references(struct file *f, const struct elf_file *elf)
{
	struct code_graph graph;
	bool ok = code_graph_read(&graph, elf) == 0;

	for (size_t i = 0; ok && i < ARRAY_SIZE(references) && !f->is_whole; i++) {
		if (is_reference_of(&references[i], f->what))
			try_reference(f, i, &graph);
	}
	code_graph_free(&graph);
	return ok;
}

/* ---- kept for the next start ----------------------------------------------------------------- */

/* A line for each name: address (hex), name. */
static void keep(const struct file *f, const struct elf_file *elf)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < f->list.len; i++)
		strbuf_addf(&text, "%" PRIx64 " %s\n", f->list.data[i].addr, f->list.data[i].name);
	name_cache_write(elf, &text);
	strbuf_free(&text);
}

static bool take_kept(struct file *f, const struct elf_file *elf)
{
	char *text = name_cache_read(elf), *end;

	for (char *at = text; at && (end = strchr(at, '\n')); at = end + 1) {
		uint64_t addr = strtoull(at, &at, 16);

		if (*at != ' ')
			break;
		vec_push(&f->list,
			 ((struct function_name){
				 addr, arena_strndup(&f->texts, at + 1, (size_t)(end - at - 1))}));
	}
	free(text);
	return text != NULL;
}

static void compare(struct file *f)
{
	struct elf_file *elf = open_again(f->elf);

	if (elf) {
		f->was_kept = take_kept(f, elf);
		if (!f->was_kept && has_memory() && compare_with_references(f, elf))
			keep(f, elf);
	}
	elf_file_close(elf);
}

/* ---- in a thread ----------------------------------------------------------------------------- */

static void *compare_batch(void *arg)
{
	struct function_names *f = arg;

	for (size_t i = 0; i < f->nr_batch; i++)
		compare(f->batch[i]);
	__atomic_store_n(&f->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

bool function_names_pending(const struct function_names *f)
{
	return f->in_thread && !__atomic_load_n(&f->ended, __ATOMIC_ACQUIRE);
}

static void join(struct function_names *f)
{
	if (f->in_thread)
		pthread_join(f->thread, NULL);
	f->in_thread = false;
}

/* Makes a batch of what is not compared yet; false = there is nothing. */
static bool take_batch(struct function_names *f)
{
	f->nr_batch = f->files.len - f->nr_started;
	if (f->nr_batch == 0)
		return false;
	free(f->batch);
	f->batch = xcalloc(f->nr_batch, sizeof(*f->batch));
	memcpy(f->batch, &f->files.data[f->nr_started], f->nr_batch * sizeof(*f->batch));
	f->nr_started = f->files.len;
	f->ended = false;
	return true;
}

void function_names_start(struct function_names *f)
{
	if (function_names_pending(f))
		return;
	join(f);
	if (!take_batch(f))
		return;
	f->in_thread = thread_start(&f->thread, compare_batch, f);
	if (!f->in_thread)
		compare_batch(f);
}

static void log_result(const struct file *f)
{
	if (f->was_kept)
		log_info("names of functions of %s: %zu, found before", elf_file_name(f->elf),
			 f->list.len);
	for (size_t i = 0; i < ARRAY_SIZE(references); i++) {
		if (f->tried[i])
			log_info("names of functions of %s by %s: %zu of %zu",
				 elf_file_name(f->elf), references[i].source, f->nr_named[i],
				 f->nr_functions);
	}
}

void function_names_wait(struct function_names *f)
{
	join(f);
	if (take_batch(f))
		compare_batch(f);
	for (; f->nr_logged < f->files.len; f->nr_logged++)
		log_result(f->files.data[f->nr_logged]);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const struct elf_file *function_names_list(struct function_names *f, size_t i,
					   const struct function_name **out, size_t *nr)
{
	function_names_wait(f);
	if (i >= f->files.len)
		return NULL;
	*out = f->files.data[i]->list.data;
	*nr = f->files.data[i]->list.len;
	return f->files.data[i]->elf;
}

bool function_names_find(struct function_names *f, const struct elf_file *elf, const char *name,
			 uint64_t *addr)
{
	const struct file *file;
	size_t found = 0;

	function_names_wait(f);
	file = find_file(f, elf);
	for (size_t i = 0; file && i < file->list.len; i++) {
		if (strcmp(file->list.data[i].name, name) == 0) {
			*addr = file->list.data[i].addr;
			found++;
		}
	}
	return found == 1;
}

void function_names_close(struct function_names *f)
{
	if (!f)
		return;
	join(f);
	for (size_t i = 0; i < f->files.len; i++) {
		vec_free(&f->files.data[i]->list);
		arena_free(&f->files.data[i]->texts);
		free(f->files.data[i]->what);
		free(f->files.data[i]);
	}
	vec_free(&f->files);
	free(f->batch);
	free(f);
}
