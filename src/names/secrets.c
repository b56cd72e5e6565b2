/* SPDX-License-Identifier: BSD-2-Clause */
/* See secrets.h. */
#include "names/secrets.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"

#define NAME_MAX_LEN 256
#define WORDS_MAX    32
#define CUT	     "..." /* ends a truncated text */
#define NAME_IN_TEXT 64

/* ---- names ---------------------------------------------------------------------------------- */

struct words {
	char text[2 * NAME_MAX_LEN]; /* lower case, each ends with NUL */
	const char *word[WORDS_MAX];
	size_t nr;
};

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(*list, word) == 0)
			return true;
	return false;
}

/* Splits a name ("secretKeyBase", "Elixir.My.secret-key_base", "HTTPToken") into words. */
static void split(struct words *w, const char *name, size_t len)
{
	size_t at = 0;
	bool in_word = false;

	w->nr = 0;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool part = isalnum(c) || c >= 0x80;
		bool hump = part && in_word && isupper(c) &&
			    (islower((unsigned char)name[i - 1]) ||
			     (i + 1 < len && islower((unsigned char)name[i + 1])));

		if (in_word && (!part || hump)) {
			w->text[at++] = '\0';
			in_word = false;
		}
		if (!part)
			continue;
		if (!in_word) {
			if (w->nr == WORDS_MAX)
				break;
			w->word[w->nr++] = w->text + at;
			in_word = true;
		}
		w->text[at++] = (char)tolower(c);
	}
	w->text[at] = '\0';
}

/* Is it a property of a secret, not the secret: does it end with a word of last[] (password_file),
 * or begin with one of first[] (max_tokens)? */
static bool is_about(const struct words *w)
{
	static const char *const last[] = {
		"file",	    "path",	"dir",	    "directory", "ttl",	       "timeout", "expiry",
		"expires",  "lifetime", "age",	    "length",	 "len",	       "size",	  "limit",
		"count",    "type",	"types",    "algorithm", "alg",	       "policy",  "module",
		"mod",	    "callback", "field",    "header",	 "name",       "names",	  "enabled",
		"required", "format",	"rotation", "interval",	 "iterations", "rounds",  NULL};
	static const char *const first[] = {"max", "min", "num", "nr", NULL};

	return is_one_of(w->word[w->nr - 1], last) || is_one_of(w->word[0], first);
}

static bool is_key_word(const struct words *w, size_t i)
{
	/* With one of these words in front of it, "key" is no secret: "public_key". */
	static const char *const open[] = {"public",  "primary", "foreign", "partition",
					   "routing", "sort",	 "cache",   "message",
					   "group",   "lookup",	 "index",   NULL};

	if (strcmp(w->word[i], "key") != 0 && strcmp(w->word[i], "keys") != 0)
		return false;
	return i == 0 || !is_one_of(w->word[i - 1], open);
}

static bool is_secret_word(const char *word)
{
	static const char *const whole[] = {
		"pass",		 "pwd",	    "pw",    "passwd", "token", "tokens", "cookie",
		"cookies",	 "salt",    "creds", "bearer", "jwt",	"jwk",	  "pin",
		"authorization", "privkey", NULL};
	static const char *const part[] = {"password",	 "passphrase", "passcode",  "secret",
					   "credential", "apikey",     "authkey",   "accesskey",
					   "privatekey", "secretkey",  "authtoken", "accesstoken",
					   "apitoken",	 "dbpass",     NULL};

	if (is_one_of(word, whole))
		return true;
	for (const char *const *p = part; *p; p++)
		if (strstr(word, *p))
			return true;
	return false;
}

/* Do two words together mean a secret?  As in {basic_auth, {User, Password}}. */
static bool is_pair(const struct words *w, size_t i)
{
	static const char *const pairs[][2] = {{"basic", "auth"},
					       {"proxy", "auth"},
					       {"http", "auth"},
					       {"connection", "string"},
					       {"pass", "phrase"}};

	for (size_t p = 0; i + 1 < w->nr && p < ARRAY_SIZE(pairs); p++)
		if (strcmp(w->word[i], pairs[p][0]) == 0 &&
		    strcmp(w->word[i + 1], pairs[p][1]) == 0)
			return true;
	return false;
}

bool secrets_name(const char *name, size_t len)
{
	struct words w;
	bool found = false;

	split(&w, name, MIN(len, (size_t)NAME_MAX_LEN));
	for (size_t i = 0; i < w.nr && !found; i++)
		found = is_secret_word(w.word[i]) || is_pair(&w, i) ||
			(i + 1 == w.nr && is_key_word(&w, i));
	return found && !is_about(&w);
}

/* ---- masking in texts ----------------------------------------------------------------------- */

