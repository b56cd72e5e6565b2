/* SPDX-License-Identifier: BSD-2-Clause */
/* The HTML page: its data taken out again, and names that try to break out of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "lib/exportfix.h"

/* ---- HTML ------------------------------------------------------------------------------ */

static uint8_t base64_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(digits, c);

	assert_true(c && at);
	return (uint8_t)(at - digits);
}

/* The object that a page carries. */
static json_t *page_data(const struct output *o)
{
	static const char mark[] = "id=\"data\">";
	char *start = strstr(o->bytes, mark), *end;
	size_t size = 0;
	uLongf room = 1 << 20;
	struct output text;
	uint8_t *packed;
	json_t *data;

	assert_non_null(start);
	start += strlen(mark);
	end = strchr(start, '<');
	assert_memory_equal(end, "</script>", 9);
	assert_int_equal((end - start) % 4, 0);
	packed = xmalloc((size_t)(end - start));
	for (char *p = start; p < end; p += 4) {
		uint32_t word = (uint32_t)base64_value(p[0]) << 18 | base64_value(p[1]) << 12;

		packed[size++] = (uint8_t)(word >> 16);
		if (p[2] == '=')
			continue;
		word |= (uint32_t)base64_value(p[2]) << 6;
		packed[size++] = (uint8_t)(word >> 8);
		if (p[3] != '=')
			packed[size++] = (uint8_t)(word | base64_value(p[3]));
	}
	text.bytes = xmalloc(room);
	assert_int_equal(uncompress((Bytef *)text.bytes, &room, packed, size), Z_OK);
	text.size = room;
	data = exportfix_parse(&text);
	free(text.bytes);
	free(packed);
	return data;
}

static int64_t number_at(const json_t *part, const char *column, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(part, column), i));
}

static const char *text_at(const json_t *data, const json_t *part, const char *column, size_t i)
{
	return json_string_value(json_array_get(json_object_get(data, "strings"),
						(size_t)number_at(part, column, i)));
}

/* Parent of every node, as the page works it out. */
static size_t *node_parents(const json_t *nodes, size_t nr)
{
	size_t *parents = xcalloc(nr + 1, sizeof(*parents));

	for (size_t i = 1; i <= nr; i++) {
		parents[i] = i - 1;
		for (int64_t up = number_at(nodes, "up", i - 1); up > 0; up--)
			parents[i] = parents[parents[i]];
	}
	return parents;
}

/* The frames of a node as folded text, root first. */
static void add_path(struct strbuf *sb, const json_t *data, const size_t *parents, size_t node)
{
	const json_t *nodes = json_object_get(data, "nodes");
	const char *name;

	if (!node)
		return;
	add_path(sb, data, parents, parents[node]);
	name = text_at(data, json_object_get(data, "frames"), "name",
		       (size_t)number_at(nodes, "frame", node - 1));
	assert_non_null(name);
	strbuf_addf(sb, "%s%s", sb->len ? ";" : "", name);
}

/* Is there a stack with these frames and this count? */
static bool has_stack(const struct snapshot *s, uint32_t head, const char *frames, uint64_t count)
{
	bool found = false;

	for (uint32_t i = 0; i < s->nr_stacks && !found; i++) {
		struct strbuf sb = STRBUF_INIT;

		for (uint32_t j = head; j < s->stacks[i].nr_frames; j++)
			strbuf_addf(&sb, "%s%s", sb.len ? ";" : "",
				    s->frames[s->stack_frames[s->stacks[i].first_frame + j]].name);
		found = s->stacks[i].count == count && strcmp(sb.buf, frames) == 0;
		strbuf_free(&sb);
	}
	return found;
}

static void test_html(void **state)
{
	struct snapfix *f = exportfix_profile(false, SNAPSHOT_BY_NAME);
	const struct snapshot *s = snapfix_snapshot(f);
	struct output o = exportfix_write("html", s);
	json_t *data = page_data(&o), *rows = json_object_get(data, "rows");
	size_t nr_nodes = json_array_size(json_object_get(json_object_get(data, "nodes"), "frame"));
	size_t *parents = node_parents(json_object_get(data, "nodes"), nr_nodes);
	int64_t node = 0;

	(void)state;
	assert_int_equal(exportfix_sum(json_object_get(rows, "count"), NULL), s->samples);
	assert_int_equal(json_array_size(json_object_get(rows, "node")), s->nr_stacks);
	for (size_t i = 0; i < s->nr_stacks; i++) {
		struct strbuf sb = STRBUF_INIT;

		node += number_at(rows, "node", i);
		assert_true(node >= 0 && (size_t)node <= nr_nodes);
		add_path(&sb, data, parents, (size_t)node);
		assert_true(has_stack(s, 1, sb.buf, (uint64_t)number_at(rows, "count", i)));
		assert_non_null(text_at(data, rows, "group", i));
		strbuf_free(&sb);
	}
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(data, "processes"), "pid")),
		s->nr_processes);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(data, "meta"), "lost")),
			 2);
	free(parents);
	json_decref(data);
	free(o.bytes);
	snapfix_close(f);
}

static size_t count_text(const char *in, const char *what)
{
	size_t n = 0;

	for (const char *p = strstr(in, what); p; p = strstr(p + 1, what))
		n++;
	return n;
}

/* The page's own marks and elements, and no others. */
static void test_html_cannot_be_broken(void **state)
{
	struct snapfix *f = snapfix_open(NULL);
	struct output o;
	json_t *data;

	(void)state;
	snapfix_meta(f, "node", "</title><script>1</script>{{DATA}}");
	snapfix_thread(f, THREAD_NORMAL, 1, 1, "</script>");
	snapfix_text(f, "</script><script>1</script>;{{STYLE}};</noscript><img>", SNAPSHOT_NONE, 0,
		     SAMPLE_ERLANG, 1);
	o = exportfix_write("html", snapfix_snapshot(f));
	assert_int_equal(count_text(o.bytes, "</script"), 2);
	assert_int_equal(count_text(o.bytes, "<script"), 2);
	assert_int_equal(count_text(o.bytes, "</noscript"), 1);
	assert_int_equal(count_text(o.bytes, "</title>"), 1);
	assert_int_equal(count_text(o.bytes, "</style"), 1);
	assert_int_equal(count_text(o.bytes, "<img"), 0);
	assert_int_equal(count_text(o.bytes, "http:"), 0);
	assert_int_equal(count_text(o.bytes, "https:"), 0);
	data = page_data(&o);
	assert_string_equal(text_at(data, json_object_get(data, "frames"), "name", 0),
			    "</script><script>1</script>");
	json_decref(data);
	free(o.bytes);
	snapfix_close(f);
}

static void test_html_diff(void **state)
{
	struct snapfix *a = exportfix_profile(false, SNAPSHOT_BY_NAME), *b = exportfix_after();
	struct output o;
	struct diff *d;
	json_t *data, *rows;

	(void)state;
	assert_int_equal(diff_open(&d, snapfix_snapshot(a), snapfix_snapshot(b), NULL), 0);
	o = exportfix_write_diff("html", d);
	data = page_data(&o);
	rows = json_object_get(data, "rows");
	assert_int_equal(exportfix_sum(json_object_get(rows, "count"), NULL), 21);
	assert_int_equal(exportfix_sum(json_object_get(rows, "countB"), NULL), 20);
	assert_string_equal(exportfix_string(data, "mode"), "diff");
	json_decref(data);
	free(o.bytes);
	diff_close(d);
	snapfix_close(a);
	snapfix_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_html),
		cmocka_unit_test(test_html_cannot_be_broken),
		cmocka_unit_test(test_html_diff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
