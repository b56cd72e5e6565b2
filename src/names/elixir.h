/* SPDX-License-Identifier: BSD-2-Clause */
/* How Elixir writes modules and functions, for names_format.c. */
#ifndef EBEAM_NAMES_ELIXIR_H
#define EBEAM_NAMES_ELIXIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Is this the text of an atom that the Elixir compiler makes from an alias: "Elixir.Enum"? */
bool elixir_is_alias(const char *text, size_t len);
/* Does a module of this name come from Elixir?  Wider: also "Elixir.odd module". */
bool elixir_is_module(const char *text, size_t len);
/* The text behind "Elixir.", or all of it if that does not stand in front. */
const char *elixir_bare(const char *text);
/* As Elixir's inspect() writes the atom of a module: `Enum`, `:"Elixir.odd module"`. */
void elixir_format_module(struct strbuf *out, const char *text, size_t len);
/* As Elixir's stack traces write a function; arity -1 = none. */
void elixir_format_function(struct strbuf *out, const char *module, const char *name,
			    int32_t arity);
/* As inspect() writes any atom: `:a`, `nil`, `Enum`, `:"odd one"`; and as a key of keywords, with
 * its colon: `a:`, `"odd one":`. */
void elixir_format_atom(struct strbuf *out, const char *text, size_t len);
void elixir_format_key(struct strbuf *out, const char *text, size_t len);
/* As inspect() writes a function behind its `&`: `Enum.map/2`, `:lists."odd one"/1`. */
void elixir_format_capture(struct strbuf *out, const char *module, const char *name,
			   uint32_t arity);
/* Bytes of the operator in front that is an atom without quotes, as `:+` is; 0: none. */
size_t elixir_operator_length(const char *text);
/* What stands between the quotes of a string. */
void elixir_escape(struct strbuf *out, const char *text, size_t len);

#endif
