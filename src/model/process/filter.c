/* SPDX-License-Identifier: BSD-2-Clause */
/* See filter.h.  A recursive descent parser with bounded depth; nodes are in one array, and
 * refer to each other by index. */
#include "model/process/filter.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/xalloc.h"

#define DEPTH_MAX 64
#define TEXT_MAX  4096
#define NODES_MAX 1024
/* Steps that a regular expression may take on one text, and memory that it may use (KiB). */
#define MATCH_STEPS_MAX 100000
#define MATCH_HEAP_MAX	1024

enum op {
	OP_AND,
	OP_OR,
	OP_NOT,
	OP_TRUE, /* a field without operator */
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_MATCH,
	OP_NO_MATCH,
	OP_ABSENT, /* == null */
	OP_THERE,  /* != null */
};

struct node {
	enum op op;
	uint32_t left, right; /* operands of and, or, not */
	uint32_t field;
	double number;
	char *text;		 /* owned */
	pcre2_code *regex;	 /* owned */
	pcre2_match_data *match; /* owned */
};

struct filter {
	const struct filter_field *fields;
	size_t nr_fields;
	VEC(struct node) nodes;
	uint32_t root;
	uint64_t uses;
	pcre2_general_context *memory;
	pcre2_compile_context *compile;
	pcre2_match_context *limits; /* shared by all regular expressions */
	uint64_t gave_up;
};

/* ---- words -------------------------------------------------------------------------------- */

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_TEXT, TOKEN_SIGN, TOKEN_BAD };

struct token {
	enum token_kind kind;
	size_t at, len; /* in the text; a quoted word without its quotes */
};

struct parser {
	struct filter *f;
	const char *text;
	struct token now;
	unsigned int depth;
	struct error *err;
};

static int fail(struct parser *p, size_t at, const char *what)
{
	/* one column for each character of UTF-8 */
	size_t column = 0;

	for (size_t i = 0; i < at; i++)
		column += ((unsigned char)p->text[i] & 0xc0) != 0x80;
	return error_set(p->err, ERROR_KIND_USAGE, -EINVAL, "--where: %s\n  %.400s%s\n  %*s^", what,
			 p->text, strlen(p->text) > 400 ? "..." : "",
			 (int)(column > 400 ? 400 : column), "");
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_.:<>/@-$*?", c)) ||
	       (unsigned char)c >= 0x80;
}

static size_t sign_length(const char *s)
{
	static const char *const signs[] = {"&&", "||", "==", "!=", "<=", ">=", "!~", "=~",
					    "(",  ")",	"<",  ">",  "!",  "~",	"="};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		if (strncmp(s, signs[i], strlen(signs[i])) == 0)
			return strlen(signs[i]);
	return 0;
}

/* Reads the next token.  `value`: a value is expected, which may begin with < (a pid), and contain
 * characters that the name of a field may not. */
static void next(struct parser *p, bool value)
{
	size_t at = p->now.at + p->now.len + (p->now.kind == TOKEN_TEXT);
	const char *s = p->text;
	struct token *t = &p->now;

	while (isspace((unsigned char)s[at]))
		at++;
	*t = (struct token){.kind = TOKEN_END, .at = at};
	if (!s[at])
		return;
	if (s[at] == '"' || s[at] == '\'') {
		const char *end = strchr(s + at + 1, s[at]);

		*t = end ? (struct token){TOKEN_TEXT, at + 1, (size_t)(end - s) - at - 1}
			 : (struct token){TOKEN_BAD, at, 1};
		return;
	}
	if (value ? is_word(s[at]) : isalpha((unsigned char)s[at]) || s[at] == '_') {
		t->kind = TOKEN_WORD;
		while (value ? is_word(s[at + t->len])
			     : isalnum((unsigned char)s[at + t->len]) || s[at + t->len] == '_')
			t->len++;
		return;
	}
	t->len = sign_length(s + at);
	t->kind = t->len ? TOKEN_SIGN : TOKEN_BAD;
	t->len += !t->len;
}

