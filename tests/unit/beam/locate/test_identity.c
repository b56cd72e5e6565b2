/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who an executable is.  This test program is its own specimen: it defines what makes an emulator
 * (enif_priv_data, the format string of system_version, config.h as text), so that reading an
 * identity from a file is tested without OTP.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "beam/locate/identity.h"

#define VERSION_29                                                                                 \
	"Erlang/OTP 29%s [erts-17.1.1] [source] [64-bit] [smp:%beu:%beu] [ds:%beu:%beu:%beu] "     \
	"[async-threads:%d] [jit:ns%s]"

/* The specimen: like OTP 29, with symbols of the OTP 25 kind for what those override. */
void *enif_priv_data(void *env);
extern char specimen_version[];
extern const char specimen_config[], etp_otp_release[], etp_erts_version[];
extern const int etp_beamasm, etp_lock_count, etp_debug_compiled;

void *enif_priv_data(void *env)
{
	return env;
}

char specimen_version[] = VERSION_29 "\n";
const char specimen_config[] = "/* config.h */\n#define USE_VM_PROBES 1\n#define "
			       "NATIVE_ERLANG_STACK /**/\n/* #undef USE_LTTNG */\n";
const char etp_otp_release[] = "25";
const char etp_erts_version[] = "13.1.5";
const int etp_beamasm = 1;
const int etp_lock_count = 1;
const int etp_debug_compiled = 0;

static bool parse(struct beam_identity *id, const char *text)
{
	memset(id, 0, sizeof(*id));
	return identity_parse_version(id, text, strlen(text));
}

static void test_parse(void **state)
{
	struct beam_identity id;

	(void)state;
	assert_true(parse(&id, VERSION_29));
	assert_int_equal(id.otp, 29);
	assert_string_equal(id.otp_text, "29");
	assert_string_equal(id.erts, "17.1.1");
	assert_true(id.jit && id.native_stack && !id.debug && !id.lock_counting);

	/* musl: no native stack */
	assert_true(parse(&id, "Erlang/OTP 25%s [erts-13.2] [64-bit] [jit%s]"));
	assert_true(id.jit && !id.native_stack);
	/* interpreter */
	assert_true(parse(&id, "Erlang/OTP 27%s [erts-15.0] [source-abc] [64-bit]"));
	assert_true(!id.jit && !id.native_stack);
	assert_true(parse(&id, "Erlang/OTP 25%s [erts-13.0] [jit:ns%s] [lock-counting]"));
	assert_true(id.lock_counting && !id.debug);
	assert_true(parse(&id, "Erlang/OTP 25%s [erts-13.0] [jit:ns%s] [debug-compiled]"));
	assert_true(id.debug);
}

static void test_parse_refuses(void **state)
{
	static const char *const others[] = {
		"",
		"Erlang/OTP ",
		"Erlang/OTP %s [erts-1.0]",
		"Erlang/OTP 25 [erts-13.1.5] [jit:ns]", /* what Erlang shows: not in the file */
		"Erlang/OTP 25%s",
		"Erlang/OTP 25%s [erts-",
		"Erlang/OTP 25%s [erts-]",
		"Erlang/OTP 3%s [erts-1.0]",
		"Erlang/OTP 2500%s [erts-1.0]",
		"Erlang/OTP 2x%s [erts-1.0]",
		"Erlang/OTP -25%s [erts-1.0]",
		"erlang/otp 25%s [erts-1.0]",
	};
	struct beam_identity id, zero = {0};
	char *longest;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_false(parse(&id, others[i]));
		assert_memory_equal(&id, &zero, sizeof(id)); /* untouched */
	}
	longest = xmalloc(4096);
	memset(longest, '1', 4096);
	memcpy(longest, "Erlang/OTP ", 11);
	memcpy(longest + 4000, "% [erts-1]", 10);
	assert_false(identity_parse_version(&id, longest, 4096));
	free(longest);
}

/* A text that is cut is no version until its erts version is whole; nothing behind it is read. */
static void test_parse_truncated(void **state)
{
	static const char text[] = VERSION_29;
	size_t whole = (size_t)(strstr(text, "17.1.1]") - text) + strlen("17.1.1]");

	(void)state;
	for (size_t len = 0; len <= strlen(text); len++) {
		struct beam_identity id = {0};
		char *copy = xmalloc(len + 1); /* so that the sanitizer sees a read behind len */
		bool found;

		copy = xrealloc(copy, len ? len : 1);
		memcpy(copy, text, len);
		found = identity_parse_version(&id, copy, len);
		assert_int_equal(found, len >= whole);
		free(copy);
	}
}

