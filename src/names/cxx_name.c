/* SPDX-License-Identifier: BSD-2-Clause */
/* See cxx_name.h. */
#include "names/cxx_name.h"

#include <stdlib.h>
#include <string.h>

/* Appends the name in a component such as "17beam_jit_call_nif"; *at is then behind it. */
static bool add_part(const char **at, char *out, size_t size, size_t *len)
{
	char *name;
	unsigned long nr = strtoul(*at, &name, 10);

	if (name == *at || nr == 0 || strnlen(name, nr) < nr || *len + nr + 3 > size)
		return false;
	if (*len) {
		memcpy(out + *len, "::", 2);
		*len += 2;
	}
	memcpy(out + *len, name, nr);
	*len += nr;
	out[*len] = '\0';
	*at = name + nr;
	return true;
}

bool cxx_name(const char *symbol, char *out, size_t size)
{
	const char *at = symbol;
	size_t len = 0;
	bool ok;

	if (strncmp(at, "_ZN", 3) == 0) {
		at += 3;
		at += *at == 'K'; /* K: a const member function */
		do
			ok = add_part(&at, out, size, &len);
		while (ok && *at != 'E');
	} else {
		ok = strncmp(at, "_Z", 2) == 0;
		at += 2;
		at += ok && *at == 'L';					 /* L: internal linkage */
		ok = ok && add_part(&at, out, size, &len) && *at != 'I'; /* I: template arguments */
	}
	if (!ok)
		out[0] = '\0';
	return ok;
}
