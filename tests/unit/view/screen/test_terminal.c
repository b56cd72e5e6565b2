/* SPDX-License-Identifier: BSD-2-Clause */
/* The terminal, on a pseudo-terminal whose other end is the test: what is sent, keys as they are
 * typed, sizes, a terminal that takes nothing, that is gone, that is put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "lib/screenfix.h"
#include "lib/zoo.h"
#include "view/screen/terminal.h"

struct fixture {
	int master, slave;
	struct termios before;
	struct terminal *t;
	struct strbuf seen; /* what the terminal was sent */
};

/* Takes what was sent by now; the amount. */
static size_t take(struct fixture *f)
{
	char buf[4096];
	size_t sum = 0;
	struct pollfd p = {.fd = f->master, .events = POLLIN};

	/* The kernel carries it over in a worker of its own. */
	while (poll(&p, 1, 50) > 0 && (p.revents & POLLIN)) {
		ssize_t n = read(f->master, buf, sizeof(buf));

		if (n <= 0)
			break;
		strbuf_add(&f->seen, buf, (size_t)n);
		sum += (size_t)n;
	}
	return sum;
}

static void start_pty(struct fixture *f, unsigned rows, unsigned columns)
{
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	terminal_restore(); /* of a test that failed */
	*f = (struct fixture){.seen = STRBUF_INIT};
	assert_int_equal(openpty(&f->master, &f->slave, NULL, NULL, &size), 0);
	assert_int_equal(fcntl(f->master, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(tcgetattr(f->slave, &f->before), 0);
}

static void start(struct fixture *f, const char *type, bool color)
{
	struct terminal_options o = {.type = type, .color = color, .mouse = true};
	struct error err = {0};

	start_pty(f, 24, 80);
	o.fd = f->slave;
	if (terminal_open(&f->t, &o, &err) != 0)
		fail_msg("%s", err.msg);
}

/* Modes of the terminal are those of the start. */
static void expect_restored(const struct fixture *f)
{
	struct termios now;

	assert_int_equal(tcgetattr(f->slave, &now), 0);
	assert_int_equal(now.c_lflag, f->before.c_lflag);
	assert_int_equal(now.c_iflag, f->before.c_iflag);
	assert_int_equal(now.c_oflag, f->before.c_oflag);
}

static void end(struct fixture *f)
{
	terminal_close(f->t);
	if (f->master >= 0) {
		expect_restored(f);
		close(f->master);
	}
	close(f->slave);
	strbuf_free(&f->seen);
}

static void expect_sent(const struct fixture *f, const char *text, bool sent)
{
	bool found = memmem(f->seen.buf, f->seen.len, text, strlen(text)) != NULL;

	if (found != sent)
		fail_msg("%s was %ssent", text, sent ? "not " : "");
}

static void type(struct fixture *f, const char *keys, size_t len)
{
	struct pollfd p = {.fd = terminal_fd(f->t), .events = POLLIN};

	assert_int_equal(write(f->master, keys, len), len);
	assert_int_equal(poll(&p, 1, 10000), 1);
}

/* ---- showing ------------------------------------------------------------------------------ */

static void test_show(void **state)
{
	struct screen *s = zoo_screen(24, 80);
	struct fixture f;
	size_t whole;
	unsigned rows, columns;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	terminal_size(f.t, &rows, &columns);
	assert_int_equal(rows, 24);
	assert_int_equal(columns, 80);
	assert_true(terminal_utf8(f.t));
	assert_true(terminal_color(f.t));
	assert_true(terminal_show(f.t, s));
	whole = take(&f);
	assert_in_range(whole, 500, 20000);
	expect_sent(&f, "REDUCTIONS", true);
	expect_sent(&f, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", true);
	expect_sent(&f, "e\xcc\x81", true);
	expect_sent(&f, "38;5;179", true);
	expect_sent(&f, "?[31mred", true);
	expect_sent(&f, "\033[31mred", false);
	expect_sent(&f, "\033[?1049h", true);
	/* The same again: nothing.  A character of it: little.  Anew: all. */
	assert_true(terminal_show(f.t, s));
	assert_int_equal(take(&f), 0);
	screen_text(s, 20, 40, 1, SCREEN_PLAIN, "x", 1);
	assert_true(terminal_show(f.t, s));
	assert_in_range(take(&f), 1, 40);
	terminal_redraw(f.t);
	assert_true(terminal_show(f.t, s));
	assert_in_range(take(&f), whole / 2, whole * 2);
	terminal_close(f.t);
	f.t = NULL;
	take(&f);
	expect_sent(&f, "\033[?1049l", true);
	expect_sent(&f, "\033[?1006;1000l", true);
	expect_sent(&f, "\033[?1006h", true);
	expect_sent(&f, "\033[?1006l", true);
	end(&f);
	screen_close(s);
}

static void test_without_color(void **state)
{
	static const char *const types[] = {"xterm-256color", "vt100", "linux", "xterm"};
	struct screen *s = zoo_screen(24, 80);

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct fixture f;

		start(&f, types[i], i >= 2);
		assert_int_equal(terminal_color(f.t), i >= 2);
		assert_true(terminal_show(f.t, s));
		take(&f);
		expect_sent(&f, "REDUCTIONS", true);
		expect_sent(&f, "38;5;", false);
		expect_sent(&f, "\033[33m", i >= 2);
		expect_sent(&f, ";7m", i < 2);
		end(&f);
	}
	screen_close(s);
}

static void test_sizes_that_differ(void **state)
{
	struct fixture f;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	for (unsigned n = 1; n < 200; n += 33) {
		struct screen *s = zoo_screen(n, 2 * n);

		assert_true(terminal_show(f.t, s));
		take(&f);
		screen_close(s);
	}
	end(&f);
}

/* What curses and the screen do not agree on is not sent. */
static void test_disagreement(void **state)
{
	static const char hexagram[] =
		"<\xe4\xb7\x80>"; /* U+4DC0: two columns in glibc, one here */
	struct screen *s;
	struct fixture f;

	UNUSED(state);
	screen_open(&s, 24, 80);
	screen_text(s, 0, 0, 80, SCREEN_PLAIN, hexagram, sizeof(hexagram) - 1);
	start(&f, "xterm-256color", true);
	assert_true(terminal_show(f.t, s));
	take(&f);
	if (screen_at(s, 0, 1)->width != wcwidth(0x4dc0)) {
		expect_sent(&f, "<?>", true);
		expect_sent(&f, hexagram, false);
	} else {
		expect_sent(&f, hexagram, true);
	}
	end(&f);
	screen_close(s);
}

/* ---- keys --------------------------------------------------------------------------------- */

static void expect_key(struct fixture *f, enum terminal_key_kind kind, uint32_t c)
{
	struct terminal_key key;

	if (!terminal_key(f->t, &key))
		fail_msg("no key, where %d %#x was typed", kind, c);
	if (key.kind != kind || key.c != c)
		fail_msg("key %d %#x, where %d %#x was typed", key.kind, key.c, kind, c);
}

static void test_keys(void **state)
{
#define KEY(text, kind, c)                                                                         \
	{                                                                                          \
		text, sizeof(text) - 1, kind, c                                                    \
	}
	static const struct {
		const char *typed;
		size_t len;
		enum terminal_key_kind kind;
		uint32_t c;
	} keys[] = {
		KEY("a", TERMINAL_KEY_CHAR, 'a'),
		KEY("/", TERMINAL_KEY_CHAR, '/'),
		KEY("\xce\xbb", TERMINAL_KEY_CHAR, 0x3bb),
		KEY("\xe6\x97\xa5", TERMINAL_KEY_CHAR, 0x65e5),
		KEY("\x0c", TERMINAL_KEY_CHAR, 12),
		KEY("\033OA", TERMINAL_KEY_UP, 0),
		KEY("\033OB", TERMINAL_KEY_DOWN, 0),
		KEY("\033OC", TERMINAL_KEY_RIGHT, 0),
		KEY("\033OD", TERMINAL_KEY_LEFT, 0),
		KEY("\033OH", TERMINAL_KEY_HOME, 0),
		KEY("\033OF", TERMINAL_KEY_END, 0),
		KEY("\033[5~", TERMINAL_KEY_PAGE_UP, 0),
		KEY("\033[6~", TERMINAL_KEY_PAGE_DOWN, 0),
		KEY("\r", TERMINAL_KEY_ENTER, 0),
		KEY("\n", TERMINAL_KEY_ENTER, 0),
		KEY("\t", TERMINAL_KEY_TAB, 0),
		KEY("\033[Z", TERMINAL_KEY_BACKTAB, 0),
		KEY("\x7f", TERMINAL_KEY_BACKSPACE, 0),
		KEY("\b", TERMINAL_KEY_BACKSPACE, 0),
		KEY("\033[2~", TERMINAL_KEY_INSERT, 0),
		KEY("\033[3~", TERMINAL_KEY_DELETE, 0),
		KEY("\033OP", TERMINAL_KEY_FUNCTION, 1),
		KEY("\033[15~", TERMINAL_KEY_FUNCTION, 5),
		KEY("\033[24~", TERMINAL_KEY_FUNCTION, 12),
		KEY("\033", TERMINAL_KEY_ESCAPE, 0),
	};
	struct terminal_key key;
	struct strbuf all = STRBUF_INIT;
	struct fixture f;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	assert_false(terminal_key(f.t, &key));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		type(&f, keys[i].typed, keys[i].len);
		expect_key(&f, keys[i].kind, keys[i].c);
		assert_false(terminal_key(f.t, &key));
		strbuf_add(&all, keys[i].typed, keys[i].len);
	}
	/* All at once, the Escape last. */
	type(&f, all.buf, all.len);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		assert_true(terminal_key(f.t, &key));
		assert_int_equal(key.kind, keys[i].kind);
	}
	assert_false(terminal_key(f.t, &key));
	strbuf_free(&all);
	end(&f);
}