static void test_config(void **state)
{
	static const char config[] =
		"#define FIRST 1\n#define A_B 1\n#define C /**/\n/* #undef D */\n";
	size_t len = strlen(config);

	(void)state;
	assert_true(identity_config_defines(config, len, "A_B"));
	assert_true(identity_config_defines(config, len, "C"));
	assert_false(identity_config_defines(config, len, "A"));
	assert_false(identity_config_defines(config, len, "D"));
	assert_false(identity_config_defines(config, 0, "A_B"));
	assert_false(identity_config_defines(NULL, 0, "A_B"));
}

static struct elf_file *open_elf(const char *path)
{
	struct elf_file *e = NULL;
	struct error err = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (elf_file_open(&e, fd, path, &err) != 0)
		fail_msg("%s", err.msg);
	return e;
}

/* Exported constants win over the format string; the rest comes from the strings. */
static void test_read_self(void **state)
{
	struct elf_file *e = open_elf("/proc/self/exe");
	struct beam_identity id;

	(void)state;
	assert_int_equal(specimen_version[0], specimen_config[0] == '/' ? 'E' : 0); /* keep both */
	assert_int_equal(identity_read(&id, e), 0);
	assert_int_equal(id.otp, 25);
	assert_string_equal(id.otp_text, "25");
	assert_string_equal(id.erts, "13.1.5");
	assert_true(id.jit);
	assert_true(id.native_stack);
	assert_true(id.vm_probes);
	assert_true(id.lock_counting);
	assert_false(id.debug);
	assert_true(id.hidden); /* there is no erts_proc */
	assert_false(id.stripped);
	elf_file_close(e);
}

/* Whichever file is given first, as that of a dynamic loader is where it was started with the
 * program. */
static void test_find(void **state)
{
	const raddr entries[] = {getauxval(AT_ENTRY), getauxval(AT_BASE), 0};
	struct objects *o = NULL;
	struct error err;

	(void)state;
	assert_int_equal(objects_open(&o, getpid(), &err), 0);
	for (size_t i = 0; i < 3; i++) {
		struct beam_identity id = {0};
		const struct proc_map *map = identity_find(&id, o, entries[i]);

		assert_non_null(map);
		assert_non_null(strstr(map->path, "test_identity"));
		assert_string_equal(id.erts, "13.1.5");
	}
	objects_close(o);
}

static void test_read_other_program(void **state)
{
	struct elf_file *e = open_elf("/bin/sh");
	struct beam_identity id;

	(void)state;
	assert_int_equal(identity_read(&id, e), -ENOENT);
	elf_file_close(e);
}

static struct beam_identity supported(int otp)
{
	struct beam_identity id = {.otp = otp, .jit = true, .native_stack = true};

	snprintf(id.otp_text, sizeof(id.otp_text), "%d", otp);
	strcpy(id.erts, "1.2.3");
	return id;
}

static void test_supported(void **state)
{
	static const int releases[] = {17, 23, 24, 25, 26, 27, 28, 29, 30};
	char why[512];

	(void)state;
	/* Whether there is a layout for the release is another question. */
	for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		struct beam_identity id = supported(releases[i]);

		assert_true(identity_is_supported(&id, why, sizeof(why)));
		assert_string_equal(why, "");
	}
}

static void test_list_releases(void **state)
{
	struct strbuf text = STRBUF_INIT;

	(void)state;
	identity_list_releases(&text);
	assert_string_equal(text.buf, "OTP 24, 25, 26, 27, 28 and 29");
	strbuf_free(&text);
}

static void test_unsupported_builds(void **state)
{
	struct beam_identity id = supported(25);
	char why[512];

	(void)state;
	assert_null(identity_other_build(&id));
	/* DWARF has their structs. */
	id.jit = id.native_stack = false;
	assert_true(identity_is_supported(&id, why, sizeof(why)));
	assert_string_equal(identity_other_build(&id), "the interpreter (emu flavour)");
	/* As built for musl. */
	id = supported(25);
	id.native_stack = false;
	assert_true(identity_is_supported(&id, why, sizeof(why)));
	id = supported(25);
	assert_null(identity_other_build(&id));
	id = supported(25);
	id.debug = true;
	assert_string_equal(identity_other_build(&id), "a debug build");
	id = supported(25);
	id.lock_counting = true;
	assert_string_equal(identity_other_build(&id), "a lock counting build");
	/* No release from 27 on has such a JIT. */
	id = supported(27);
	id.native_stack = false;
	assert_false(identity_is_supported(&id, why, sizeof(why)));
	assert_non_null(strstr(why, "OTP 27 (ERTS 1.2.3)"));
	assert_non_null(strstr(why, "OTP 24, 25, 26, 27, 28 and 29"));
	/* Probes are no reason: there are tables for them, or DWARF. */
	id = supported(25);
	id.vm_probes = true;
	assert_true(identity_is_supported(&id, why, sizeof(why)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test(test_parse_truncated),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_read_self),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_read_other_program),
		cmocka_unit_test(test_supported),
		cmocka_unit_test(test_list_releases),
		cmocka_unit_test(test_unsupported_builds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
