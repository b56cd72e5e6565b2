/* SPDX-License-Identifier: BSD-2-Clause */
/* See spawn_stats.h. */
#include "model/stats/spawn_stats.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* ---- reasons -------------------------------------------------------------------------------- */

bool spawn_reason_is_crash(const char *reason)
{
	return strcmp(reason, "normal") != 0 && strcmp(reason, "shutdown") != 0 &&
	       strncmp(reason, "{shutdown,", 10) != 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '@' || (unsigned char)c >= 0x80;
}

/* End of a quoted text that begins at p; strings and quoted atoms are copied unchanged. */
static const char *quoted_end(const char *p)
{
	char quote = *p++;

	while (*p && *p != quote)
		p += *p == '\\' && p[1] ? 2 : 1;
	return *p ? p + 1 : p;
}

/* End of the identifier at p, such as "#Ref<0.1.2>", and its replacement; NULL if there is none. */
static const char *identifier_end(const char *p, const char **shape)
{
	static const struct {
		const char *begin, *shape;
	} known[] = {{"#Ref<", "<ref>"}, {"#Port<", "<port>"}, {"#Fun<", "<fun>"}};
	const char *end;

	*shape = "<pid>";
	end = *p == '<' && is_digit(p[1]) ? p + 1 + strspn(p + 1, "0123456789.") : NULL;
	if (end && *end == '>')
		return end + 1;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strncmp(p, known[i].begin, strlen(known[i].begin)) == 0) {
			*shape = known[i].shape;
			end = strchr(p, '>');
			return end ? end + 1 : p + strlen(p);
		}
	}
	return NULL;
}

static const char *number_end(const char *p)
{
	p += strspn(p, "0123456789");
	if (*p == '.' && is_digit(p[1]))
		p += 1 + strspn(p + 1, "0123456789");
	if (*p == 'e' && (is_digit(p[1]) || ((p[1] == '-' || p[1] == '+') && is_digit(p[2]))))
		p += 2 + strspn(p + 2, "0123456789");
	return p;
}

/* Adds N for a number, but line numbers as they are.  Lists of numbers (as truncated texts are)
 * have the same shape at any length: [N,...]. */
static const char *add_number(const char *begin, const char *p, struct strbuf *out)
{
	static const char line[] = "{line,";
	const char *end = number_end(p + (*p == '-'));

	if (p - begin >= (long)strlen(line) && strncmp(p - strlen(line), line, strlen(line)) == 0) {
		strbuf_add(out, p, (size_t)(end - p));
		return end;
	}
	if (out->len >= 3 && strcmp(out->buf + out->len - 3, "[N,") == 0)
		strbuf_addstr(out, "...");
	else if (out->len >= 7 && strcmp(out->buf + out->len - 7, "[N,...,") == 0)
		out->buf[--out->len] = '\0';
	else
		strbuf_addch(out, 'N');
	return end;
}

void spawn_reason_shape(const char *reason, struct strbuf *out)
{
	static const char more[] = "[N,...,";
	const char *p = reason, *end, *shape;

	while (*p) {
		end = identifier_end(p, &shape);
		if (end) {
			strbuf_addstr(out, shape);
		} else if (*p == '"' || *p == '\'') {
			end = quoted_end(p);
			strbuf_add(out, p, (size_t)(end - p));
		} else if (is_digit(*p) || (*p == '-' && is_digit(p[1]))) {
			end = add_number(reason, p, out);
		} else if (strncmp(p, "...]", 4) == 0 && out->len >= strlen(more) &&
			   strcmp(out->buf + out->len - strlen(more), more) == 0) {
			end = p + 3;
			out->buf[--out->len] = '\0';
		} else {
			/* Digits within an atom are not a number. */
			for (end = p + 1; is_word(*p) && is_word(*end); end++)
				;
			strbuf_add(out, p, (size_t)(end - p));
		}
		p = end;
	}
}

static bool reason_equal(const void *ctx, uint32_t id, const void *key)
{
	return strcmp(((const struct spawn_stats *)ctx)->reasons.data[id].text, key) == 0;
}

static void add_reason(struct spawn_stats *s, const char *text, bool crash)
{
	vec_push(&s->reasons, ((struct spawn_reason){.text = xstrdup(text), .crash = crash}));
}

static uint32_t reason_of_shape(struct spawn_stats *s, const char *shape, bool crash)
{
	uint32_t hash = hash_bytes(shape, strlen(shape));
	uint32_t found = idmap_find(&s->reason_index, hash, reason_equal, s, shape);

	if (found != IDMAP_NONE)
		return found;
	if (s->reasons.len >= s->max_reasons) {
		s->lost_reasons++;
		return 0;
	}
	idmap_add(&s->reason_index, hash, (uint32_t)s->reasons.len);
	add_reason(s, shape, crash);
	return (uint32_t)s->reasons.len - 1;
}