/* A sequence that nobody knows is no Escape and no letters; Alt and a letter are both. */
static void test_unknown_keys(void **state)
{
	struct terminal_key key;
	struct fixture f;

	UNUSED(state);
	start(&f, "vt100", true);
	type(&f, "\033[99;77~q", 9);
	expect_key(&f, TERMINAL_KEY_CHAR, 'q');
	type(&f, "\033[200~", 6);
	assert_false(terminal_key(f.t, &key));
	type(&f, "\033[1~\033[21~\033[C\033[8~", 16); /* not of a vt100, but known */
	expect_key(&f, TERMINAL_KEY_HOME, 0);
	expect_key(&f, TERMINAL_KEY_FUNCTION, 10);
	expect_key(&f, TERMINAL_KEY_RIGHT, 0);
	expect_key(&f, TERMINAL_KEY_END, 0);
	type(&f, "\033x", 2);
	assert_true(terminal_key(f.t, &key));
	assert_int_equal(key.kind, TERMINAL_KEY_ESCAPE);
	expect_key(&f, TERMINAL_KEY_CHAR, 'x');
	assert_false(terminal_key(f.t, &key));
	end(&f);
}

static void try_mouse(const char *terminal_type)
{
	static const struct {
		const char *typed;
		unsigned row, column, button;
		int wheel;
	} events[] = {
		{"\033[<0;1;1M", 0, 0, 1, 0},
		{"\033[<0;1;1m\033[<0;301;24M", 23, 300, 1, 0},
		{"\033[<0;301;24m\033[<2;5;7M", 6, 4, 3, 0},
		{"\033[<64;10;20M", 19, 9, 0, -1},
		{"\033[<65;10;20M", 19, 9, 0, 1},
	};
	struct winsize size = {.ws_row = 24, .ws_col = 400};
	struct terminal_key key;
	struct fixture f;

	start(&f, terminal_type, true);
	assert_int_equal(ioctl(f.master, TIOCSWINSZ, &size), 0);
	assert_true(terminal_key(f.t, &key)); /* of another size */
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		type(&f, events[i].typed, strlen(events[i].typed));
		if (!terminal_key(f.t, &key))
			fail_msg("no key from %s", events[i].typed + 1);
		assert_int_equal(key.kind, TERMINAL_KEY_MOUSE);
		assert_int_equal(key.row, events[i].row);
		assert_int_equal(key.column, events[i].column);
		assert_int_equal(key.button, events[i].button);
		assert_int_equal(key.wheel, events[i].wheel);
	}
	type(&f, "\033[<0;1;1mz", 10); /* let go: nothing */
	expect_key(&f, TERMINAL_KEY_CHAR, 'z');
	end(&f);
}