static bool is(const struct parser *p, enum token_kind kind, const char *text)
{
	return p->now.kind == kind && strlen(text) == p->now.len &&
	       strncmp(p->text + p->now.at, text, p->now.len) == 0;
}

static bool is_either(const struct parser *p, const char *word, const char *sign)
{
	return is(p, TOKEN_WORD, word) || is(p, TOKEN_SIGN, sign);
}

/* ---- the grammar -------------------------------------------------------------------------- */

static int add(struct parser *p, const struct node *n, uint32_t *out)
{
	if (p->f->nodes.len == NODES_MAX)
		return fail(p, p->now.at, "the expression has too many comparisons");
	*out = (uint32_t)p->f->nodes.len;
	vec_push(&p->f->nodes, *n);
	return 0;
}

static int parse_number(struct parser *p, struct node *n)
{
	static const struct {
		const char *suffix;
		double factor;
	} units[] = {{"", 1},	   {"k", 1e3},	    {"K", 1e3},	     {"M", 1e6}, {"G", 1e9},
		     {"Ki", 1024}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"B", 1}};
	char text[64], *end;

	if (p->now.kind == TOKEN_WORD && p->now.len == 4 && is(p, TOKEN_WORD, "true"))
		n->number = 1;
	else if (is(p, TOKEN_WORD, "false"))
		n->number = 0;
	else if (p->now.kind == TOKEN_WORD && p->now.len < sizeof(text)) {
		memcpy(text, p->text + p->now.at, p->now.len);
		text[p->now.len] = '\0';
		if (!isdigit((unsigned char)text[0]) && text[0] != '-' && text[0] != '.')
			return fail(p, p->now.at, "a number is wanted here: 10, 10k, 1.5M or 64Ki");
		n->number = strtod(text, &end);
		for (size_t i = 0; i < ARRAY_SIZE(units); i++)
			if (end != text && strcmp(end, units[i].suffix) == 0 &&
			    isfinite(n->number)) {
				n->number *= units[i].factor;
				return 0;
			}
		return fail(p, p->now.at, "this is not a number: use 10, 10k, 1.5M or 64Ki");
	} else {
		return fail(p, p->now.at, "a number is wanted here: 10, 10k, 1.5M or 64Ki");
	}
	return 0;
}

static void free_node(struct node *n)
{
	pcre2_match_data_free(n->match);
	pcre2_code_free(n->regex);
	free(n->text);
}

static int parse_regex(struct parser *p, struct node *n)
{
	struct strbuf text = STRBUF_INIT;
	PCRE2_UCHAR why[120];
	PCRE2_SIZE at;
	int code, rc;

	n->regex = pcre2_compile((PCRE2_SPTR)n->text, PCRE2_ZERO_TERMINATED,
				 PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C,
				 &code, &at, p->f->compile);
	if (n->regex) {
		n->match = pcre2_match_data_create(1, p->f->memory);
		return 0;
	}
	if (pcre2_get_error_message(code, why, sizeof(why)) < 0)
		why[0] = '\0';
	strbuf_addf(&text, "this is not a valid regular expression%s%s", why[0] ? ": " : "",
		    (const char *)why);
	rc = fail(p, p->now.at, text.buf);
	strbuf_free(&text);
	return rc;
}

static int parse_text(struct parser *p, struct node *n)
{
	if (p->now.kind != TOKEN_WORD && p->now.kind != TOKEN_TEXT)
		return fail(p, p->now.at, "a text is wanted here, in quotes if it is not one word");
	n->text = xstrndup(p->text + p->now.at, p->now.len);
	if (n->op != OP_MATCH && n->op != OP_NO_MATCH)
		return 0;
	return parse_regex(p, n);
}

static bool find_op(const struct parser *p, enum op *op)
{
	static const struct {
		const char *sign;
		enum op op;
	} ops[] = {{"==", OP_EQ},    {"=", OP_EQ},	 {"!=", OP_NE}, {"<", OP_LT},
		   {"<=", OP_LE},    {">", OP_GT},	 {">=", OP_GE}, {"~", OP_MATCH},
		   {"=~", OP_MATCH}, {"!~", OP_NO_MATCH}};

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (is(p, TOKEN_SIGN, ops[i].sign)) {
			*op = ops[i].op;
			return true;
		}
	return false;
}