/* Index of the reason with a string id; sets *crash to whether it is a crash. */
static uint32_t reason_of(struct spawn_stats *s, uint32_t string, bool *crash)
{
	const char *text = names_string(s->stream->names, string);
	struct strbuf shape = STRBUF_INIT;

	*crash = text && spawn_reason_is_crash(text);
	if (!text)
		string = 0; /* a damaged capture may have undefined ids */
	while (s->reason_of.len <= string)
		vec_push(&s->reason_of, 0);
	if (!s->reason_of.data[string]) {
		if (text)
			spawn_reason_shape(text, &shape);
		else
			strbuf_addstr(&shape, "[unknown]");
		s->reason_of.data[string] = reason_of_shape(s, shape.buf, *crash) + 1;
		strbuf_free(&shape);
	}
	return s->reason_of.data[string] - 1;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static struct spawn_row *row_of(struct spawn_stats *s, uint32_t group)
{
	while (s->rows.len <= group)
		vec_push(&s->rows, ((struct spawn_row){0}));
	return &s->rows.data[group];
}

static struct spawn_row *parent_row(struct spawn_stats *s, uint32_t group)
{
	while (s->by_parent.len <= group)
		vec_push(&s->by_parent, ((struct spawn_row){0}));
	return &s->by_parent.data[group];
}

static uint32_t group_of(struct spawn_stats *s, uint32_t process, uint32_t entry)
{
	return s->groups.by == PROCESS_GROUP_FUNCTION
		       ? process_groups_of_function(&s->groups, entry)
		       : process_groups_of(&s->groups, process);
}

/* What a process runs may be known only later, by proc_lib: moves it to another row. */
static void regroup(struct spawn_stats *s, struct spawn_living *l, uint32_t process)
{
	uint32_t row = l->row;

	if (s->groups.by == PROCESS_GROUP_FUNCTION)
		return;
	l->row = process_groups_of(&s->groups, process);
	if (l->row == row)
		return;
	row_of(s, row)->living--;
	row_of(s, l->row)->living++;
	if (l->interval == s->interval) {
		row_of(s, row)->spawned--;
		row_of(s, l->row)->spawned++;
	}
}

static uint64_t epid_of(const struct spawn_stats *s, uint32_t process)
{
	const struct name_process *p = names_process(s->stream->names, process);

	return p ? p->epid : 0;
}

/* ---- restart loops -------------------------------------------------------------------------- */

_Static_assert(SPAWN_REASONS_MAX <= 1u << 12 && PROCESS_GROUPS_MAX <= 1u << 20, "bits of a key");

static void loop_crashes(struct spawn_stats *s, const struct spawn_living *l, uint32_t reason)
{
	uint64_t key = (uint64_t)l->parent << 44 | (uint64_t)l->entry << 12 | reason;
	struct spawn_loop *loop = keytab_find(&s->loops, key);

	if (!loop && (!key || s->loops.nr >= SPAWN_LOOPS_MAX)) {
		s->lost_loops++;
		return;
	}
	loop = loop ? loop : keytab_add(&s->loops, key);
	loop->crashes++;
	parent_row(s, l->parent)->open_crash = key;
}

static bool is_loop(const struct spawn_loop *l)
{
	return l->apart >= SPAWN_LOOP_CRASHES ||
	       (l->in_turn >= SPAWN_LOOP_CRASHES && l->in_turn >= l->crashes / 2);
}

/* Counts a spawn after a crash of a child of the same parent; the new child is not living yet. */
static void loop_spawns(struct spawn_stats *s, struct spawn_row *parent, uint64_t ts_ns)
{
	struct spawn_loop *loop = keytab_find(&s->loops, parent->open_crash);

	parent->open_crash = 0;
	if (!loop)
		return;
	loop->in_turn += parent->living == 0;
	if (!loop->apart || ts_ns - loop->counted_ns >= SPAWN_LOOP_APART_NS) {
		loop->apart++;
		loop->counted_ns = ts_ns;
	}
	if (is_loop(loop))
		parent->loop = loop->key;
}

bool spawn_stats_is_loop(const struct spawn_stats *s, const struct spawn_row *parent)
{
	const struct spawn_loop *loop = keytab_find(&s->loops, parent->loop);
	const struct coverage *c = &s->stream->coverage;
	double crashed = (double)parent->crashed / coverage_share(c, EVENT_PROCESS_EXIT);
	double spawned = (double)parent->spawned / coverage_share(c, EVENT_PROCESS_SPAWN);

	return loop && is_loop(loop) && 2 * crashed >= spawned;
}

/* ---- events --------------------------------------------------------------------------------- */

static void take_spawn(struct spawn_stats *s, const struct event *ev)
{
	uint32_t parent = event_value_id(ev, EVENT_AT(PROCESS_SPAWN, PARENT));
	uint32_t entry = event_value_id(ev, EVENT_AT(PROCESS_SPAWN, ENTRY));
	struct spawn_living child = {
		.epid = epid_of(s, ev->u.vm.process),
		.birth_ns = ev->ts_ns,
		.row = group_of(s, ev->u.vm.process, entry),
		.parent = process_groups_of(&s->parents, parent),
		.interval = s->interval,
		.entry = entry,
	};
	struct spawn_living *old = keytab_find(&s->living, child.epid);

	s->all.spawned++;
	row_of(s, child.row)->spawned++;
	loop_spawns(s, parent_row(s, child.parent), ev->ts_ns);
	parent_row(s, child.parent)->spawned++;
	/* The exit of an earlier process was missed, whose pid is used again. */
	if (old) {
		row_of(s, old->row)->living--;
		parent_row(s, old->parent)->living--;
		s->all.living--;
		keytab_remove(&s->living, old);
	}
	if (!child.epid || s->living.nr >= s->max_living) {
		s->unnamed += !child.epid;
		s->lost_living += child.epid != 0;
		return;
	}
	*(struct spawn_living *)keytab_add(&s->living, child.epid) = child;
	s->all.living++;
	row_of(s, child.row)->living++;
	parent_row(s, child.parent)->living++;
}

static void add_exit(struct spawn_row *row, bool crash, uint32_t reason)
{
	row->exited++;
	row->crashed += crash;
	if (crash)
		row->reason = reason;
}

static void add_lifetime(struct spawn_row *row, uint64_t ns)
{
	row->lifetimes++;
	row->lifetime_ns += ns;
	row->max_lifetime_ns = MAX(row->max_lifetime_ns, ns);
}

static void take_exit(struct spawn_stats *s, const struct event *ev)
{
	struct spawn_living *l = keytab_find(&s->living, epid_of(s, ev->u.vm.process));
	const struct coverage *c = &s->stream->coverage;
	uint32_t row, reason;
	bool crash;

	reason = reason_of(s, event_value_id(ev, EVENT_AT(PROCESS_EXIT, REASON)), &crash);
	s->reasons.data[reason].exits++;
	add_exit(&s->all, crash, reason);
	if (l)
		regroup(s, l, ev->u.vm.process);
	row = l ? l->row : group_of(s, ev->u.vm.process, 0);
	add_exit(row_of(s, row), crash, reason);
	if (!l)
		return;
	add_exit(parent_row(s, l->parent), crash, reason);
	if (crash)
		loop_crashes(s, l, reason);
	/* Lifetimes in which probes were off do not count: only long ones would be among them, a
	 * bias. */
	if (ev->ts_ns >= l->birth_ns && !coverage_gap(c, EVENT_PROCESS_EXIT, l->birth_ns) &&
	    !coverage_gap(c, EVENT_PROCESS_SPAWN, l->birth_ns)) {
		uint64_t ns = ev->ts_ns - l->birth_ns;

		add_lifetime(&s->all, ns);
		add_lifetime(row_of(s, row), ns);
		add_lifetime(parent_row(s, l->parent), ns);
		histogram_add(&s->lifetimes, ns, 1);
	}
	s->all.living--;
	row_of(s, row)->living--;
	parent_row(s, l->parent)->living--;
	keytab_remove(&s->living, l);
}

static bool name_equal(const void *ctx, uint32_t id, const void *key)
{
	return ((const struct spawn_stats *)ctx)->names.data[id].name == *(const uint32_t *)key;
}

static struct spawn_name *find_name(struct spawn_stats *s, uint32_t name)
{
	uint32_t hash = hash_mix(3, name);
	uint32_t found = idmap_find(&s->name_index, hash, name_equal, s, &name);

	if (found != IDMAP_NONE)
		return &s->names.data[found];
	if (!name || s->names.len >= SPAWN_NAMES_MAX) {
		s->lost_names += name != 0;
		return &s->names.data[0];
	}
	idmap_add(&s->name_index, hash, (uint32_t)s->names.len);
	vec_push(&s->names, ((struct spawn_name){.name = name}));
	return &s->names.data[s->names.len - 1];
}

static void take_name(struct spawn_stats *s, enum event_kind kind, const struct event *ev)
{
	struct spawn_living *l = keytab_find(&s->living, epid_of(s, ev->u.vm.process));

	if (kind == EVENT_PROCESS_REGISTER) {
		s->registered++;
		find_name(s, event_value_id(ev, EVENT_AT(PROCESS_REGISTER, NAME)))->registered++;
		if (l)
			regroup(s, l, ev->u.vm.process);
	} else {
		s->unregistered++;
		find_name(s, event_value_id(ev, EVENT_AT(PROCESS_UNREGISTER, NAME)))
			->unregistered++;
	}
}

void spawn_stats_take(struct spawn_stats *s, enum event_kind kind, const struct event *ev)
{
	if (kind == EVENT_PROCESS_SPAWN)
		take_spawn(s, ev);
	else if (kind == EVENT_PROCESS_EXIT)
		take_exit(s, ev);
	else if (kind == EVENT_PROCESS_REGISTER || kind == EVENT_PROCESS_UNREGISTER)
		take_name(s, kind, ev);
	else if (kind == EVENT_PROCESS_LINK)
		s->links++;
	else if (kind == EVENT_PROCESS_UNLINK)
		s->unlinks++;
}

/* ---- life ----------------------------------------------------------------------------------- */

void spawn_stats_open(struct spawn_stats *s, struct event_stream *stream, enum process_group_by by)
{
	memset(s, 0, sizeof(*s));
	s->stream = stream;
	s->living = (struct keytab)KEYTAB_INIT(struct spawn_living);
	s->loops = (struct keytab)KEYTAB_INIT(struct spawn_loop);
	s->max_living = SPAWN_LIVING_MAX;
	s->max_reasons = SPAWN_REASONS_MAX;
	process_groups_open(&s->groups, stream->names, by, 0);
	process_groups_open(&s->parents, stream->names, PROCESS_GROUP_NAME, 0);
	add_reason(s, "[others]", false);
	vec_push(&s->names, ((struct spawn_name){0}));
}

static void drop_reasons(struct spawn_stats *s)
{
	for (size_t i = 0; i < s->reasons.len; i++)
		free(s->reasons.data[i].text);
	s->reasons.len = s->reason_of.len = 0;
	idmap_free(&s->reason_index);
}

void spawn_stats_close(struct spawn_stats *s)
{
	if (!s->stream)
		return;
	drop_reasons(s);
	vec_free(&s->rows);
	vec_free(&s->by_parent);
	vec_free(&s->reasons);
	vec_free(&s->reason_of);
	vec_free(&s->names);
	idmap_free(&s->name_index);
	keytab_free(&s->living);
	keytab_free(&s->loops);
	process_groups_close(&s->groups);
	process_groups_close(&s->parents);
}

uint64_t spawn_stats_overflows(const struct spawn_stats *s)
{
	return s->groups.overflows + s->parents.overflows + s->lost_reasons + s->lost_names +
	       s->lost_loops;
}

bool spawn_row_is_storm(double spawned, double seconds)
{
	return spawned >= SPAWN_STORM_LEAST && spawned >= SPAWN_STORM_RATE * seconds;
}

bool spawn_row_is_pile(const struct spawn_row *row)
{
	uint64_t more = row->spawned > row->exited ? row->spawned - row->exited : 0;

	return more >= SPAWN_PILE_LEAST && more >= row->spawned / 2 && row->living >= more;
}

static void clear_row(struct spawn_row *row)
{
	*row = (struct spawn_row){.living = row->living};
}

/* Drops rows of groups without living processes; returns the new numbers of the others;
 * malloc'ed. */
static uint32_t *keep_rows(struct process_groups *g, struct spawn_row *rows, size_t *nr)
{
	size_t groups = g->v.len, kept = 0;
	bool *keep = xcalloc(groups, sizeof(*keep));
	uint32_t *map = xcalloc(groups, sizeof(*map));

	for (size_t i = 0; i < *nr; i++)
		keep[i] = rows[i].living != 0;
	process_groups_keep(g, keep, map);
	/* New numbers are never larger, so rows are moved in place. */
	for (size_t i = 0; i < *nr; i++) {
		if (i && !keep[i])
			continue;
		rows[map[i]] = rows[i];
		clear_row(&rows[map[i]]);
		kept = map[i] + 1u;
	}
	*nr = kept;
	free(keep);
	return map;
}

void spawn_stats_restart(struct spawn_stats *s)
{
	uint32_t *rows = keep_rows(&s->groups, s->rows.data, &s->rows.len);
	uint32_t *parents = keep_rows(&s->parents, s->by_parent.data, &s->by_parent.len);

	for (struct spawn_living *l = NULL; (l = keytab_next(&s->living, l));) {
		l->row = rows[l->row];
		l->parent = parents[l->parent];
	}
	free(rows);
	free(parents);
	s->interval++;
	clear_row(&s->all);
	drop_reasons(s);
	add_reason(s, "[others]", false);
	idmap_free(&s->name_index);
	s->names.len = 0;
	vec_push(&s->names, ((struct spawn_name){0}));
	s->links = s->unlinks = s->registered = s->unregistered = 0;
	s->lost_living = s->unnamed = s->lost_reasons = s->lost_names = s->lost_loops = 0;
	keytab_free(&s->loops);
	memset(&s->lifetimes, 0, sizeof(s->lifetimes));
}
