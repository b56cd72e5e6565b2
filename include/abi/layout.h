/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where the fields of the VM's structs stand, in bytes.  Filled in user space from DWARF or from
 * a generated table (src/beam/otp/), checked against live memory, and handed to BPF as rodata.
 *
 * To add a field: one line here; then regenerate the tables (tools/layoutgen).
 *   F(member, "struct or typedef in the VM", "field path")   offset of a field
 *   S(member, "struct or typedef in the VM")                 size of a type
 * LAYOUT_ABSENT marks what a release does not have (0 is a valid offset).
 */
#ifndef EBEAM_ABI_LAYOUT_H
#define EBEAM_ABI_LAYOUT_H

#ifndef __bpf__
#include <stdint.h>
#endif

#define LAYOUT_ABSENT (-1)

#define BEAM_LAYOUT_FIELDS(F, S)                                                                   \
	/* struct process */                                                                       \
	S(process_size, "struct process")                                                          \
	F(process_id, "struct process", "common.id")                                               \
	F(process_reg, "struct process", "common.u.alive.reg")                                     \
	F(process_started, "struct process", "common.u.alive.started_interval")                    \
	F(process_htop, "struct process", "htop")                                                  \
	F(process_stop, "struct process", "stop")                                                  \
	F(process_frame_pointer, "struct process", "frame_pointer")                                \
	F(process_heap, "struct process", "heap")                                                  \
	F(process_hend, "struct process", "hend")                                                  \
	F(process_heap_sz, "struct process", "heap_sz")                                            \
	F(process_i, "struct process", "i")                                                        \
	F(process_flags, "struct process", "flags")                                                \
	F(process_group_leader, "struct process", "group_leader")                                  \
	F(process_dictionary, "struct process", "dictionary")                                      \
	F(process_initial, "struct process", "u.initial")                                          \
	F(process_current, "struct process", "current")                                            \
	F(process_parent, "struct process", "parent")                                              \
	F(process_state, "struct process", "state")                                                \
	F(process_scheduler_data, "struct process", "scheduler_data")                              \
	F(process_next, "struct process", "next")                                                  \
	/* ErtsPTab: the process and port tables */                                                \
	S(ptab_size, "ErtsPTab")                                                                   \
	F(ptab_count, "ErtsPTab", "vola.tile.count")                                               \
	F(ptab_tab, "ErtsPTab", "r.o.tab")                                                         \
	F(ptab_max, "ErtsPTab", "r.o.max")                                                         \
	F(ptab_pix_mask, "ErtsPTab", "r.o.pix_mask")                                               \
	F(ptab_pix_cl_mask, "ErtsPTab", "r.o.pix_cl_mask")                                         \
	F(ptab_pix_cli_mask, "ErtsPTab", "r.o.pix_cli_mask")                                       \
	F(ptab_pix_cl_shift, "ErtsPTab", "r.o.pix_cl_shift")                                       \
	F(ptab_pix_cli_shift, "ErtsPTab", "r.o.pix_cli_shift")                                     \
	F(ptab_invalid_element, "ErtsPTab", "r.o.invalid_element")                                 \
	F(ptab_element_size, "ErtsPTab", "r.o.element_size")                                       \
	/* scheduler data */                                                                       \
	S(sched_size, "struct ErtsSchedulerData_")                                                 \
	S(sched_stride, "ErtsAlignedSchedulerData")                                                \
	F(sched_registers, "struct ErtsSchedulerData_", "registers")                               \
	F(sched_tid, "struct ErtsSchedulerData_", "tid")                                           \
	F(sched_ssi, "struct ErtsSchedulerData_", "ssi")                                           \
	F(sched_current_process, "struct ErtsSchedulerData_", "current_process")                   \
	F(sched_type, "struct ErtsSchedulerData_", "type")                                         \
	F(sched_no, "struct ErtsSchedulerData_", "no")                                             \
	F(sched_dirty_no, "struct ErtsSchedulerData_", "dirty_no")                                 \
	F(sched_current_port, "struct ErtsSchedulerData_", "current_port")                         \
	F(sched_run_queue, "struct ErtsSchedulerData_", "run_queue")                               \
	/* how a scheduler sleeps */                                                               \
	F(ssi_flags, "ErtsSchedulerSleepInfo", "flags")                                            \
	/* scheduler registers */                                                                  \
	S(registers_size, "ErtsSchedulerRegisters")                                                \
	F(registers_tmp_mem, "ErtsSchedulerRegisters", "aux_regs.d.TMP_MEM")                       \
	F(registers_x, "ErtsSchedulerRegisters", "x_reg_array")                                    \
	/* atoms */                                                                                \
	S(index_table_size, "IndexTable")                                                          \
	F(index_table_name, "IndexTable", "htable.name")                                           \
	F(index_table_entries, "IndexTable", "entries")                                            \
	F(index_table_seg_table, "IndexTable", "seg_table")                                        \
	F(atom_index, "Atom", "slot.index")                                                        \
	F(atom_len, "Atom", "len")                                                                 \
	F(atom_name, "Atom", "name")                                                               \
	F(atom_u, "Atom", "u")                                                                     \
	/* registered names */                                                                     \
	F(regproc_p, "RegProc", "p")                                                               \
	F(regproc_name, "RegProc", "name")                                                         \
	/* code */                                                                                 \
	F(code_info_mfa, "ErtsCodeInfo", "mfa")                                                    \
	F(mfa_module, "ErtsCodeMFA", "module")                                                     \
	F(mfa_function, "ErtsCodeMFA", "function")                                                 \
	F(mfa_arity, "ErtsCodeMFA", "arity")                                                       \
	S(export_size, "Export")                                                                   \
	F(export_bif_number, "Export", "bif_number")                                               \
	F(export_info, "Export", "info")                                                           \
	F(export_mfa, "Export", "info.mfa")                                                        \
	/* modules and their NIF libraries */                                                      \
	F(module_module, "Module", "module")                                                       \
	F(module_curr, "Module", "curr")                                                           \
	F(module_instance_code_hdr, "struct erl_module_instance", "code_hdr")                      \
	F(module_instance_code_length, "struct erl_module_instance", "code_length")                \
	F(module_instance_nif, "struct erl_module_instance", "nif")                                \
	/* ports and drivers */                                                                    \
	F(port_id, "struct _erl_drv_port", "common.id")                                            \
	F(port_name, "struct _erl_drv_port", "name")                                               \
	F(port_drv_ptr, "struct _erl_drv_port", "drv_ptr")                                         \
	F(driver_name, "erts_driver_t", "name")                                                    \
	/* distribution */                                                                         \
	F(node_sysname, "ErlNode", "sysname")                                                      \
	F(node_dist_entry, "ErlNode", "dist_entry")                                                \
	F(dist_sysname, "struct dist_entry_", "sysname")

struct beam_layout {
#define LAYOUT_F(member, type, field) int32_t member;
#define LAYOUT_S(member, type)	      int32_t member;
	BEAM_LAYOUT_FIELDS(LAYOUT_F, LAYOUT_S)
#undef LAYOUT_F
#undef LAYOUT_S
};

#endif
