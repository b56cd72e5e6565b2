/* SPDX-License-Identifier: BSD-2-Clause */
/* Elixir's spelling of atoms, modules and functions. */
#ifndef EBEAM_NAMES_ELIXIR_H
#define EBEAM_NAMES_ELIXIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Is this the text of an atom that the Elixir compiler makes from an alias: "Elixir.Enum"? */
bool elixir_is_alias(const char *text, size_t len);
/* Is it the name of a module of Elixir?  Not only aliases: also "Elixir.odd module". */
bool elixir_is_module(const char *text, size_t len);
/* The text without a leading "Elixir.". */
const char *elixir_bare(const char *text);
/* Writes a module as Elixir's inspect(): `Enum`, `:"Elixir.odd module"`. */
void elixir_format_module(struct strbuf *out, const char *text, size_t len);
/* Writes a function as Elixir's stack traces; arity -1 = none. */
void elixir_format_function(struct strbuf *out, const char *module, const char *name,
			    int32_t arity);
/* Writes any atom as inspect(), `:a`, `nil`, `Enum`, `:"odd one"`; or as a key with its colon,
 * `a:`, `"odd one":`. */
void elixir_format_atom(struct strbuf *out, const char *text, size_t len);
void elixir_format_key(struct strbuf *out, const char *text, size_t len);
/* Writes a function as inspect() does behind `&`: `Enum.map/2`, `:lists."odd one"/1`. */
void elixir_format_capture(struct strbuf *out, const char *module, const char *name,
			   uint32_t arity);
/* Length of the longest operator of Elixir that `text` begins with; 0: none. */
size_t elixir_operator_length(const char *text);
/* Writes a text as it stands between the quotes of a string of Elixir: escaped. */
void elixir_escape(struct strbuf *out, const char *text, size_t len);

#endif
