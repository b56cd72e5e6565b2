/* SPDX-License-Identifier: BSD-2-Clause */
/* See nif_resources.h. */
#include "beam/vm/nif_resources.h"

#include "abi/vm.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/keytab.h"
#include "beam/term/atoms.h"

/* struct magic_binary from where a Binary has its bytes: {destructor; Uint32 refn[3]; Uint32
 * alloc_type; data}; the data of a resource begins with the address of its type. */
#define MAGIC_DATA 24
#define MAGIC_SIZE 96
/* struct enif_resource_type_t {next, prev, owner, two times 5 words of functions, refc, module,
 * name}: a ring with the types of all modules, but for one whose module was purged. */
#define TYPE_WORDS  16
#define TYPE_NEXT   0
#define TYPE_PREV   1
#define TYPE_MODULE 14
#define TYPE_NAME   15
/* Limits of what is believed. */
#define REFC_MAX       (1ull << 36)
#define SIZE_MAX_BYTES (1ull << 42)
#define TYPES_MAX      65536

#define BATCH 256

struct type {
	uint64_t addr, module, name; /* addr: the key; module 0: it is none */
};

static bool is_atom(struct beam_node *n, uint64_t term)
{
	size_t len;

	return TERM_IS_ATOM(term) && beam_atom_text(n->atoms, term, &len);
}

static struct type read_type(struct beam_node *n, raddr addr)
{
	uint64_t words[TYPE_WORDS], back;

	if (addr % 8 || mem_read(n->mem, addr, words, sizeof(words)) != 0 ||
	    !is_atom(n, words[TYPE_MODULE]) || !is_atom(n, words[TYPE_NAME]))
		return (struct type){addr, 0, 0};
	if (words[TYPE_NEXT] &&
	    (mem_read_u64(n->mem, words[TYPE_NEXT] + 8 * TYPE_PREV, &back) != 0 || back != addr))
		return (struct type){addr, 0, 0};
	return (struct type){addr, words[TYPE_MODULE], words[TYPE_NAME]};
}

static struct type find_type(struct beam_node *n, struct keytab *types, raddr addr)
{
	struct type *known = addr ? keytab_find(types, addr) : NULL, new;

	if (known || !addr)
		return known ? *known : (struct type){0};
	new = read_type(n, addr);
	if (types->nr < TYPES_MAX)
		*(struct type *)keytab_add(types, addr) = new;
	return new;
}

void nif_resources_read(struct beam_node *n, const raddr *magic, size_t nr,
			void (*take)(void *arg, const struct nif_resource *r), void *arg)
{
	const struct beam_layout *l = &n->layout;
	size_t data = (size_t)l->binary_orig_bytes + MAGIC_DATA;
	struct keytab types = KEYTAB_INIT(struct type);
	uint8_t bytes[BATCH][MAGIC_SIZE];
	struct mem_range ranges[BATCH];

	for (size_t from = 0; data + 8 <= MAGIC_SIZE && from < nr; from += BATCH) {
		size_t batch = MIN(nr - from, (size_t)BATCH);

		for (size_t i = 0; i < batch; i++)
			ranges[i] = (struct mem_range){magic[from + i], bytes[i], data + 8, 0};
		mem_readv(n->mem, ranges, batch);
		for (size_t i = 0; i < batch; i++) {
			struct type type = {0};
			struct nif_resource r = {.addr = magic[from + i],
						 .size = bytes_u64(bytes[i], l->binary_orig_size),
						 .refc = bytes_u64(bytes[i], l->binary_refc)};

			if (!ranges[i].err && r.refc > 0 && r.refc < REFC_MAX &&
			    r.size < SIZE_MAX_BYTES)
				type = find_type(n, &types, bytes_u64(bytes[i], (int64_t)data));
			r.module = type.module;
			r.type = type.name;
			if (type.module)
				take(arg, &r);
		}
	}
	keytab_free(&types);
}