struct text {
	const char *s;
	size_t len;
	struct strbuf *out;
	size_t copied; /* bytes of s that were copied to out */
	size_t masked;
};

static void mask(struct text *t, size_t from, size_t to)
{
	strbuf_add(t->out, t->s + t->copied, from - t->copied);
	strbuf_addstr(t->out, SECRETS_MASK);
	t->copied = to;
	t->masked++;
}

static bool starts(const struct text *t, size_t i, const char *what)
{
	return t->len - i >= strlen(what) && memcmp(t->s + i, what, strlen(what)) == 0;
}

/* Ends a URL or value: a blank, < or >, or an unescaped quote. */
static bool is_end(const struct text *t, size_t i)
{
	unsigned char c = (unsigned char)t->s[i];

	return isspace(c) || c == '<' || c == '>' || (c == '"' && t->s[i - 1] != '\\');
}

/* Is the text behind HOST: a port? */
static bool is_port(const struct text *t, size_t from, size_t to)
{
	while (from < to && isdigit((unsigned char)t->s[from]))
		from++;
	return from == to;
}

/* Masks the password in NAME://USER:PASSWORD@HOST/PATH from `at` on.  Returns the next byte. */
static size_t mask_url(struct text *t, size_t at)
{
	size_t end = at, sign = 0, colon = 0, slash = 0;
	bool web = (at >= 7 && memcmp(t->s + at - 7, "http://", 7) == 0) ||
		   (at >= 8 && memcmp(t->s + at - 8, "https://", 8) == 0);

	for (; end < t->len && !is_end(t, end) && !starts(t, end, "://"); end++) {
		char c = t->s[end];

		if (c == '/' && !slash)
			slash = end;
		if (c == ':' && !colon && !slash)
			colon = end;
		/* An @ behind a slash ends the password only if the slash can be an unescaped one
		 * of the password: behind a colon, with neither a port nor an @ between them. */
		if (c == '@' &&
		    (!slash || (colon && !is_port(t, colon + 1, slash) && (!sign || sign > slash))))
			sign = end;
	}
	/* The URL was truncated before any @: the text behind the colon may be a password. */
	if (!sign && colon && !(slash && is_port(t, colon + 1, slash)) &&
	    end - colon > strlen(CUT) && starts(t, end - strlen(CUT), CUT))
		sign = end - strlen(CUT);
	if (!sign)
		return at;
	if (colon && colon < sign)
		mask(t, colon + 1, sign);
	else if (web) /* https://TOKEN@HOST: without a password the user is a secret */
		mask(t, at, sign);
	return sign;
}

/* Is the word that ends at `end` the name of a secret? */
static bool named_secret(const struct text *t, size_t end)
{
	size_t from = end;

	while (from > t->copied && end - from < NAME_IN_TEXT &&
	       (isalnum((unsigned char)t->s[from - 1]) || t->s[from - 1] == '_' ||
		t->s[from - 1] == '-' || t->s[from - 1] == '.'))
		from--;
	return from < end && secrets_name(t->s + from, end - from);
}

/* Masks a value: one word, or up to the closing \" if it begins with \" (inner quotes: \\\"). */
static size_t mask_value(struct text *t, size_t at)
{
	bool quoted = starts(t, at, "\\\"");
	size_t end = quoted ? at + 2 : at;

	at = end;
	for (; end < t->len; end++) {
		if (t->s[end] == '"' && t->s[end - 1] != '\\')
			break;
		if (starts(t, end, "\\\"") && t->s[end - 1] != '\\')
			break;
		if (!quoted && (is_end(t, end) || strchr(";&,'}", t->s[end])))
			break;
	}
	if (end > at)
		mask(t, at, end);
	return end;
}

size_t secrets_mask_text(struct strbuf *text, size_t from)
{
	struct strbuf out = STRBUF_INIT;
	struct text t = {.s = text->buf, .len = text->len, .out = &out};

	t.copied = from;
	for (size_t i = from; i < t.len;) {
		if (starts(&t, i, "://"))
			i = mask_url(&t, i + 3);
		else if (t.s[i] == '=' && i + 1 < t.len && t.s[i + 1] != '>' && named_secret(&t, i))
			i = mask_value(&t, i + 1);
		else if (starts(&t, i, "\\\":") && named_secret(&t, i))
			i = mask_value(&t, i + 3 + strspn(t.s + i + 3, " "));
		else
			i++;
	}
	if (t.masked) {
		strbuf_add(&out, t.s + t.copied, t.len - t.copied);
		text->len = from;
		text->buf[from] = '\0';
		strbuf_add(text, out.buf, out.len);
	}
	strbuf_free(&out);
	return t.masked;
}
