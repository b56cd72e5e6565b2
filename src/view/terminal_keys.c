/* SPDX-License-Identifier: BSD-2-Clause */
/* What curses says of keys and mouse, as terminal.h has it. */
#include "view/terminal_keys.h"

#include <wchar.h>

#include "base/compiler.h"

#define SEQUENCE_MAX 32 /* bytes of an escape sequence that nobody knows */

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

/* Keys that curses has a name for; false: one that nobody asked for. */
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

/* After an Escape: true if a sequence followed that curses does not know; it is swallowed, as its
 * letters would be taken for commands. */
static bool swallow_sequence(WINDOW *input)
{
	wint_t c;

	if (wget_wch(input, &c) != OK)
		return false;
	if (c != '[' && c != 'O') {
		unget_wch((wchar_t)c);
		return false;
	}
	for (int i = 0; i < SEQUENCE_MAX; i++)
		if (wget_wch(input, &c) != OK || (c >= 0x40 && c < 0x7f))
			break;
	return true;
}

static bool decode_char(WINDOW *input, wint_t c, struct terminal_key *out)
{
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
		if (swallow_sequence(input))
			return false;
		out->kind = TERMINAL_KEY_ESCAPE;
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