static int unknown_field(struct parser *p)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	strbuf_addf(&text, "there is no field '%.*s'; fields are ", (int)p->now.len,
		    p->text + p->now.at);
	for (size_t i = 0; i < p->f->nr_fields; i++)
		strbuf_addf(&text, "%s%s", i ? ", " : "", p->f->fields[i].name);
	rc = fail(p, p->now.at, text.buf);
	strbuf_free(&text);
	return rc;
}

/* FIELD or FIELD OPERATOR VALUE */
static int parse_comparison(struct parser *p, uint32_t *out)
{
	struct node n = {.op = OP_TRUE};
	size_t at = p->now.at;
	bool number;
	int rc;

	if (p->now.kind != TOKEN_WORD)
		return fail(p, at,
			    p->now.kind == TOKEN_END
				    ? "a comparison is missing here, such as memory > 10M"
				    : "a field is wanted here");
	while (n.field < p->f->nr_fields && !is(p, TOKEN_WORD, p->f->fields[n.field].name))
		n.field++;
	if (n.field == p->f->nr_fields)
		return unknown_field(p);
	number = p->f->fields[n.field].number;
	p->f->uses |= 1ull << n.field;
	next(p, false);
	if (!find_op(p, &n.op))
		return add(p, &n, out);
	if (number && (n.op == OP_MATCH || n.op == OP_NO_MATCH))
		return fail(p, p->now.at,
			    "~ is for texts, and this field is a number: use ==, < or >");
	if (!number && n.op != OP_EQ && n.op != OP_NE && n.op != OP_MATCH && n.op != OP_NO_MATCH)
		return fail(p, p->now.at, "a text has no order: use ==, != or ~");
	next(p, true);
	if (is(p, TOKEN_WORD, "null") && (n.op == OP_EQ || n.op == OP_NE)) {
		n.op = n.op == OP_EQ ? OP_ABSENT : OP_THERE;
		rc = 0;
	} else {
		rc = number ? parse_number(p, &n) : parse_text(p, &n);
	}
	rc = rc ? rc : add(p, &n, out);
	if (rc) {
		free_node(&n);
		return rc;
	}
	next(p, false);
	return 0;
}

static int parse_or(struct parser *p, uint32_t *out);

static int parse_one(struct parser *p, uint32_t *out)
{
	struct node n = {.op = OP_NOT};
	int rc;

	if (p->depth++ == DEPTH_MAX)
		return fail(p, p->now.at, "too many nested parentheses or 'not'");
	if (is_either(p, "not", "!")) {
		next(p, false);
		rc = parse_one(p, &n.left);
		rc = rc ? rc : add(p, &n, out);
	} else if (is(p, TOKEN_SIGN, "(")) {
		next(p, false);
		rc = parse_or(p, out);
		if (rc == 0 && !is(p, TOKEN_SIGN, ")"))
			rc = fail(p, p->now.at, "a ) is missing here");
		if (rc == 0)
			next(p, false);
	} else {
		rc = parse_comparison(p, out);
	}
	p->depth--;
	return rc;
}

static int parse_and(struct parser *p, uint32_t *out)
{
	struct node n = {.op = OP_AND};
	int rc = parse_one(p, out);

	while (rc == 0 && is_either(p, "and", "&&")) {
		n.left = *out;
		next(p, false);
		rc = parse_one(p, &n.right);
		rc = rc ? rc : add(p, &n, out);
	}
	return rc;
}

static int parse_or(struct parser *p, uint32_t *out)
{
	struct node n = {.op = OP_OR};
	int rc = parse_and(p, out);

	while (rc == 0 && is_either(p, "or", "||")) {
		n.left = *out;
		next(p, false);
		rc = parse_and(p, &n.right);
		rc = rc ? rc : add(p, &n, out);
	}
	return rc;
}

static void *pcre_alloc(size_t size, void *ctx)
{
	(void)ctx;
	return xmalloc(size);
}

static void pcre_free(void *p, void *ctx)
{
	(void)ctx;
	free(p);
}

