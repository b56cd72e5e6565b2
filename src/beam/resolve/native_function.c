/* SPDX-License-Identifier: BSD-2-Clause */
/* See native_function.h. */
#include "beam/resolve/native_function.h"

#include <string.h>

#include "names/cxx_name.h"
#include "target/function_names.h"

/* Adds the library at an address to what is compared, if there is a reference of it. */
static void add_library(struct beam_node *n, raddr addr, const char *name)
{
	struct elf_file *elf;
	uint64_t bias;

	if (!function_names_known(name))
		return;
	elf = objects_code(n->objects, addr, &bias);
	if (elf && !objects_debug(n->objects, elf))
		function_names_add(n->function_names, elf, name);
}

void native_names_start(struct beam_node *n)
{
	const struct proc_maps *maps = objects_maps(n->objects);

	for (size_t i = 0; i < maps->len; i++) {
		const char *slash = strrchr(maps->data[i].path, '/');

		if (slash && maps->data[i].x)
			add_library(n, maps->data[i].start, slash + 1);
	}
	function_names_start(n->function_names);
}

/* Gives `objects` the names that were found meanwhile; false = none. */
static bool take_names(struct beam_node *n)
{
	size_t before = n->nr_files_named, nr;
	const struct function_name *names;
	const struct elf_file *elf;

	while ((elf = function_names_list(n->function_names, n->nr_files_named, &names, &nr))) {
		objects_name_functions(n->objects, elf, names, nr);
		n->nr_files_named++;
	}
	return n->nr_files_named > before;
}

int native_function(struct beam_node *n, raddr addr, bool wait, struct object_function *out)
{
	int rc = objects_find(n->objects, addr, out);

	if (rc || out->symbol || !n->elf)
		return rc;
	if (!n->imports_named) {
		n->imports_named = true;
		objects_name_imports(n->objects, n->mem, n->elf, n->bias);
		return native_function(n, addr, wait, out);
	}
	add_library(n, addr, out->object);
	function_names_start(n->function_names);
	if (!wait && function_names_pending(n->function_names))
		return 0;
	return take_names(n) ? objects_find(n->objects, addr, out) : 0;
}

const char *native_function_name(const struct object_function *f, char *buf, size_t size)
{
	if (!f->symbol)
		return object_function_name(f, buf, size);
	return cxx_name(f->symbol, buf, size) ? buf : f->symbol;
}
