/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See options.h.  Own parsing instead of getopt_long(): that one keeps its state in globals,
 * prints to stderr by itself and has no hint for a misspelt option.
 */
#include "cmd/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cmd/render.h"
#include "event/catalogue.h"
#include "model/event_weights.h"

#define MODE_CPU "cpu"

/* ---- values ------------------------------------------------------------------------------- */

static int bad_value(struct error *err, const char *option, const char *value, const char *want)
{
	return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s: '%s' is not %s", option, value,
			 want);
}

/* Digits only: strtoul() would take signs, spaces and hexadecimal. */
static bool parse_uint(const char *text, unsigned int min, unsigned int max, unsigned int *out)
{
	unsigned int value = 0;

	if (!*text || strlen(text) > 9)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned int)(*text - '0');
	}
	*out = value;
	return value >= min && value <= max;
}

static bool parse_percent(const char *text, double *out)
{
	size_t len = strlen(text);
	char *end;

	if (!len || strspn(text, "0123456789.") != len)
		return false;
	*out = strtod(text, &end);
	return !*end && *out >= 0 && *out <= 100;
}

static int set_duration(struct options *opt, const char *value, struct error *err)
{
	if (units_parse_duration(value, &opt->duration_ns) != 0)
		return bad_value(err, "duration", value, "a time such as 10, 500ms, 10s or 2m");
	return 0;
}

static int set_freq(struct options *opt, const char *value, struct error *err)
{
	if (!parse_uint(value, 1, OPTIONS_MAX_FREQ, &opt->freq))
		return bad_value(err, "freq", value, "a number of samples a second, 1 to 4999");
	return 0;
}

static int set_limit(struct options *opt, const char *value, struct error *err)
{
	if (strlen(value) > 9 && strspn(value, "0123456789") == strlen(value))
		opt->limit = 999999999; /* all that can be */
	else if (!parse_uint(value, 1, 999999999, &opt->limit))
		return bad_value(err, "limit", value, "a number of rows, 1 or more");
	return 0;
}

static int set_watch(struct options *opt, const char *value, struct error *err)
{
	if (units_parse_duration(value, &opt->watch_ns) != 0 || !opt->watch_ns)
		return bad_value(err, "watch", value, "a time such as 1, 500ms or 10s");
	return 0;
}

static int set_depth(struct options *opt, const char *value, struct error *err)
{
	if (!parse_uint(value, 1, 1000000, &opt->depth))
		return bad_value(err, "depth", value, "a number of levels, 1 to 1000000");
	return 0;
}

static int set_size(struct options *opt, const char *value, struct error *err)
{
	if (!parse_uint(value, 1, 999999999, &opt->size))
		return bad_value(err, "size", value, "a number of bytes, 1 to 999999999");
	return 0;
}

static int set_quiet(struct options *opt, const char *value, struct error *err)
{
	UNUSED(value);
	UNUSED(err);
	opt->verbosity = -1;
	return 0;
}

static int set_verbose(struct options *opt, const char *value, struct error *err)
{
	UNUSED(value);
	UNUSED(err);
	opt->verbosity = opt->verbosity < 0 ? 1 : opt->verbosity + 1;
	return 0;
}

static int set_color(struct options *opt, const char *value, struct error *err)
{
	static const struct {
		const char *word;
		enum color_mode mode;
	} words[] = {{"auto", COLOR_AUTO}, {"always", COLOR_ALWAYS}, {"never", COLOR_NEVER}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(value, words[i].word) == 0) {
			opt->color = words[i].mode;
			return 0;
		}
	}
	return bad_value(err, "color", value, "auto, always or never");
}

static int set_by(struct options *opt, const char *value, struct error *err)
{
	if (snapshot_by_parse(value, &opt->by) != 0)
		return bad_value(err, "by", value,
				 "one of name, process, initial-call, scheduler, none");
	return 0;
}

static int set_group_by(struct options *opt, const char *value, struct error *err)
{
	if (process_group_by_parse(value, &opt->group_by) != 0)
		return bad_value(err, "by", value, "one of name, process, initial-call, function");
	return 0;
}