static void test_mouse(void **state)
{
	struct terminal_key key;
	struct fixture f;

	UNUSED(state);
	try_mouse("xterm-256color");
	try_mouse("screen-256color");
	start(&f, "screen-256color", true);
	/* Wrong ones are nothing. */
	type(&f, "\033[<0;0;1M\033[<;1M\033[<99999999999;1;1M\033[<35;1;1Mz", 45);
	expect_key(&f, TERMINAL_KEY_CHAR, 'z');
	/* As older terminals tell it. */
	type(&f, "\033[M !!", 6);
	assert_true(terminal_key(f.t, &key));
	assert_int_equal(key.kind, TERMINAL_KEY_MOUSE);
	assert_int_equal(key.button, 1);
	assert_int_equal(key.row + key.column, 0);
	end(&f);
}

/* ---- what may happen to a terminal -------------------------------------------------------- */

static void test_resize(void **state)
{
	struct fixture f;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	for (unsigned i = 0; i < 60; i++) {
		struct winsize size = {.ws_row = (unsigned short)(1 + i * 7 % 50),
				       .ws_col = (unsigned short)(1 + i * 37 % 1000)};
		struct terminal_key key;
		struct screen *s;
		unsigned rows, columns;

		assert_int_equal(ioctl(f.master, TIOCSWINSZ, &size), 0);
		assert_true(terminal_key(f.t, &key));
		assert_int_equal(key.kind, TERMINAL_KEY_RESIZE);
		assert_false(terminal_key(f.t, &key));
		terminal_size(f.t, &rows, &columns);
		assert_int_equal(rows, size.ws_row);
		assert_int_equal(columns, size.ws_col);
		s = zoo_screen(rows, columns);
		if (i % 3)
			terminal_show(f.t, s);
		if (i % 4 == 0)
			take(&f);
		screen_close(s);
	}
	end(&f);
}

