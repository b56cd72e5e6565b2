/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a uprobe goes in a function: prologues as compilers write them, and every way in which a
 * site must not be taken.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/compiler.h"
#include "lib/elf_image.h"
#include "probe/site/instruction.h"
#include "probe/site/placement.h"
#include "target/elf.h"

#define ENTRY 0x1000u
#define PART  0x8000u /* another part of the function */
#define TABLE 0x9000u /* constants */

/* What stands around the function. */
struct around {
	unsigned char part[64];
	size_t part_size;
	int32_t table[8];
	size_t nr_table; /* entries; behind them nothing can be read */
	size_t entry_size;
	size_t function_size;
};

static size_t read_around(void *ctx, uint64_t addr, void *buf, size_t size)
{
	struct around *a = ctx;
	const unsigned char *from = a->part;
	size_t at = (size_t)(addr - PART), len = a->part_size;

	if (addr >= TABLE) {
		from = (const unsigned char *)a->table;
		at = (size_t)(addr - TABLE);
		len = a->nr_table * sizeof(a->table[0]);
	}
	if (at >= len)
		return 0;
	size = MIN(size, len - at);
	memcpy(buf, from + at, size);
	return size;
}

static bool function_around(void *ctx, uint64_t addr, uint64_t *start, uint64_t *end)
{
	const struct around *a = ctx;

	if (addr - PART >= a->part_size)
		return false;
	*start = PART;
	*end = PART + a->part_size;
	return true;
}

static bool is_code_around(void *ctx, uint64_t addr)
{
	const struct around *a = ctx;

	return addr - ENTRY < a->function_size || addr - PART < a->part_size;
}

static struct placement find(const void *bytes, size_t size, struct around *around,
			     struct placement_request request)
{
	struct around none = {0};
	struct placement_image image = {read_around, function_around, is_code_around,
					around ? around : &none};
	struct placement_code code = {bytes, size, ENTRY};
	struct placement site;

	((struct around *)image.ctx)->function_size = size;
	placement_find(&site, &code, &image, &request);
	return site;
}

/* A function as a string of bytes; the terminating 0 is not part of it. */
#define FIND(bytes, args_)                                                                         \
	find(bytes, sizeof(bytes) - 1, NULL, (struct placement_request){.args = (args_)})
#define PUSH_R15    "\x41\x57"
#define MOV_R15_RDX "\x49\x89\xd7"
#define MOV_RDI_RSI "\x48\x89\xf7"
#define RET	    "\xc3"

static void expect(const struct placement *p, uint32_t offset, bool emulated, const char *what)
{
	if (!p->ok)
		fail_msg("refused: %s", p->reason);
	assert_int_equal(p->offset, offset);
	assert_int_equal(p->emulated, emulated);
	assert_string_equal(p->instruction, what);
	assert_int_equal(p->reason[0] == '\0', emulated);
}

static void expect_refused(const struct placement *p, const char *why)
{
	assert_false(p->ok);
	assert_int_equal(p->offset, 0);
	assert_string_equal(p->reason, why);
}

/* ---- single instructions --------------------------------------------------------------------- */