static int set_longer_than(struct options *opt, const char *value, struct error *err)
{
	if (units_parse_duration(value, &opt->longer_than_ns))
		return bad_value(err, "longer-than", value, "a time such as 1ms, 500us, 2s");
	return 0;
}

static int set_message_by(struct options *opt, const char *value, struct error *err)
{
	if (process_group_by_parse(value, &opt->group_by) != 0 ||
	    opt->group_by == PROCESS_GROUP_FUNCTION)
		return bad_value(err, "by", value, "one of name, process, initial-call");
	return 0;
}

static int set_rows(struct options *opt, const char *value, struct error *err)
{
	if (message_rows_parse(value, &opt->rows) != 0)
		return bad_value(err, "rows", value, "one of pair, sender, receiver");
	return 0;
}

static int set_mode(struct options *opt, const char *value, struct error *err)
{
	if (strcmp(value, MODE_CPU) != 0 && !weight_mode_find(value, NULL))
		return bad_value(err, "mode", value, "one of cpu, gc, msg, sched, wait");
	opt->mode = value;
	return 0;
}

static int set_weight(struct options *opt, const char *value, struct error *err)
{
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (m->weight && strcmp(m->weight, value) == 0) {
			opt->weight = value;
			return 0;
		}
	}
	return bad_value(err, "weight", value, "one of time, words");
}

int options_mode(const struct options *opt, const struct weight_mode **mode, struct error *err)
{
	const char *name = opt->mode ? opt->mode : MODE_CPU;

	*mode = weight_mode_find(name, opt->weight);
	if (opt->weight && !*mode)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--weight goes with --mode gc, not with --mode %s", name);
	return 0;
}

static const char *const source_names[] = {
	[SOURCE_AUTO] = "auto", [SOURCE_UPROBE] = "uprobe", [SOURCE_USDT] = "usdt"};

static int set_source(struct options *opt, const char *value, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(source_names); i++) {
		if (strcmp(value, source_names[i]) == 0) {
			opt->source = (enum source_choice)i;
			return 0;
		}
	}
	return bad_value(err, "source", value, "one of auto, uprobe, usdt");
}

static int set_min_complete(struct options *opt, const char *value, struct error *err)
{
	if (!parse_percent(value, &opt->min_complete))
		return bad_value(err, "min-complete", value, "a percentage, 0 to 100");
	return 0;
}

static int set_max_overhead(struct options *opt, const char *value, struct error *err)
{
	if (!parse_percent(value, &opt->max_overhead) || opt->max_overhead <= 0)
		return bad_value(err, "max-overhead", value, "a percentage above 0, up to 100");
	return 0;
}

static int set_events(struct options *opt, const char *value, struct error *err)
{
	const char *names[NR_EVENT_KINDS], *bad, *near;
	char word[64];
	size_t len;

	if (event_kinds_parse(value, &opt->events, &bad, &len) == 0)
		return 0;
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++)
		names[kind] = event_rows[kind].name;
	len = MIN(len, sizeof(word) - 1);
	memcpy(word, bad, len);
	word[len] = '\0';
	near = options_nearest(word, names, NR_EVENT_KINDS);
	if (near)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "--events: there is no event '%s'; did you mean '%s'? (see 'ebeam "
				 "events --list')",
				 word, near);
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "--events: there is no event '%s' (see 'ebeam events --list')", word);
}

/* ---- the table ---------------------------------------------------------------------------- */

static void values_color(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	strbuf_addstr(out, " auto always never");
}

static void values_by(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (int by = SNAPSHOT_BY_NAME; by <= SNAPSHOT_BY_NONE; by++)
		strbuf_addf(out, " %s", snapshot_by_name((enum snapshot_by)by));
}

static void values_group_by(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (int by = 0; by < NR_PROCESS_GROUP_BY; by++)
		strbuf_addf(out, " %s", process_group_by_name((enum process_group_by)by));
}

static void values_rows(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (int rows = 0; rows < NR_MESSAGE_ROWS; rows++)
		strbuf_addf(out, " %s", message_rows_name((enum message_rows)rows));
}

static void values_message_by(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (int by = 0; by < PROCESS_GROUP_FUNCTION; by++)
		strbuf_addf(out, " %s", process_group_by_name((enum process_group_by)by));
}