int filter_parse(struct filter **out, const char *text, const struct filter_field *fields,
		 size_t nr, struct error *err)
{
	struct filter *f = xcalloc(1, sizeof(*f));
	struct parser p = {.f = f, .text = text, .err = err};
	int rc = 0;

	f->fields = fields;
	f->nr_fields = MIN(nr, (size_t)64);
	f->memory = pcre2_general_context_create(pcre_alloc, pcre_free, NULL);
	f->compile = pcre2_compile_context_create(f->memory);
	f->limits = pcre2_match_context_create(f->memory);
	pcre2_set_match_limit(f->limits, MATCH_STEPS_MAX);
	pcre2_set_heap_limit(f->limits, MATCH_HEAP_MAX);
	if (strlen(text) > TEXT_MAX)
		rc = error_set(err, ERROR_KIND_USAGE, -EINVAL, "--where: longer than %d characters",
			       TEXT_MAX);
	if (rc == 0) {
		next(&p, false);
		rc = parse_or(&p, &f->root);
	}
	if (rc == 0 && p.now.kind != TOKEN_END)
		rc = fail(&p, p.now.at, "'and' or 'or' is wanted here");
	if (rc) {
		filter_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nodes.len; i++)
		free_node(&f->nodes.data[i]);
	vec_free(&f->nodes);
	pcre2_match_context_free(f->limits);
	pcre2_compile_context_free(f->compile);
	pcre2_general_context_free(f->memory);
	free(f);
}

uint64_t filter_uses(const struct filter *f)
{
	return f->uses;
}

uint64_t filter_gave_up(const struct filter *f)
{
	return f->gave_up;
}

/* ---- evaluation --------------------------------------------------------------------------- */

static bool compare_number(const struct node *n, double v)
{
	switch (n->op) {
	case OP_EQ:
		return v == n->number;
	case OP_NE:
		return v != n->number;
	case OP_LT:
		return v < n->number;
	case OP_LE:
		return v <= n->number;
	case OP_GT:
		return v > n->number;
	case OP_GE:
		return v >= n->number;
	default:
		return v != 0;
	}
}

/* False also if the regular expression takes too many steps on the text: `gave_up` counts that. */
static bool matches(struct filter *f, const struct node *n, const struct filter_value *v)
{
	int rc = pcre2_match(n->regex, (PCRE2_SPTR)v->text, v->len, 0, 0, n->match, f->limits);

	if (rc < 0 && rc != PCRE2_ERROR_NOMATCH)
		f->gave_up++;
	return rc >= 0;
}

static bool compare(struct filter *f, const struct node *n, const struct filter_value *v)
{
	bool negative = n->op == OP_NE || n->op == OP_NO_MATCH, yes;
	uint64_t gave_up = f->gave_up;

	if (n->op == OP_ABSENT || n->op == OP_THERE)
		return v->known == (n->op == OP_THERE);
	if (!v->known)
		return negative;
	if (f->fields[n->field].number)
		return compare_number(n, v->number);
	if (n->op == OP_TRUE)
		return v->len > 0;
	yes = n->regex ? matches(f, n, v)
		       : strlen(n->text) == v->len && memcmp(n->text, v->text, v->len) == 0;
	return yes != negative && gave_up == f->gave_up; /* not decided: neither ~ nor !~ holds */
}

/* Operands come before their operators in the array: one pass, no recursion. */
bool filter_holds(struct filter *f,
		  void (*get)(const void *row, size_t field, struct filter_value *v),
		  const void *row)
{
	bool results[NODES_MAX];

	for (size_t i = 0; i < f->nodes.len; i++) {
		const struct node *n = &f->nodes.data[i];
		struct filter_value v = {0};

		switch (n->op) {
		case OP_AND:
			results[i] = results[n->left] && results[n->right];
			break;
		case OP_OR:
			results[i] = results[n->left] || results[n->right];
			break;
		case OP_NOT:
			results[i] = !results[n->left];
			break;
		default:
			get(row, n->field, &v);
			results[i] = compare(f, n, &v);
		}
	}
	return results[f->root];
}
