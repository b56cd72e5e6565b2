/* SPDX-License-Identifier: BSD-2-Clause */
/* See native_function.h. */
#include "beam/resolve/native_function.h"

#include "beam/otp/function_names.h"
#include "names/cxx_name.h"

/* Names functions that have no symbol, once. */
static void name_functions(struct beam_node *n, bool wait)
{
	const struct function_name *names;
	size_t nr;

	if (!n->imports_named)
		objects_name_imports(n->objects, n->mem, n->elf, n->bias);
	n->imports_named = true;
	function_names_start(n->function_names);
	if (!wait && function_names_pending(n->function_names))
		return;
	nr = function_names_list(n->function_names, &names);
	n->functions_named = true;
	for (size_t i = 0; i < nr; i++)
		objects_name(n->objects, names[i].addr + n->bias, names[i].name,
			     SYMBOL_SOURCE_REFERENCE);
}

int native_function(struct beam_node *n, raddr addr, bool wait, struct object_function *out)
{
	int rc = objects_find(n->objects, addr, out);

	if (rc || out->symbol || n->functions_named || !n->elf)
		return rc;
	name_functions(n, wait);
	return objects_find(n->objects, addr, out);
}

const char *native_function_name(const struct object_function *f, char *buf, size_t size)
{
	if (!f->symbol)
		return object_function_name(f, buf, size);
	return cxx_name(f->symbol, buf, size) ? buf : f->symbol;
}