static void values_mode(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	strbuf_addstr(out, " " MODE_CPU);
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (m == weight_modes || strcmp(m[-1].name, m->name) != 0)
			strbuf_addf(out, " %s", m->name);
	}
}

static void values_weight(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (const struct weight_mode *m = weight_modes; m->name; m++) {
		if (m->weight)
			strbuf_addf(out, " %s", m->weight);
	}
}

static void values_source(struct strbuf *out, const struct command *command)
{
	UNUSED(command);
	for (size_t i = 0; i < ARRAY_SIZE(source_names); i++)
		strbuf_addf(out, " %s", source_names[i]);
}

static void values_events(struct strbuf *out, const struct command *command)
{
	uint64_t kinds = command && command->event_kinds ? command->event_kinds : UINT64_MAX;

	strbuf_addstr(out, " all");
	for (int group = 0; group < NR_EVENT_GROUPS; group++) {
		if (!(event_group_kinds((enum event_group)group) & ~kinds))
			strbuf_addf(out, " %s", event_group_name((enum event_group)group));
	}
	for (int kind = 0; kind < NR_EVENT_KINDS; kind++) {
		if (kinds >> kind & 1)
			strbuf_addf(out, " %s", event_rows[kind].name);
	}
}

#define MEMBER(name) .member = offsetof(struct options, name)

