/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates keys and mouse events of curses to those of terminal.h. */
#include "view/screen/terminal_keys.h"

#include <string.h>
#include <wchar.h>

#include "base/compiler.h"

#define SEQUENCE_MAX 32 /* bytes of an unknown escape sequence */

static bool decode_mouse(struct terminal_key *out)
{
	MEVENT e;

	if (getmouse(&e) != OK || e.y < 0 || e.x < 0)
		return false;
	*out = (struct terminal_key){
		.kind = TERMINAL_KEY_MOUSE, .row = (unsigned)e.y, .column = (unsigned)e.x};
	if (e.bstate & BUTTON4_PRESSED)
		out->wheel = -1;
	else if (e.bstate & BUTTON5_PRESSED)
		out->wheel = 1;
	else if (e.bstate & BUTTON1_PRESSED)
		out->button = 1;
	else if (e.bstate & BUTTON2_PRESSED)
		out->button = 2;
	else if (e.bstate & BUTTON3_PRESSED)
		out->button = 3;
	return out->wheel || out->button;
}

/* Translates a KEY_* code of curses; false: no struct terminal_key stands for that key. */
static bool decode_named(wint_t code, struct terminal_key *out)
{
	static const struct {
		wint_t code;
		enum terminal_key_kind kind;
	} names[] = {
		{KEY_UP, TERMINAL_KEY_UP},	   {KEY_DOWN, TERMINAL_KEY_DOWN},
		{KEY_LEFT, TERMINAL_KEY_LEFT},	   {KEY_RIGHT, TERMINAL_KEY_RIGHT},
		{KEY_HOME, TERMINAL_KEY_HOME},	   {KEY_FIND, TERMINAL_KEY_HOME},
		{KEY_END, TERMINAL_KEY_END},	   {KEY_SELECT, TERMINAL_KEY_END},
		{KEY_PPAGE, TERMINAL_KEY_PAGE_UP}, {KEY_NPAGE, TERMINAL_KEY_PAGE_DOWN},
		{KEY_ENTER, TERMINAL_KEY_ENTER},   {KEY_BTAB, TERMINAL_KEY_BACKTAB},
		{KEY_IC, TERMINAL_KEY_INSERT},	   {KEY_BACKSPACE, TERMINAL_KEY_BACKSPACE},
		{KEY_DC, TERMINAL_KEY_DELETE},
	};

	if (code == KEY_MOUSE)
		return decode_mouse(out);
	if (code > KEY_F0 && code <= KEY_F(12)) {
		*out = (struct terminal_key){.kind = TERMINAL_KEY_FUNCTION, .c = code - KEY_F0};
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].code == code) {
			*out = (struct terminal_key){.kind = names[i].kind};
			return true;
		}
	}
	return false;
}

/* Decodes a mouse report of xterm's mode 1006 without its begin "ESC [ <": "button;column;rowM", m
 * for a release.  False: it is not a press of a button or a turn of the wheel. */
static bool decode_report(const char *text, struct terminal_key *out)
{
	unsigned button, column, row;
	char end;

	if (sscanf(text, "%4u;%5u;%5u%c", &button, &column, &row, &end) != 4 || end != 'M' ||
	    !column || !row)
		return false;
	*out = (struct terminal_key){
		.kind = TERMINAL_KEY_MOUSE, .row = row - 1, .column = column - 1};
	button &= ~28u; /* without the bits of Shift, Alt, Control */
	if (button == 64 || button == 65)
		out->wheel = button == 64 ? -1 : 1;
	else if (button < 3)
		out->button = button + 1;
	return out->wheel || out->button;
}

/* Decodes the sequence of a key behind "ESC [" or "ESC O", for terminals that send other sequences
 * than the terminfo entry of their $TERM has: PuTTY's Home, arrows in the other keypad mode, rxvt's
 * End. */