static void test_what_the_kernel_does(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum instruction_kind kind, with_nops;
	} rows[] = {
		{"\x55", 1, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},     /* push rbp */
		{"\x41\x57", 2, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED}, /* push r15 */
		{"\x48\x55", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},   /* rex.w push rbp */
		{"\x66\x55", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},   /* push bp */
		{"\x6a\x01", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},   /* push 1 */
		{"\xff\x36", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},   /* push [rsi] */
		{"\x90", 1, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\xf3\x90", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},     /* pause */
		{"\x41\x90", 2, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN}, /* xchg r8, rax */
		{"\x66\x90", 2, INSTRUCTION_FORBIDDEN, INSTRUCTION_EMULATED},
		{"\x0f\x1f\x44\x00\x00", 5, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},
		{"\x66\x0f\x1f\x44\x00\x00", 6, INSTRUCTION_STEPPED, INSTRUCTION_EMULATED},
		{"\x0f\x1f\x84\x00\x00\x00\x00\x00", 8, INSTRUCTION_STEPPED, INSTRUCTION_EMULATED},
		{"\x0f\x1f\x40\x08", 4, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED}, /* unusual */
		{"\xf3\x0f\x1e\xfa", 4, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED}, /* endbr64 */
		{"\xeb\x10", 2, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\xe9\x10\x00\x00\x00", 5, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\xe8\x10\x00\x00\x00", 5, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\x74\x10", 2, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\x7f\x10", 2, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\x0f\x84\x10\x00\x00\x00", 6, INSTRUCTION_EMULATED, INSTRUCTION_EMULATED},
		{"\x66\xe9\x10\x00\x00\x00", 6, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN},
		{"\x2e\x74\x10", 3, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN}, /* with a hint */
		{"\xe3\x10", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},	   /* jrcxz */
		{"\xff\xe0", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},	   /* jmp rax */
		{"\xff\xd0", 2, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED},	   /* call rax */
		{"\xf0\x48\x01\x07", 4, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN}, /* lock */
		{"\xcc", 1, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN},
		{"\x48\x89\xf8", 3, INSTRUCTION_STEPPED, INSTRUCTION_STEPPED}, /* mov rax, rdi */
		{"\x66", 1, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN},     /* cut */
		{"", 0, INSTRUCTION_FORBIDDEN, INSTRUCTION_FORBIDDEN},
	};

	UNUSED(state);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const unsigned char *bytes = (const unsigned char *)rows[i].bytes;

		if (instruction_kind_of(bytes, rows[i].size, false) != rows[i].kind ||
		    instruction_kind_of(bytes, rows[i].size, true) != rows[i].with_nops)
			fail_msg("row %zu: %d, %d", i,
				 instruction_kind_of(bytes, rows[i].size, false),
				 instruction_kind_of(bytes, rows[i].size, true));
	}
}

/* ---- sites ----------------------------------------------------------------------------------- */

static void test_push_at_entry(void **state)
{
	struct placement p = FIND(PUSH_R15 MOV_R15_RDX "\x41\x5f" RET, PLACEMENT_ARGS(6));

	UNUSED(state);
	expect(&p, 0, true, "push r15");
	assert_int_equal(p.stack_depth, 0);
}

/* erts_queue_proc_message() of OTP 25: cmp rdi, rsi; je. */
static void test_jump_behind_compare(void **state)
{
	struct placement p = FIND("\x48\x39\xf7\x74\x01\x90" RET, PLACEMENT_ARGS(5));

	UNUSED(state);
	expect(&p, 3, true, "je 0x1006");
}

static void test_endbr64_is_passed(void **state)
{
	struct placement p = FIND("\xf3\x0f\x1e\xfa" PUSH_R15 RET, PLACEMENT_ARGS(2));

	UNUSED(state);
	expect(&p, 4, true, "push r15");
}

static void test_long_nop_by_kernel(void **state)
{
	static const char bytes[] = "\x0f\x1f\x40\x00" PUSH_R15 RET;
	struct placement p = find(bytes, sizeof(bytes) - 1, NULL, (struct placement_request){0});

	UNUSED(state);
	expect(&p, 4, true, "push r15");
	p = find(bytes, sizeof(bytes) - 1, NULL, (struct placement_request){.nops = true});
	expect(&p, 0, true, "nop dword ptr [rax]");
}

/* Where Linux 6.18 writes a call, which overwrites what stands below the stack pointer. */
static void test_no_nop_of_five_bytes(void **state)
{
	static const char bytes[] = "\x0f\x1f\x44\x00\x00" PUSH_R15 RET;
	struct placement p =
		find(bytes, sizeof(bytes) - 1, NULL, (struct placement_request){.nops = true});

	UNUSED(state);
	expect(&p, 5, true, "push r15");
}