/* clang-format off */
const struct option_row option_rows[NR_OPTIONS] = {
	[OPTION_PID] = {'p', "pid", "NODE",
		"os pid or name of the node (rabbit@host or rabbit)",
		"the only node of this host", NULL, MEMBER(pid)},
	[OPTION_DURATION] = {'d', "duration", "TIME",
		"how long: 10, 10s, 500ms, 2m; required without a terminal",
		"until Ctrl-C", NULL, .set = set_duration},
	[OPTION_FREQ] = {'F', "freq", "HZ",
		"samples a second on each CPU, 1 to 4999", "99", NULL, .set = set_freq},
	[OPTION_OUTPUT] = {'o', "output", "FILE",
		"where to write; - is standard output", NULL, NULL, MEMBER(output)},
	[OPTION_FORMAT] = {'f', "format", "FORMAT", /* checked by render_choose() */
		"what to write", "by the suffix of -o, else html", render_formats, MEMBER(format)},
	[OPTION_CAPTURE] = {0, "capture", "FILE",
		"also keep the recording itself, for 'ebeam report'", NULL, NULL, MEMBER(capture)},
	[OPTION_LIMIT] = {'n', "limit", "N",
		"show at most N rows", NULL, NULL, .set = set_limit},
	[OPTION_SORT] = {'s', "sort", "COLUMN",
		"order by this column; -COLUMN reverses", NULL, NULL, MEMBER(sort)},
	[OPTION_COLUMNS] = {'c', "columns", "A,B",
		"show these columns, in this order", NULL, NULL, MEMBER(columns)},
	[OPTION_JSON] = {'j', "json", NULL,
		"JSON instead of text", NULL, NULL, MEMBER(json)},
	[OPTION_QUIET] = {'q', "quiet", NULL,
		"errors only on standard error", NULL, NULL, .set = set_quiet},
	[OPTION_VERBOSE] = {'v', "verbose", NULL,
		"say what is being done; -vv says more", NULL, NULL, .set = set_verbose},
	[OPTION_COLOR] = {0, "color", "WHEN",
		"colours in text; NO_COLOR is honoured", "auto", values_color, .set = set_color},
	[OPTION_BY] = {0, "by", "GROUP",
		"what stacks are grouped by", "name", values_by, .set = set_by},
	[OPTION_GROUP_BY] = {0, "by", "GROUP",
		"what the rows of the table are", "name; of proc initial-call", values_group_by,
		.set = set_group_by},
	[OPTION_MESSAGE_BY] = {0, "by", "GROUP",
		"which processes count as one", "name", values_message_by, .set = set_message_by},
	[OPTION_ROWS] = {0, "rows", "SIDE",
		"what the rows of the table are", "pair", values_rows, .set = set_rows},
	[OPTION_MODE] = {0, "mode", "MODE",
		"what is recorded", "cpu", values_mode, .set = set_mode},
	[OPTION_WEIGHT] = {0, "weight", "WHAT",
		"of --mode gc: its time, or the words that it reclaimed", "time",
		values_weight, .set = set_weight},
	[OPTION_LINES] = {0, "lines", NULL,
		"line numbers in frames", NULL, NULL, MEMBER(lines)},
	[OPTION_KINDS] = {0, "kinds", NULL,
		"a root frame for what the thread was doing: gc, bif, poll, ...",
		NULL, NULL, MEMBER(kinds)},
	[OPTION_NO_NATIVE] = {0, "no-native", NULL,
		"leave out frames of C code", NULL, NULL, MEMBER(no_native)},
	[OPTION_NO_KERNEL] = {0, "no-kernel", NULL,
		"leave out frames of the kernel", NULL, NULL, MEMBER(no_kernel)},
	[OPTION_IDLE] = {0, "idle", NULL,
		"show waiting schedulers too", NULL, NULL, MEMBER(idle)},
	[OPTION_MIN_COMPLETE] = {0, "min-complete", "PCT",
		"exit 7 if fewer samples than this have a whole stack",
		NULL, NULL, .set = set_min_complete},
	[OPTION_MAX_OVERHEAD] = {0, "max-overhead", "PCT",
		"the most that probes may cost the node", "1", NULL, .set = set_max_overhead},
	[OPTION_DRY_RUN] = {0, "dry-run", NULL,
		"show what would be attached and its cost, then stop",
		NULL, NULL, MEMBER(dry_run)},
	[OPTION_INPUT] = {'i', "input", "CAPTURE",
		"read this capture instead of a node", NULL, NULL, MEMBER(input)},
	[OPTION_CORE] = {0, "core", "FILE",
		"look into this core file instead of a running node", NULL, NULL, MEMBER(core)},
	[OPTION_EXE] = {0, "exe", "BEAM",
		"the beam.smp that left the core file", "found by its build id", NULL, MEMBER(exe)},
	[OPTION_WHERE] = {0, "where", "EXPRESSION",
		"only rows for which this holds: 'message_queue_len > 1000'",
		NULL, NULL, MEMBER(where)},
	[OPTION_WATCH] = {0, "watch", "TIME",
		"again and again, with what changed in a second", NULL, NULL, .set = set_watch},
	[OPTION_TREE] = {0, "tree", NULL,
		"as a tree: who was started by whom", NULL, NULL, MEMBER(tree)},
	[OPTION_TERMS] = {0, "terms", NULL,
		"the Y registers of each frame too", NULL, NULL, MEMBER(terms)},
	[OPTION_ELIXIR] = {0, "elixir", NULL,
		"terms as Elixir writes them", NULL, NULL, MEMBER(elixir)},
	[OPTION_DEPTH] = {0, "depth", "N",
		"terms to this depth; deeper is ...", NULL, NULL, .set = set_depth},
	[OPTION_SIZE] = {0, "size", "BYTES",
		"text of one term; more is ...", NULL, NULL, .set = set_size},
	[OPTION_HEAP] = {0, "heap", NULL,
		"what the heap is full of, by type and by largest terms",
		NULL, NULL, MEMBER(heap)},
	[OPTION_MAILBOX] = {0, "mailbox", NULL,
		"what the mailbox is full of, by the shape of messages",
		NULL, NULL, MEMBER(mailbox)},
	[OPTION_WAITS] = {0, "waits", NULL,
		"who waits for whom, and who is waited for most", NULL, NULL, MEMBER(waits)},
	[OPTION_OLD_CODE] = {0, "old-code", NULL,
		"which processes still run old code", NULL, NULL, MEMBER(old_code)},
	[OPTION_SHOW_SECRETS] = {0, "show-secrets", NULL,
		"do not mask values whose keys look like passwords or tokens",
		NULL, NULL, MEMBER(show_secrets)},
	[OPTION_EVENTS] = {'e', "events", "KIND,...",
		"which events, by name or group", "all", values_events, .set = set_events},
	[OPTION_STACK] = {0, "stack", NULL,
		"the Erlang stack with each event", NULL, NULL, MEMBER(stack)},
	[OPTION_PROCESS] = {0, "process", "PID",
		"only events of this process: <0.80.0>, or its registered name",
		NULL, NULL, MEMBER(process)},
	[OPTION_LONGER_THAN] = {0, "longer-than", "TIME",
		"only what took longer: 1ms, 500us, 2s", NULL, NULL, .set = set_longer_than},
	[OPTION_INITIAL_CALL] = {0, "initial-call", "M:F/A",
		"only events of processes that began with this function",
		NULL, NULL, MEMBER(initial_call)},
	[OPTION_FROM] = {0, "from", "PID",
		"only messages from this process: <0.80.0>, or its registered name",
		NULL, NULL, MEMBER(from)},
	[OPTION_TO] = {0, "to", "PID",
		"only messages to this process, or to this name of other nodes",
		NULL, NULL, MEMBER(to)},
	[OPTION_LIST] = {0, "list", NULL,
		"the events that there are, and their fields", NULL, NULL, MEMBER(list)},
	[OPTION_SOURCE] = {0, "source", "WHICH",
		"of events that a VM with USDT probes gives twice: uprobe, usdt, or either",
		"auto", values_source, .set = set_source},
	[OPTION_IO] = {0, "io", NULL,
		"watch what comes and goes: bytes and calls by port and driver",
		NULL, NULL, MEMBER(io)},
	[OPTION_MAN] = {0, "man", NULL,
		"the manual page, as troff source", NULL, NULL, MEMBER(man)},
	[OPTION_MARKDOWN] = {0, "markdown", NULL,
		"as a Markdown table: the commands, or the events", NULL, NULL, MEMBER(markdown)},
	[OPTION_HELP] = {'h', "help", NULL,
		"show this help", NULL, NULL, MEMBER(help)},
};
/* clang-format on */