/* Nobody reads: nothing blocks, frames are left out; once somebody does, all is as it should. */
static void test_stuck(void **state)
{
	struct screen *s = zoo_screen(24, 80);
	struct fixture f;
	int shown = 0;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	for (int i = 0; i < 200 && !terminal_pending(f.t); i++) {
		screen_textf(s, 22, 0, 20, SCREEN_PLAIN, "frame %d.", i);
		terminal_redraw(f.t);
		shown = i;
		assert_true(terminal_show(f.t, s));
	}
	assert_true(terminal_pending(f.t));
	screen_textf(s, 22, 0, 20, SCREEN_PLAIN, "left out");
	assert_false(terminal_show(f.t, s));
	for (int i = 0; i < 1000 && terminal_pending(f.t); i++) {
		take(&f);
		terminal_flush(f.t);
	}
	assert_false(terminal_pending(f.t));
	take(&f);
	expect_sent(&f, "left out", false);
	assert_in_range(shown, 0, 199);
	screen_textf(s, 22, 0, 20, SCREEN_PLAIN, "the last");
	assert_true(terminal_show(f.t, s));
	take(&f);
	expect_sent(&f, "the last", true);
	/* It ends while nobody reads. */
	for (int i = 0; i < 200 && !terminal_pending(f.t); i++) {
		terminal_redraw(f.t);
		terminal_show(f.t, s);
	}
	end(&f);
	screen_close(s);
}

static void test_gone(void **state)
{
	struct screen *s = zoo_screen(24, 80);
	struct terminal_key key;
	struct fixture f;

	UNUSED(state);
	start(&f, "xterm-256color", true);
	assert_true(terminal_show(f.t, s));
	close(f.master);
	f.master = -1;
	assert_true(terminal_key(f.t, &key));
	assert_int_equal(key.kind, TERMINAL_KEY_GONE);
	terminal_redraw(f.t);
	assert_false(terminal_show(f.t, s));
	assert_false(terminal_pending(f.t));
	assert_false(terminal_key(f.t, &key)); /* "while there are keys" ends */
	assert_true(terminal_key(f.t, &key));
	assert_int_equal(key.kind, TERMINAL_KEY_GONE);
	end(&f);

	/* Found out by showing. */
	start(&f, "xterm-256color", true);
	close(f.master);
	f.master = -1;
	terminal_show(f.t, s);
	assert_false(terminal_show(f.t, s));
	end(&f);
	screen_close(s);
}

