/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recognises secrets in a configuration by their names.  This is a guess that prefers to mask too
 * much; a secret without such a name (a password in a list of arguments) is not found.
 */
#ifndef EBEAM_NAMES_SECRETS_H
#define EBEAM_NAMES_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define SECRETS_MASK "***"

/* Does this name belong to a secret?  db_password, secretKeyBase, api-key, Authorization; but not
 * password_file, max_tokens, primary_key. */
bool secrets_name(const char *name, size_t len);

/* Masks secrets inside of strings of a printed term, from byte `from` on: passwords of URLs
 * (amqp://user:***@host), and values of NAME=VALUE and \"NAME\":VALUE if secrets_name(NAME).
 * Returns how many values were masked. */
size_t secrets_mask_text(struct strbuf *text, size_t from);

#endif
