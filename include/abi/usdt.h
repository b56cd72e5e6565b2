/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the arguments of a USDT probe are when its site is reached, as its ELF note describes
 * them: each is a constant, in a register, or in memory at an offset from a register. */
#ifndef EBEAM_ABI_USDT_H
#define EBEAM_ABI_USDT_H

#ifndef __bpf__
#include <stdint.h>
#endif

enum usdt_register {
	USDT_RAX,
	USDT_RBX,
	USDT_RCX,
	USDT_RDX,
	USDT_RSI,
	USDT_RDI,
	USDT_RBP,
	USDT_RSP,
	USDT_R8,
	USDT_R9,
	USDT_R10,
	USDT_R11,
	USDT_R12,
	USDT_R13,
	USDT_R14,
	USDT_R15,
	NR_USDT_REGISTERS
};

enum usdt_arg_type {
	USDT_ARG_NONE = 0, /* no such argument, or an unsupported operand */
	USDT_ARG_CONSTANT = 1,
	USDT_ARG_REGISTER = 2,
	USDT_ARG_MEMORY = 3,
};

#define USDT_MAX_ARGS 12 /* as in SystemTap's <sys/sdt.h> */

struct usdt_arg {
	int64_t offset;	   /* the constant, or the offset from the register */
	uint8_t type;	   /* enum usdt_arg_type */
	uint8_t reg;	   /* enum usdt_register */
	uint8_t size;	   /* bytes of the value: 1, 2, 4, 8 */
	uint8_t is_signed; /* to be sign-extended */
	uint8_t shift;	   /* bits: 8 for %ah and the like, the second byte of a register */
	uint8_t pad[3];
};

/* How the value of a field is derived from an argument of the probe.  Comments have what the
 * argument is, and after the bar what becomes the value. */
enum usdt_value_type {
	USDT_VALUE_NONE = 0,
	USDT_VALUE_PID,	   /* text of a pid | its term; none unless it is local */
	USDT_VALUE_PORT,   /* the text of a port | its term */
	USDT_VALUE_DRIVER, /* the text of a port | its driver's name */
	USDT_VALUE_TEXT,
	USDT_VALUE_MFA, /* the text "m:f/a", in blocks[]; see RAW_EVENT_TEXT */
	USDT_VALUE_NUMBER,
};

#define USDT_POINT_ARGS	  8
#define USDT_POINT_VALUES 6
#define USDT_NO_ARG	  0xff

/* What BPF programs need to know of one site. */
struct usdt_point {
	uint16_t kind;	    /* enum event_kind */
	uint8_t about;	    /* argument with the text of the event's pid, or USDT_NO_ARG */
	uint8_t only_arg;   /* argument whose text must begin with `only`, or USDT_NO_ARG */
	uint8_t nr_values;  /* fields, in order of the catalogue */
	uint8_t by_process; /* 1: a hit without a process (`about`) is no event */
	uint8_t pad[2];
	char only[8];
	struct {
		uint8_t type; /* enum usdt_value_type */
		uint8_t arg;
	} values[USDT_POINT_VALUES];
	uint8_t pad2[4];
	struct usdt_arg args[USDT_POINT_ARGS];
};

#ifndef __bpf__
_Static_assert(sizeof(struct usdt_arg) == 16, "ABI");
_Static_assert(sizeof(struct usdt_point) == 32 + 16 * USDT_POINT_ARGS, "ABI");
#endif

#endif