/* The process stops, with the terminal as it was, and goes on. */
static void test_suspend(void **state)
{
	struct screen *s = zoo_screen(24, 80);
	struct terminal_key key;
	struct fixture f;
	pid_t child;
	int status;

	UNUSED(state);
	start_pty(&f, 24, 80);
	child = fork();
	if (child == 0) {
		struct terminal_options o = {.fd = f.slave, .type = "xterm-256color"};
		struct terminal *t;
		struct error err;

		setpgid(0, 0); /* a job, as of a shell: others cannot be stopped */
		if (terminal_open(&t, &o, &err) != 0 || !terminal_show(t, s))
			_exit(1);
		terminal_suspend(t);
		if (!terminal_show(t, s))
			_exit(2);
		for (int i = 0; i < 100 && !terminal_key(t, &key); i++) {
			struct pollfd p = {.fd = terminal_fd(t), .events = POLLIN};

			poll(&p, 1, 100);
		}
		terminal_close(t);
		_exit(key.kind == TERMINAL_KEY_CHAR && key.c == 'k' ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	take(&f);
	expect_sent(&f, "REDUCTIONS", true);
	expect_sent(&f, "\033[?1049l", true);
	expect_restored(&f);
	strbuf_reset(&f.seen);
	kill(child, SIGCONT);
	while (!memmem(f.seen.buf, f.seen.len, "REDUCTIONS", 10))
		take(&f);
	expect_sent(&f, "\033[?1049h", true);
	assert_int_equal(write(f.master, "k", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	end(&f);
	screen_close(s);
}

/* exit(3), and terminal_restore() as a signal handler calls it. */
static void test_restored(void **state)
{
	struct screen *s = zoo_screen(24, 80);

	UNUSED(state);
	for (int how = 0; how < 2; how++) {
		struct fixture f;
		pid_t child;
		int status;

		start_pty(&f, 24, 80);
		child = fork();
		if (child == 0) {
			struct terminal_options o = {.fd = f.slave, .type = "xterm-256color"};
			struct terminal *t;
			struct error err;

			if (terminal_open(&t, &o, &err) != 0 || !terminal_show(t, s))
				_exit(1);
			/* Not with a sanitizer's own work at exit. */
			if (how == 1) {
				terminal_restore();
				_exit(0);
			}
			screen_close(s);
			exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFEXITED(status));
		take(&f);
		expect_sent(&f, "\033[?1049l", true);
		end(&f);
	}
	screen_close(s);
}

static void test_errors(void **state)
{
	static const struct {
		const char *type, *text;
	} wrong[] = {{"dumb", "cannot place the cursor"},
		     {"no-such-terminal", "not known"},
		     {"", "TERM is not set"}};
	struct terminal *t;
	struct fixture f;
	struct error err;
	int fd = open("/dev/null", O_RDWR);

	UNUSED(state);
	start_pty(&f, 24, 80);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct terminal_options o = {.fd = f.slave, .type = wrong[i].type};

		err = (struct error){0};
		assert_true(terminal_open(&t, &o, &err) < 0);
		assert_null(t);
		assert_non_null(strstr(err.msg, wrong[i].text));
		assert_int_equal(err.kind, ERROR_KIND_FAILED);
		expect_restored(&f);
	}
	assert_true(terminal_open(&t, &(struct terminal_options){.fd = fd, .type = "xterm"}, &err) <
		    0);
	assert_string_equal(err.msg, "not a terminal");
	assert_int_equal(take(&f), 0);
	close(fd);
	end(&f);
	/* A stand-in, and a second terminal at the same time. */
	start(&f, "xterm-kitty-of-tomorrow", true);
	assert_true(terminal_open(&t, &(struct terminal_options){.fd = f.slave, .type = "xterm"},
				  &err) < 0);
	end(&f);
	terminal_close(NULL);
	terminal_restore(); /* nothing */
}

static void test_not_utf8(void **state)
{
	struct screen *s = zoo_screen(24, 80);
	struct fixture f;

	UNUSED(state);
	setenv("LC_ALL", "C", 1);
	start(&f, "xterm-256color", true);
	assert_false(terminal_utf8(f.t));
	screen_set_utf8(s, false);
	zoo_draw(s);
	assert_true(terminal_show(f.t, s));
	take(&f);
	expect_sent(&f, "REDUCTIONS", true);
	for (size_t i = 0; i < f.seen.len; i++)
		assert_true((unsigned char)f.seen.buf[i] < 0x80);
	end(&f);
	setenv("LC_ALL", "C.UTF-8", 1);
	screen_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_without_color),
		cmocka_unit_test(test_sizes_that_differ),
		cmocka_unit_test(test_disagreement),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_unknown_keys),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_suspend),
		cmocka_unit_test(test_restored),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_not_utf8),
	};

	setenv("LC_ALL", "C.UTF-8", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