bool option_is_of(const struct command *command, enum option_id id)
{
	return ((command->options | OPTIONS_COMMON) >> id) & 1;
}

void options_defaults(struct options *opt)
{
	memset(opt, 0, sizeof(*opt));
	opt->freq = 99;
	opt->by = SNAPSHOT_BY_NAME;
	opt->max_overhead = 1;
}

/* ---- hints -------------------------------------------------------------------------------- */

#define NEAREST_MAX 32 /* longer words get no hint */

/* Edit distance with swaps of neighbours (optimal string alignment), three rows at a time. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][NEAREST_MAX + 1], la = strlen(a), lb = strlen(b);
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	if (la > NEAREST_MAX || lb > NEAREST_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *free_row = before;

		now[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = MIN(best, last[j] + 1);
			best = MIN(best, now[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, before[j - 2] + 1);
			now[j] = best;
		}
		before = last;
		last = now;
		now = free_row;
	}
	return last[lb];
}

const char *options_nearest(const char *word, const char *const *candidates, size_t nr)
{
	size_t best = MAX(strlen(word) / 3, (size_t)1) + 1;
	const char *found = NULL;

	for (size_t i = 0; i < nr; i++) {
		size_t distance = edit_distance(word, candidates[i]);

		if (distance < best) {
			best = distance;
			found = candidates[i];
		}
	}
	return found;
}

static int unknown_long(const struct command *command, const char *name, struct error *err)
{
	const char *candidates[NR_OPTIONS], *near;
	size_t nr = 0;

	for (int id = 0; id < NR_OPTIONS; id++) {
		if (strcmp(option_rows[id].long_name, name) == 0)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 "'%s' has no option --%s (see 'ebeam help %s')",
					 command->name, name, command->name);
		if (option_is_of(command, (enum option_id)id))
			candidates[nr++] = option_rows[id].long_name;
	}
	near = options_nearest(name, candidates, nr);
	if (near)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "unknown option --%s; did you mean --%s? (see 'ebeam help %s')",
				 name, near, command->name);
	return error_set(err, ERROR_KIND_USAGE, -EINVAL,
			 "unknown option --%s (see 'ebeam help %s')", name, command->name);
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* argv being eaten from the left. */
struct words {
	int argc, at;
	char **argv;
};