/* Only the arguments that are needed count, in whatever width they are overwritten. */
static void test_arguments(void **state)
{
	struct placement p = FIND("\x89\xf0" MOV_RDI_RSI "\x55" RET, PLACEMENT_RSI);

	UNUSED(state);
	expect(&p, 5, true, "push rbp");
	p = FIND("\x89\xf0" MOV_RDI_RSI "\x55" RET, PLACEMENT_RDI);
	expect(&p, 0, false, "mov eax, esi");
	assert_string_equal(p.reason, "mov at +2 overwrites an argument");
	p = FIND("\x40\xb7\x01\x55" RET, PLACEMENT_RDI); /* mov dil, 1 */
	expect(&p, 0, false, "mov dil, 1");
	p = FIND("\x45\x31\xc9\x55" RET, PLACEMENT_R9); /* xor r9d, r9d */
	expect(&p, 0, false, "xor r9d, r9d");
	p = FIND("\xf7\xde\x55" RET, PLACEMENT_RSI); /* neg esi */
	expect(&p, 0, false, "neg esi");
	p = FIND("\x48\x89\x37\x55" RET, PLACEMENT_ARGS(2)); /* mov [rdi], rsi writes memory */
	expect(&p, 3, true, "push rbp");
	p = FIND("\x48\x87\xf7\x55" RET, PLACEMENT_ARGS(2)); /* xchg rdi, rsi */
	expect(&p, 0, false, "xchg rdi, rsi");
	assert_string_equal(p.reason, "xchg at +0 may leave the straight line");
	p = FIND("\x48\x99\x55" RET, PLACEMENT_RDX); /* cqo writes rdx without saying so */
	expect(&p, 0, false, "cqo");
	p = FIND("\xf3\x48\xa5\x55" RET, PLACEMENT_RDI); /* rep movsq, likewise */
	assert_false(p.emulated);
}

/* The line ends at whatever may leave it. */
static void test_end_of_line(void **state)
{
	struct placement p = FIND("\x48\x89\xf8\xff\xd0\x55" RET, 0); /* call rax */

	UNUSED(state);
	expect(&p, 0, false, "mov rax, rdi");
	assert_string_equal(p.reason, "call at +3 may leave the straight line");
	p = FIND("\x31\xc0" RET "\x55", 0);
	assert_string_equal(p.reason, "ret at +2 may leave the straight line");
	p = FIND("\x31\xc0\x0f\x05\x55" RET, 0);
	assert_string_equal(p.reason, "syscall at +2 may leave the straight line");
	p = FIND("\xe3\x01\x90" RET, 0); /* jrcxz is a jump that the kernel steps */
	expect(&p, 0, false, "jrcxz 0x1003");
	p = FIND("\xe8\x00\x00\x00\x00" RET, PLACEMENT_ARGS(6));
	expect(&p, 0, true, "call 0x1005");
}

static void test_stack_depth(void **state)
{
	/* sub rsp, 0x18; mov [rsp], rdi; je */
	static const char bytes[] = "\x48\x83\xec\x18\x48\x89\x3c\x24\x74\x01\x90" RET;
	struct placement_request returns = {.args = PLACEMENT_ARGS(6), .returns = true};
	struct placement p =
		FIND("\x48\x83\xec\x18\x48\x89\x3c\x24\x74\x01\x90" RET, PLACEMENT_ARGS(6));

	UNUSED(state);
	expect(&p, 8, true, "je 0x100b");
	assert_int_equal(p.stack_depth, 0x18);
	p = find(bytes, sizeof(bytes) - 1, NULL, returns);
	expect(&p, 0, false, "sub rsp, 0x18");
	assert_string_equal(p.reason, "sub at +0 moves the stack away from the return address");
	p = FIND("\x48\x83\xe4\xf0\x55" RET, 0); /* and rsp, -16 */
	expect(&p, 0, false, "and rsp, 0xfffffffffffffff0");
}

