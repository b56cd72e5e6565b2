/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What in a configuration is nobody's business: recognised by names.  A guess, on the side of too
 * much; what a name does not tell (a password in a list of arguments) is not found.
 */
#ifndef EBEAM_NAMES_SECRETS_H
#define EBEAM_NAMES_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define SECRETS_MASK "***"

/* Is what belongs to this name a secret?  db_password, secretKeyBase, api-key, Authorization; but
 * not password_file, max_tokens, primary_key. */
bool secrets_name(const char *name, size_t len);

/* Masks what stands inside of strings of a printed term, from its byte `from` on: passwords of URLs
 * (amqp://user:***@host), NAME=VALUE and \"NAME\":VALUE where the name is a secret's.  Returns how
 * many. */
size_t secrets_mask_text(struct strbuf *text, size_t from);

#endif