static int apply(struct options *opt, int id, const char *value, struct error *err)
{
	const struct option_row *row = &option_rows[id];
	void *member = (char *)opt + row->member;

	opt->given |= 1ull << id;
	if (row->set)
		return row->set(opt, value, err);
	if (!row->arg)
		*(bool *)member = true;
	else if (!*value)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "--%s needs %s, not ''",
				 row->long_name, row->arg);
	else
		*(const char **)member = value;
	return 0;
}

static int parse_long(const struct command *command, struct words *w, struct options *opt,
		      struct error *err)
{
	char *name = w->argv[w->at] + 2, *equals = strchr(name, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	char text[64];
	int id;

	for (id = 0; id < NR_OPTIONS; id++)
		if (option_is_of(command, (enum option_id)id) &&
		    strlen(option_rows[id].long_name) == len &&
		    strncmp(option_rows[id].long_name, name, len) == 0)
			break;
	if (id == NR_OPTIONS) {
		len = MIN(len, sizeof(text) - 1);
		memcpy(text, name, len);
		text[len] = '\0';
		return unknown_long(command, text, err);
	}
	if (equals)
		value = equals + 1;
	if (value && !option_rows[id].arg)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL, "option --%s takes no value",
				 option_rows[id].long_name);
	if (!value && option_rows[id].arg) {
		if (++w->at >= w->argc)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL, "option --%s needs %s",
					 option_rows[id].long_name, option_rows[id].arg);
		value = w->argv[w->at];
	}
	return apply(opt, id, value, err);
}

/* One word that starts with a single "-": one option or several, the last of them maybe with a
 * value. */
static int parse_cluster(const struct command *command, struct words *w, struct options *opt,
			 struct error *err)
{
	for (char *p = w->argv[w->at] + 1; *p; p++) {
		char *value = NULL;
		bool known = false;
		int id, rc;

		for (id = 0; id < NR_OPTIONS; id++) {
			known |= option_rows[id].short_name == *p;
			if (option_rows[id].short_name == *p &&
			    option_is_of(command, (enum option_id)id))
				break;
		}
		if (id == NR_OPTIONS)
			return error_set(err, ERROR_KIND_USAGE, -EINVAL,
					 known ? "'%s' has no option -%c (see 'ebeam help %s')"
					       : "'%s': unknown option -%c (see 'ebeam help %s')",
					 command->name, *p, command->name);
		if (option_rows[id].arg) {
			value = p[1] ? p + 1 : NULL;
			if (!value && ++w->at >= w->argc)
				return error_set(err, ERROR_KIND_USAGE, -EINVAL,
						 "option -%c needs %s", *p, option_rows[id].arg);
			if (!value)
				value = w->argv[w->at];
		}
		rc = apply(opt, id, value, err);
		if (rc || value)
			return rc;
	}
	return 0;
}

int options_parse(const struct command *command, int argc, char **argv, struct options *opt,
		  char **args, int *nr_args, struct error *err)
{
	struct words w = {.argc = argc, .argv = argv};

	options_defaults(opt);
	*nr_args = 0;
	for (; w.at < argc; w.at++) {
		char *word = argv[w.at];
		int rc = 0;

		if (strcmp(word, "--") == 0) {
			for (w.at++; w.at < argc; w.at++)
				args[(*nr_args)++] = argv[w.at];
			break;
		}
		if (strncmp(word, "--", 2) == 0)
			rc = parse_long(command, &w, opt, err);
		else if (word[0] == '-' && word[1])
			rc = parse_cluster(command, &w, opt, err);
		else
			args[(*nr_args)++] = word;
		if (rc)
			return rc;
	}
	return 0;
}

int options_check_args(const struct command *command, int nr_args, char **args, struct error *err)
{
	if (nr_args < command->min_args)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' needs %s (see 'ebeam help %s')", command->name,
				 command->args, command->name);
	if (nr_args > command->max_args)
		return error_set(err, ERROR_KIND_USAGE, -EINVAL,
				 "'%s' does not know what to do with '%s' (see 'ebeam help %s')",
				 command->name, args[command->max_args], command->name);
	return 0;
}