/* ---- refused --------------------------------------------------------------------------------- */

static void test_jumps_back(void **state)
{
	struct placement p = FIND(PUSH_R15 "\x41\x5f\xeb\xfa", 0); /* jmp to the entry */

	UNUSED(state);
	expect_refused(&p, "jmp at +4 leads back to +0");
	p = FIND("\x31\xc0\x55\x5d\x75\xfc" RET, 0); /* jne to the push */
	expect_refused(&p, "jne at +4 leads back to +2");
	p = FIND("\x31\xc0\x55\x5d\x0f\x85\xf8\xff\xff\xff" RET, 0);
	expect_refused(&p, "jne at +4 leads back to +2");
	p = FIND("\x31\xc0\x55\x5d\xe2\xfc" RET, 0);
	expect_refused(&p, "loop at +4 leads back to +2");
	p = FIND("\x31\xc0\x55\x5d\xe9\xf7\xff\xff\xff", 0);
	expect_refused(&p, "jmp at +4 leads back to +0");
	/* A loop behind the site, and a call of the function by itself, are no harm. */
	p = FIND("\x31\xc0\x55\x5d\x75\xfd" RET, 0);
	expect(&p, 2, true, "push rbp");
	p = FIND("\x55\xe8\xfa\xff\xff\xff\x5d" RET, 0);
	expect(&p, 0, true, "push rbp");
}

static void test_other_parts(void **state)
{
	/* xor eax, eax; push rbp; jne PART; pop rbp; ret */
	static const char bytes[] = "\x31\xc0\x55\x0f\x85\xf7\x6f\x00\x00\x5d" RET;
	/* jmp +9 of the function; and, in place of that, to +2 */
	struct around around = {.part = "\xe9\x04\x90\xff\xff", .part_size = 5};
	struct placement p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});

	UNUSED(state);
	expect(&p, 2, true, "push rbp");
	around.part[1] = 0xfd;
	around.part[2] = 0x8f;
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect_refused(&p, "jmp at another part +0 leads back to +2");
	around.part[1] = 0xfb; /* to the entry: a call in tail position */
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect(&p, 2, true, "push rbp");
	around.part[0] = 0x06; /* no instruction */
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect_refused(&p, "the instruction at another part +0 cannot be decoded");
}

static void test_jump_tables(void **state)
{
	/* xor eax, eax; push rbp; lea rcx, [TABLE]; movsxd rax, [rcx+rax*4]; add rax, rcx;
	 * jmp rax; nop */
	static const char bytes[] = "\x31\xc0\x55\x48\x8d\x0d\xf6\x7f\x00\x00\x48\x63\x04\x81"
				    "\x48\x01\xc8\xff\xe0\x90";
	struct around around = {.table = {(int32_t)ENTRY + 0x13 - (int32_t)TABLE, 0x7fffffff,
					  (int32_t)ENTRY + 2 - (int32_t)TABLE},
				.nr_table = 3};
	struct placement p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});

	UNUSED(state);
	/* The second entry is not one: the table has ended. */
	expect(&p, 2, true, "push rbp");
	around.table[1] = (int32_t)ENTRY + 2 - (int32_t)TABLE;
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect_refused(&p, "a jump table leads back into the first 3 bytes");
	around.nr_table = 1;
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect(&p, 2, true, "push rbp");
}

/* A table of addresses, as in programs that are not position independent. */
static void test_absolute_jump_table(void **state)
{
	/* push rbp; jmp [rax*8 + TABLE] */
	static const char bytes[] = "\x55\xff\x24\xc5\x00\x90\x00\x00";
	struct around around = {.table = {ENTRY + 1, 0, ENTRY, 0}, .nr_table = 2};
	struct placement p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});

	UNUSED(state);
	expect(&p, 0, true, "push rbp");
	around.nr_table = 4;
	p = find(bytes, sizeof(bytes) - 1, &around, (struct placement_request){0});
	expect_refused(&p, "a jump table leads back into the first 1 bytes");
}