static bool decode_known(const char *text, struct terminal_key *out)
{
	static const struct {
		const char *text;
		enum terminal_key_kind kind;
		uint32_t c;
	} known[] = {
		{"A", TERMINAL_KEY_UP, 0},	    {"B", TERMINAL_KEY_DOWN, 0},
		{"C", TERMINAL_KEY_RIGHT, 0},	    {"D", TERMINAL_KEY_LEFT, 0},
		{"H", TERMINAL_KEY_HOME, 0},	    {"F", TERMINAL_KEY_END, 0},
		{"M", TERMINAL_KEY_ENTER, 0},	    {"Z", TERMINAL_KEY_BACKTAB, 0},
		{"P", TERMINAL_KEY_FUNCTION, 1},    {"Q", TERMINAL_KEY_FUNCTION, 2},
		{"R", TERMINAL_KEY_FUNCTION, 3},    {"S", TERMINAL_KEY_FUNCTION, 4},
		{"1~", TERMINAL_KEY_HOME, 0},	    {"2~", TERMINAL_KEY_INSERT, 0},
		{"3~", TERMINAL_KEY_DELETE, 0},	    {"4~", TERMINAL_KEY_END, 0},
		{"5~", TERMINAL_KEY_PAGE_UP, 0},    {"6~", TERMINAL_KEY_PAGE_DOWN, 0},
		{"7~", TERMINAL_KEY_HOME, 0},	    {"8~", TERMINAL_KEY_END, 0},
		{"11~", TERMINAL_KEY_FUNCTION, 1},  {"12~", TERMINAL_KEY_FUNCTION, 2},
		{"13~", TERMINAL_KEY_FUNCTION, 3},  {"14~", TERMINAL_KEY_FUNCTION, 4},
		{"15~", TERMINAL_KEY_FUNCTION, 5},  {"17~", TERMINAL_KEY_FUNCTION, 6},
		{"18~", TERMINAL_KEY_FUNCTION, 7},  {"19~", TERMINAL_KEY_FUNCTION, 8},
		{"20~", TERMINAL_KEY_FUNCTION, 9},  {"21~", TERMINAL_KEY_FUNCTION, 10},
		{"23~", TERMINAL_KEY_FUNCTION, 11}, {"24~", TERMINAL_KEY_FUNCTION, 12},
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].text, text) == 0) {
			*out = (struct terminal_key){.kind = known[i].kind, .c = known[i].c};
			return true;
		}
	}
	return false;
}

/* What followed an Escape: no sequence, an unknown sequence, or that of a key. */
enum after_escape { AFTER_NOTHING, AFTER_UNKNOWN, AFTER_KEY };

/* Reads a sequence that curses does not know.  It is dropped, as its letters would be taken for
 * keys, unless it is a key or a mouse report that is missing in the terminfo entry. */
static enum after_escape read_sequence(WINDOW *input, struct terminal_key *out)
{
	char text[SEQUENCE_MAX + 1] = {0};
	wint_t c;

	if (wget_wch(input, &c) != OK)
		return AFTER_NOTHING;
	if (c != '[' && c != 'O') {
		unget_wch((wchar_t)c);
		return AFTER_NOTHING;
	}
	for (int i = 0; i < SEQUENCE_MAX; i++) {
		if (wget_wch(input, &c) != OK)
			break;
		text[i] = c < 0x7f ? (char)c : '?';
		if (c >= 0x40 && c < 0x7f)
			break;
	}
	if (text[0] == '<' ? decode_report(text + 1, out) : decode_known(text, out))
		return AFTER_KEY;
	return AFTER_UNKNOWN;
}

static bool decode_char(WINDOW *input, wint_t c, struct terminal_key *out)
{
	enum after_escape after;

	*out = (struct terminal_key){.kind = TERMINAL_KEY_CHAR, .c = c};
	switch (c) {
	case '\r':
	case '\n':
		out->kind = TERMINAL_KEY_ENTER;
		break;
	case '\t':
		out->kind = TERMINAL_KEY_TAB;
		break;
	case '\b':
	case 0x7f:
		out->kind = TERMINAL_KEY_BACKSPACE;
		break;
	case 033:
		out->kind = TERMINAL_KEY_ESCAPE;
		after = read_sequence(input, out);
		if (after != AFTER_NOTHING)
			return after == AFTER_KEY;
		break;
	default:
		return true;
	}
	out->c = 0;
	return true;
}

bool terminal_read_key(WINDOW *input, struct terminal_key *out)
{
	for (;;) {
		wint_t c = 0;
		int rc = wget_wch(input, &c);

		if (rc == ERR)
			return false;
		if (rc == KEY_CODE_YES ? decode_named(c, out) : decode_char(input, c, out))
			return true;
	}
}
