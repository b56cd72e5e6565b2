/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * /proc/kallsyms ("ADDRESS TYPE NAME[\t[MODULE]]" lines) -> a sorted table of functions: 12 bytes
 * each plus one block with all names.  The file is parsed while it is read, never held whole.
 *
 * Data symbols are not kept, but the first one behind a function is remembered as its end, so that
 * an address in data does not get the name of the last function before it.
 */
#include "target/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A kernel with all modules loaded has about 300,000 functions with 8 MiB of names. */
#define MAX_SYMBOLS    (1u << 20)
#define MAX_NAMES_SIZE ((size_t)32 << 20)
#define READ_SIZE      65536
#define MAX_LINE       1024

/* Size limit of the table's last function, as no symbol behind it shows its end. */
#define LAST_FUNCTION_MAX 65536

#define NO_NAME UINT32_MAX

struct entry {
	uint64_t addr;
	uint32_t name; /* offset in names; NO_NAME: no function starts here, the one before ends */
} __attribute__((packed));

struct kallsyms {
	VEC(struct entry) entries; /* sorted by addr */
	struct strbuf names;
};

struct builder {
	struct kallsyms *k;
	uint64_t previous; /* address of the previous entry, to find out if the file is `sorted` */
	bool sorted, any_addr;
};

static bool is_function_type(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

static bool parse_hex(const char **p, const char *end, uint64_t *value)
{
	const char *start = *p;

	*value = 0;
	for (; *p < end; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value << 4 | (uint64_t)(c - 'a' + 10);
		else
			break;
	}
	return *p > start && *p - start <= 16;
}

static void add_entry(struct builder *b, uint64_t addr, const char *name, size_t name_len)
{
	struct kallsyms *k = b->k;
	struct entry e = {.addr = addr, .name = NO_NAME};

	if (k->entries.len >= MAX_SYMBOLS || k->names.len + name_len >= MAX_NAMES_SIZE)
		return;
	if (name) {
		e.name = (uint32_t)k->names.len;
		strbuf_add(&k->names, name, name_len);
		strbuf_add(&k->names, "", 1);
	}
	if (addr < b->previous)
		b->sorted = false;
	b->previous = addr;
	vec_push(&k->entries, e);
}

/* Skips lines that cannot be parsed: a missing symbol costs only its name. */
static void add_line(struct builder *b, const char *p, const char *end)
{
	const struct kallsyms *k = b->k;
	uint64_t addr;
	const char *name;

	if (!parse_hex(&p, end, &addr) || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	b->any_addr |= addr != 0;
	if (!is_function_type(p[1])) {
		if (k->entries.len > 0 && k->entries.data[k->entries.len - 1].name != NO_NAME)
			add_entry(b, addr, NULL, 0);
		return;
	}
	name = p + 3;
	for (p = name; p < end && *p != '\t' && *p != ' '; p++)
		;
	if (p > name)
		add_entry(b, addr, name, (size_t)(p - name));
}

/* Parses the lines of `text` that end with a newline, and the rest, too, if it is the `last` text.
 * Returns how many bytes were parsed. */
static size_t add_text(struct builder *b, const char *text, size_t len, bool last)
{
	const char *p = text, *end = text + len, *eol;

	while (p < end) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol && !last)
			break;
		if (!eol)
			eol = end;
		add_line(b, p, eol);
		p = eol < end ? eol + 1 : end;
	}
	return (size_t)(p - text);
}

/* Sorts by address; of several names for one address the first in the file comes first. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void finish(struct builder *b)
{
	struct kallsyms *k = b->k;
	struct entry *e = k->entries.data;
	size_t nr = 0;

	if (k->entries.len == 0)
		return;
	if (!b->sorted)
		qsort(e, k->entries.len, sizeof(*e), compare_entries);
	for (size_t i = 0; i < k->entries.len; i++) {
		if (nr == 0 || e[nr - 1].addr != e[i].addr)
			e[nr++] = e[i];
		else if (e[nr - 1].name == NO_NAME)
			e[nr - 1].name = e[i].name;
	}
	k->entries.len = k->entries.cap = nr;
	k->entries.data = xrealloc(e, nr * sizeof(*e));
	k->names.buf = xrealloc(k->names.buf, k->names.len + 1);
	k->names.alloc = k->names.len + 1;
}

static int complete(struct builder *b, struct kallsyms **out, struct error *err)
{
	if (!b->any_addr) {
		kallsyms_close(b->k);
		return error_set(
			err, ERROR_KIND_PRIVILEGE, -EPERM,
			"/proc/kallsyms hides the kernel's addresses (kernel.kptr_restrict); "
			"run as root, or grant CAP_SYSLOG");
	}
	finish(b);
	*out = b->k;
	return 0;
}

static struct builder start(void)
{
	struct builder b = {.k = xcalloc(1, sizeof(struct kallsyms)), .sorted = true};

	strbuf_init(&b.k->names);
	return b;
}

int kallsyms_parse(struct kallsyms **out, const char *text, size_t len, struct error *err)
{
	struct builder b = start();

	add_text(&b, text, len, true);
	return complete(&b, out, err);
}

int kallsyms_open(struct kallsyms **out, struct error *err)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC), code = 0;
	struct builder b;
	size_t used = 0;
	char *buf;

	if (fd < 0)
		return error_set(err, ERROR_KIND_FAILED, -errno, "cannot open /proc/kallsyms: %s",
				 error_text(errno));
	b = start();
	buf = xmalloc(READ_SIZE);
	for (;;) {
		ssize_t n = read(fd, buf + used, READ_SIZE - used);
		size_t taken;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			code = error_set(err, ERROR_KIND_FAILED, -errno,
					 "cannot read /proc/kallsyms: %s", error_text(errno));
			break;
		}
		used += (size_t)n;
		taken = add_text(&b, buf, used, n == 0);
		if (n == 0)
			break;
		if (used - taken > MAX_LINE)
			taken = used; /* drops a line longer than MAX_LINE: it is no symbol */
		memmove(buf, buf + taken, used - taken);
		used -= taken;
	}
	free(buf);
	close(fd);
	if (!code)
		return complete(&b, out, err);
	kallsyms_close(b.k);
	return code;
}

void kallsyms_close(struct kallsyms *k)
{
	if (!k)
		return;
	vec_free(&k->entries);
	strbuf_free(&k->names);
	free(k);
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t addr)
{
	size_t nr = COUNT_UP_TO(k->entries.len, i, k->entries.data[i].addr, addr);
	const struct entry *e;

	if (nr == 0)
		return NULL;
	e = &k->entries.data[nr - 1];
	if (e->name == NO_NAME || (nr == k->entries.len && addr - e->addr >= LAST_FUNCTION_MAX))
		return NULL;
	return k->names.buf + e->name;
}