static void test_bad_code(void **state)
{
	struct placement p = FIND("", 0);

	UNUSED(state);
	expect_refused(&p, "its code is 0 bytes long");
	p = FIND("\x06", 0);
	expect_refused(&p, "the entry cannot be decoded");
	p = FIND("\xf0\x48\x01\x07\x55" RET, 0);
	expect_refused(
		&p, "the kernel refuses a uprobe on 'lock add qword ptr [rdi], rax' at the entry");
	p = FIND("\x55\x06" RET, 0);
	expect_refused(&p, "the instruction at +1 cannot be decoded");
	p = FIND(PUSH_R15 "\xe8\x01", 0); /* cut */
	expect_refused(&p, "the instruction at +2 cannot be decoded");
}

/* Whatever the bytes are: an answer, and never a site outside of them. */
static void test_any_bytes(void **state)
{
	uint32_t seed = 1;

	UNUSED(state);
	for (unsigned int round = 0; round < 3000; round++) {
		unsigned char bytes[48];
		struct around around = {.part_size = sizeof(around.part), .nr_table = 8};
		struct placement p;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
		memcpy(around.part, bytes, sizeof(bytes));
		memcpy(around.table, bytes, sizeof(around.table));
		if (round % 2)
			bytes[0] = 0x55;
		p = find(bytes, 1 + round % sizeof(bytes), &around,
			 (struct placement_request){.args = round % 64, .returns = round % 3 == 0});
		assert_true(p.ok || p.reason[0]);
		assert_true(p.offset < 1 + round % sizeof(bytes));
		assert_true(!p.emulated || p.ok);
	}
}

/* The functions of a file: bounds by .eh_frame, bytes by PT_LOAD. */
static void test_in_elf(void **state)
{
	struct placement_request request = {0};
	struct elf_symbol symbol;
	struct elf_image im;
	struct elf_file *e;
	struct placement p;
	int fd = memfd_create("elf", MFD_CLOEXEC);

	UNUSED(state);
	elf_image_build(&im, true);
	assert_int_equal(write(fd, im.data, im.size), im.size);
	assert_int_equal(elf_file_open(&e, fd, "test.elf", NULL), 0);
	placement_find_in_elf(&p, e, ELF_IMAGE_TEXT_ADDR + 0x18, &request); /* inside of a */
	expect_refused(&p, "its bounds are not known");
	placement_find_in_elf(&p, e, ELF_IMAGE_TEXT_ADDR + 0xf0, &request);
	expect_refused(&p, "its bounds are not known");
	elf_file_close(e);

	/* This very program: the test is compiled code. */
	assert_int_equal(
		elf_file_open(&e, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "self", NULL), 0);
	assert_true(elf_file_symbol(e, "placement_find_in_elf", &symbol));
	placement_find_in_elf(&p, e, symbol.addr, &request);
	assert_true(p.ok);
	assert_true(p.emulated);
	elf_file_close(e);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_what_the_kernel_does),
	cmocka_unit_test(test_push_at_entry),
	cmocka_unit_test(test_jump_behind_compare),
	cmocka_unit_test(test_endbr64_is_passed),
	cmocka_unit_test(test_long_nop_by_kernel),
	cmocka_unit_test(test_no_nop_of_five_bytes),
	cmocka_unit_test(test_arguments),
	cmocka_unit_test(test_end_of_line),
	cmocka_unit_test(test_stack_depth),
	cmocka_unit_test(test_jumps_back),
	cmocka_unit_test(test_other_parts),
	cmocka_unit_test(test_jump_tables),
	cmocka_unit_test(test_absolute_jump_table),
	cmocka_unit_test(test_bad_code),
	cmocka_unit_test(test_any_bytes),
	cmocka_unit_test(test_in_elf),
};

int main(void)
{
	return cmocka_run_group_tests(tests, NULL, NULL);
}
