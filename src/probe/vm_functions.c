/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See vm_functions.h.  Signatures: erl_process.c, erl_proc_sig_queue.c, erl_message.c, bif.c,
 * dist.c, register.c, io.c, erl_port_task.c, erl_gc.c, erl_trace.c and jit/beam_jit_common.cpp of
 * OTP 25 to 28.
 */
#include "probe/vm_functions.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "target/elf.h"

#define RDI PLACEMENT_RDI
#define RSI PLACEMENT_RSI
#define RDX PLACEMENT_RDX
#define RCX PLACEMENT_RCX
#define R8  PLACEMENT_R8
#define R9  PLACEMENT_R9

const struct vm_function vm_functions[] = {
	/* processes: parent, module, function, arguments, options */
	{"erl_create_process", RDI | RSI | RDX | RCX | R8, true},
	{"erts_do_exit_process", RDI | RSI, false},
	{"erts_continue_exit_process", RDI, false},
	{"erts_proc_sig_handle_incoming", RDI, true},
	{"erts_schedule", RDI | RSI | RDX, true},
	{"erts_hibernate", RDI, false},
	{"erts_register_name", RDI | RSI | RDX, true},
	{"erts_unregister_name", RDI | RSI | RDX | RCX, true},
	{"erts_proc_sig_send_link", RDI | RSI | RDX | RCX, true},
	{"erts_proc_sig_send_unlink", RDI | RSI | RDX, false},
	{"link_1", RDI | RSI, true},
	{"unlink_1", RDI | RSI, true},
	/* messages */
	{"erl_send", RDI | RSI | RDX, true},
	{"erts_send_message", RDI | RSI | RCX, false},
	{"erts_queue_message", RDI | RDX | RCX | R8, false},
	{"erts_queue_message_token", RDI | RDX | RCX | R8 | R9, false},
	{"erts_queue_proc_message", RDI | RSI | RCX | R8, false},
	{"erts_queue_proc_messages", RDI | RSI | RCX | R8 | R9, false},
	{"erts_dsig_send_msg", RDI | RSI | RDX, false},
	{"erts_dsig_send_reg_msg", RDI | RSI | RDX, false},
	{"_Z23beam_jit_remove_messageP7processlPmS1_j", RDI, false}, /* OTP 25, 26 */
	{"_Z23beam_jit_remove_messageP7processiPmS1_j", RDI, false},
	/* garbage collection: process, need */
	{"erts_garbage_collect", RDI | RSI, true},
	{"erts_garbage_collect_nobump", RDI | RSI, true},
	{"erts_gc_after_bif_call", RDI, true},
	{"erts_gc_after_bif_call_lhf", RDI, true},
	{"erts_garbage_collect_hibernate", RDI, true},
	{"erts_garbage_collect_literals", RDI, true},
	/* ports */
	{"erts_open_driver", RDI | RSI | RDX, true},
	{"erts_deliver_port_exit", RDI | RSI | RDX, false},
	{"erts_port_link", RDI | RSI, false},
	{"erts_port_unlink", RDI | RSI, false},
	{"erts_port_task_execute", RDI | RSI, true},
	{"erts_port_output", RDI | RSI | RDX | RCX | R8, true},
	{"erts_port_control", RDI | RSI | RDX | RCX, true},
	{"erts_port_call", RDI | RSI | RDX | RCX, true},
	{"async_ready", RDI | RSI, true},
	{"erts_fire_port_monitor", RDI | RSI, false},
	{"driver_select", RDI | RSI | RDX | RCX, true},
	{"erts_check_io", RDI, false},
	{"erts_add_driver_entry", RDI, false},
	/* calls of NIFs and BIFs from JIT code, calls that are traced in the node */
	{"_Z17beam_jit_call_bifP7processPmPKvPFmS0_S1_S3_Em", RDI | RSI | RDX | RCX | R8, true},
	{"_Z17beam_jit_call_nifP7processPKvPmPFmP18enif_environment_tiS3_EP14erl_module_nif",
	 RDI | RSI | RDX | RCX, true},
	{"erts_call_trace", RDI | RSI | RCX, true},
	{"erts_trace_return", RDI | RSI | RDX, false},
	{"erts_trace_exception", RDI | RSI | RDX | RCX, false},
};
const unsigned int nr_vm_functions = ARRAY_SIZE(vm_functions);

static void append(char *list, size_t size, const char *separator, const char *text)
{
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%s%s", len ? separator : "", text);
}

static void count_place(struct vm_places *out, const char *name, const struct placement *place)
{
	char text[256];

	out->found++;
	if (!place->ok) {
		out->refused++;
		snprintf(text, sizeof(text), "%s (%s)", name, place->reason);
		append(out->refused_names, sizeof(out->refused_names), "; ", text);
	} else if (place->emulated) {
		out->emulated++;
	} else {
		out->stepped++;
		append(out->stepped_names, sizeof(out->stepped_names), ", ", name);
	}
}

void vm_functions_place(struct vm_places *out, const struct elf_file *elf)
{
	bool nops = placement_kernel_emulates_nops();

	*out = (struct vm_places){0};
	for (unsigned int i = 0; i < nr_vm_functions; i++) {
		const struct vm_function *f = &vm_functions[i];
		struct placement_request request = {.args = f->args, .nops = nops};
		struct elf_symbol symbol;
		struct placement place;

		if (!elf_file_symbol(elf, f->name, &symbol) || !symbol.function)
			continue;
		placement_find_in_elf(&place, elf, symbol.addr, &request);
		count_place(out, f->name, &place);
	}
}
