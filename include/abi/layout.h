/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Offsets of fields in the VM's structs, in bytes.  Filled in by user space from DWARF or a
 * generated table (src/beam/otp/), checked against live memory, and passed to BPF as rodata.
 *
 * To add a field: one line here; then its row in src/beam/otp/tables.h, see README.md there.
 *   F(member, "struct or typedef in the VM", "field path")   offset of a field
 *   S(member, "struct or typedef in the VM")                 size of a type
 * LAYOUT_ABSENT: the release has no such field or type (0 is a valid offset).
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
	F(process_lock, "struct process", "lock")                                                  \
	/* ErtsPTab: the process and port tables */                                                \
	S(ptab_size, "ErtsPTab")                                                                   \
	F(ptab_count, "ErtsPTab", "vola.tile.count")                                               \
	F(ptab_tab, "ErtsPTab", "r.o.tab")                                                         \
	F(ptab_free_id_data, "ErtsPTab", "r.o.free_id_data")                                       \
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
	F(dist_sysname, "struct dist_entry_", "sysname")                                           \
	/* struct process: what inspection reads beside the above */                               \
	F(process_timer, "struct process", "common.timer")                                         \
	F(process_links, "struct process", "common.u.alive.links")                                 \
	F(process_lt_monitors, "struct process", "common.u.alive.lt_monitors")                     \
	F(process_monitors, "struct process", "common.u.alive.monitors")                           \
	F(process_fcalls, "struct process", "fcalls")                                              \
	F(process_freason, "struct process", "freason")                                            \
	F(process_abandoned_heap, "struct process", "abandoned_heap")                              \
	F(process_min_heap_size, "struct process", "min_heap_size")                                \
	F(process_min_vheap_size, "struct process", "min_vheap_size")                              \
	F(process_max_heap_size, "struct process", "max_heap_size")                                \
	F(process_arity, "struct process", "arity")                                                \
	F(process_arg_reg, "struct process", "arg_reg")                                            \
	F(process_max_arg_reg, "struct process", "max_arg_reg")                                    \
	F(process_def_arg_reg, "struct process", "def_arg_reg")                                    \
	F(process_reds, "struct process", "reds")                                                  \
	F(process_sig_qs_first, "struct process", "sig_qs.first")                                  \
	F(process_sig_qs_last, "struct process", "sig_qs.last")                                    \
	F(process_sig_qs_save, "struct process", "sig_qs.save")                                    \
	F(process_sig_qs_cont, "struct process", "sig_qs.cont")                                    \
	F(process_sig_qs_cont_last, "struct process", "sig_qs.cont_last")                          \
	F(process_sig_qs_nmsigs_next, "struct process", "sig_qs.nmsigs.next")                      \
	F(process_sig_qs_len, "struct process", "sig_qs.len")                                      \
	F(process_sig_qs_mq_len, "struct process", "sig_qs.mq_len")                                \
	F(process_sig_qs_mlenoffs, "struct process", "sig_qs.mlenoffs")                            \
	F(process_sig_qs_flags, "struct process", "sig_qs.flags")                                  \
	F(process_sig_inq_first, "struct process", "sig_inq.first")                                \
	F(process_sig_inq_last, "struct process", "sig_inq.last")                                  \
	F(process_sig_inq_len, "struct process", "sig_inq.len")                                    \
	F(process_sig_inq_mlenoffs, "struct process", "sig_inq.mlenoffs")                          \
	F(process_sig_inq_nmsigs_next, "struct process", "sig_inq.nmsigs.next")                    \
	F(process_sig_inq_buffers, "struct process", "sig_inq_buffers")                            \
	F(process_bif_timers, "struct process", "bif_timers")                                      \
	F(process_paused_bif_timers, "struct process", "paused_bif_timers")                        \
	F(process_seq_trace_token, "struct process", "seq_trace_token")                            \
	F(process_high_water, "struct process", "high_water")                                      \
	F(process_old_hend, "struct process", "old_hend")                                          \
	F(process_old_htop, "struct process", "old_htop")                                          \
	F(process_old_heap, "struct process", "old_heap")                                          \
	F(process_gen_gcs, "struct process", "gen_gcs")                                            \
	F(process_max_gen_gcs, "struct process", "max_gen_gcs")                                    \
	F(process_off_heap_first, "struct process", "off_heap.first")                              \
	F(process_off_heap_overhead, "struct process", "off_heap.overhead")                        \
	F(process_wrt_bins, "struct process", "wrt_bins")                                          \
	F(process_mbuf, "struct process", "mbuf")                                                  \
	F(process_mbuf_sz, "struct process", "mbuf_sz")                                            \
	F(process_msg_frag, "struct process", "msg_frag")                                          \
	F(process_psd, "struct process", "psd")                                                    \
	F(process_bin_vheap_sz, "struct process", "bin_vheap_sz")                                  \
	F(process_bin_old_vheap_sz, "struct process", "bin_old_vheap_sz")                          \
	F(process_bin_old_vheap, "struct process", "bin_old_vheap")                                \
	F(process_run_queue, "struct process", "run_queue")                                        \
	S(psd_size, "ErtsPSD")                                                                     \
	/* messages, signals and heap fragments */                                                 \
	S(message_size, "struct erl_mesg")                                                         \
	F(message_next, "struct erl_mesg", "next")                                                 \
	F(message_data, "struct erl_mesg", "data")                                                 \
	F(message_m, "struct erl_mesg", "m")                                                       \
	F(message_hfrag, "struct erl_mesg", "hfrag")                                               \
	S(heap_frag_size, "ErlHeapFragment")                                                       \
	F(heap_frag_next, "ErlHeapFragment", "next")                                               \
	F(heap_frag_off_heap_first, "ErlHeapFragment", "off_heap.first")                           \
	F(heap_frag_alloc_size, "ErlHeapFragment", "alloc_size")                                   \
	F(heap_frag_used_size, "ErlHeapFragment", "used_size")                                     \
	F(heap_frag_mem, "ErlHeapFragment", "mem")                                                 \
	/* monitors and links: nodes of trees and lists */                                         \
	S(monitor_size, "ErtsMonitor")                                                             \
	F(monitor_parent, "ErtsMonitor", "node.tree.parent")                                       \
	F(monitor_right, "ErtsMonitor", "node.tree.right")                                         \
	F(monitor_left, "ErtsMonitor", "node.tree.left")                                           \
	F(monitor_list_next, "ErtsMonitor", "node.list.next")                                      \
	F(monitor_item, "ErtsMonitor", "other.item")                                               \
	F(monitor_offset, "ErtsMonitor", "offset")                                                 \
	F(monitor_flags, "ErtsMonitor", "flags")                                                   \
	F(monitor_type, "ErtsMonitor", "type")                                                     \
	S(link_size, "ErtsLink")                                                                   \
	F(link_parent, "ErtsLink", "node.tree.parent")                                             \
	F(link_right, "ErtsLink", "node.tree.right")                                               \
	F(link_left, "ErtsLink", "node.tree.left")                                                 \
	F(link_list_next, "ErtsLink", "node.list.next")                                            \
	F(link_item, "ErtsLink", "other.item")                                                     \
	F(link_offset, "ErtsLink", "offset")                                                       \
	F(link_flags, "ErtsLink", "flags")                                                         \
	F(link_type, "ErtsLink", "type")                                                           \
	/* funs and off-heap binaries */                                                           \
	S(fun_entry_size, "ErlFunEntry")                                                           \
	F(fun_entry_module, "ErlFunEntry", "module")                                               \
	F(fun_entry_old_uniq, "ErlFunEntry", "old_uniq")                                           \
	F(fun_entry_old_index, "ErlFunEntry", "old_index")                                         \
	S(binary_size, "Binary")                                                                   \
	F(binary_refc, "Binary", "intern.refc")                                                    \
	F(binary_orig_size, "Binary", "orig_size")                                                 \
	F(binary_orig_bytes, "Binary", "orig_bytes")                                               \
	/* ETS tables; a scheduler keeps those that were made on it */                             \
	S(ets_size, "DbTable")                                                                     \
	F(ets_fix_count, "DbTableCommon", "fix_count")                                             \
	F(ets_all_next, "DbTableCommon", "all.next")                                               \
	F(ets_all_prev, "DbTableCommon", "all.prev")                                               \
	F(ets_rwlock, "DbTableCommon", "rwlock")                                                   \
	F(ets_fixlock, "DbTableCommon", "fixlock")                                                 \
	F(ets_type, "DbTableCommon", "type")                                                       \
	F(ets_owner, "DbTableCommon", "owner")                                                     \
	F(ets_heir, "DbTableCommon", "heir")                                                       \
	F(ets_the_name, "DbTableCommon", "the_name")                                               \
	F(ets_btid, "DbTableCommon", "btid")                                                       \
	F(ets_nr_of_counters, "DbTableCommon", "counters.nr_of_counters")                          \
	F(ets_is_decentralized, "DbTableCommon", "counters.is_decentralized")                      \
	F(ets_counters, "DbTableCommon", "counters.u")                                             \
	F(ets_fixing_procs, "DbTableCommon", "fixing_procs")                                       \
	F(ets_status, "DbTableCommon", "status")                                                   \
	F(ets_keypos, "DbTableCommon", "keypos")                                                   \
	F(ets_compress, "DbTableCommon", "compress")                                               \
	F(ets_hash_szm, "DbTableHash", "szm")                                                      \
	F(ets_hash_nactive, "DbTableHash", "nactive")                                              \
	F(ets_hash_segtab, "DbTableHash", "segtab")                                                \
	F(ets_hash_nlocks, "DbTableHash", "nlocks")                                                \
	F(ets_hash_nslots, "DbTableHash", "nslots")                                                \
	F(ets_hash_locks, "DbTableHash", "locks")                                                  \
	F(ets_tree_root, "DbTableTree", "root")                                                    \
	F(sched_flxctr_slot_no, "struct ErtsSchedulerData_", "flxctr_slot_no")                     \
	F(sched_ets_count, "struct ErtsSchedulerData_", "ets_tables.count")                        \
	F(sched_ets_list, "struct ErtsSchedulerData_", "ets_tables.clist")                         \
	F(sched_u_ets_count, "struct ErtsSchedulerData_", "u.ets_tables.count")                    \
	F(sched_u_ets_list, "struct ErtsSchedulerData_", "u.ets_tables.clist")                     \
	/* schedulers and run queues: timers and sums */                                           \
	F(sched_timer_wheel, "struct ErtsSchedulerData_", "timer_wheel")                           \
	F(sched_timer_service, "struct ErtsSchedulerData_", "timer_service")                       \
	F(sched_current_nif, "struct ErtsSchedulerData_", "current_nif")                           \
	F(sched_virtual_reds, "struct ErtsSchedulerData_", "virtual_reds")                         \
	F(sched_io_out, "struct ErtsSchedulerData_", "io.out")                                     \
	F(sched_io_in, "struct ErtsSchedulerData_", "io.in")                                       \
	F(sched_reductions, "struct ErtsSchedulerData_", "reductions")                             \
	F(sched_gc_reclaimed, "struct ErtsSchedulerData_", "gc_info.reclaimed")                    \
	F(sched_gc_count, "struct ErtsSchedulerData_", "gc_info.garbage_cols")                     \
	F(sched_thr_progress_active, "struct ErtsSchedulerData_", "thr_progress_data.active")      \
	F(sched_thr_progress_leader, "struct ErtsSchedulerData_", "thr_progress_data.leader")      \
	F(sched_thr_progress_confirmed, "struct ErtsSchedulerData_",                               \
	  "thr_progress_data.confirmed")                                                           \
	F(sched_thr_progress_current, "struct ErtsSchedulerData_",                                 \
	  "thr_progress_data.leader_state.current")                                                \
	F(sched_thr_progress_check, "struct ErtsSchedulerData_",                                   \
	  "thr_progress_data.leader_state.chk_next_ix")                                            \
	F(sched_thr_progress_unmanaged, "struct ErtsSchedulerData_",                               \
	  "thr_progress_data.leader_state.umrefc_ix.waiting")                                      \
	F(sched_wall_time, "struct ErtsSchedulerData_", "sched_wall_time")                         \
	F(sched_wall_time_enabled, "struct ErtsSchedulerData_", "sched_wall_time.enabled")         \
	F(sched_wall_time_start, "struct ErtsSchedulerData_", "sched_wall_time.start")             \
	F(sched_working_total, "struct ErtsSchedulerData_", "sched_wall_time.working.total")       \
	F(sched_working_start, "struct ErtsSchedulerData_", "sched_wall_time.working.start")       \
	S(runq_stride, "ErtsAlignedRunQueue")                                                      \
	F(runq_ix, "ErtsRunQueue", "ix")                                                           \
	F(runq_flags, "ErtsRunQueue", "flags")                                                     \
	F(runq_len, "ErtsRunQueue", "len")                                                         \
	F(runq_context_switches, "ErtsRunQueue", "procs.context_switches")                         \
	F(runq_reductions, "ErtsRunQueue", "procs.reductions")                                     \
	F(runq_ports_start, "ErtsRunQueue", "ports.start")                                         \
	/* ports and drivers: what inspection reads */                                             \
	S(port_size, "struct _erl_drv_port")                                                       \
	F(port_reg, "struct _erl_drv_port", "common.u.alive.reg")                                  \
	F(port_links, "struct _erl_drv_port", "common.u.alive.links")                              \
	F(port_monitors, "struct _erl_drv_port", "common.u.alive.monitors")                        \
	F(port_lt_monitors, "struct _erl_drv_port", "common.u.alive.lt_monitors")                  \
	F(port_connected, "struct _erl_drv_port", "connected")                                     \
	F(port_data, "struct _erl_drv_port", "data")                                               \
	F(port_bytes_in, "struct _erl_drv_port", "bytes_in")                                       \
	F(port_bytes_out, "struct _erl_drv_port", "bytes_out")                                     \
	F(port_ioq_size, "struct _erl_drv_port", "ioq.size")                                       \
	F(port_drv_data, "struct _erl_drv_port", "drv_data")                                       \
	F(port_os_pid, "struct _erl_drv_port", "os_pid")                                           \
	F(port_suspended, "struct _erl_drv_port", "suspended")                                     \
	F(port_linebuf, "struct _erl_drv_port", "linebuf")                                         \
	F(port_state, "struct _erl_drv_port", "state")                                             \
	F(port_psd, "struct _erl_drv_port", "psd")                                                 \
	F(port_lock, "struct _erl_drv_port", "lock")                                               \
	F(port_sched_flags, "struct _erl_drv_port", "sched.flags")                                 \
	F(driver_next, "erts_driver_t", "next")                                                    \
	F(driver_prev, "erts_driver_t", "prev")                                                    \
	/* drivers: their callbacks */                                                             \
	F(port_caller, "struct _erl_drv_port", "caller")                                           \
	F(driver_start, "erts_driver_t", "start")                                                  \
	F(driver_stop, "erts_driver_t", "stop")                                                    \
	F(driver_finish, "erts_driver_t", "finish")                                                \
	F(driver_flush, "erts_driver_t", "flush")                                                  \
	F(driver_output, "erts_driver_t", "output")                                                \
	F(driver_outputv, "erts_driver_t", "outputv")                                              \
	F(driver_control, "erts_driver_t", "control")                                              \
	F(driver_call, "erts_driver_t", "call")                                                    \
	F(driver_ready_input, "erts_driver_t", "ready_input")                                      \
	F(driver_ready_output, "erts_driver_t", "ready_output")                                    \
	F(driver_timeout, "erts_driver_t", "timeout")                                              \
	F(driver_ready_async, "erts_driver_t", "ready_async")                                      \
	F(driver_process_exit, "erts_driver_t", "process_exit")                                    \
	F(driver_stop_select, "erts_driver_t", "stop_select")                                      \
	/* distribution: what inspection reads */                                                  \
	S(dist_size, "struct dist_entry_")                                                         \
	F(dist_creation, "struct dist_entry_", "creation")                                         \
	F(dist_cid, "struct dist_entry_", "cid")                                                   \
	F(dist_connection_id, "struct dist_entry_", "connection_id")                               \
	F(dist_state, "struct dist_entry_", "state")                                               \
	F(dist_dflags, "struct dist_entry_", "dflags")                                             \
	F(dist_qflgs, "struct dist_entry_", "qflgs")                                               \
	F(dist_qsize, "struct dist_entry_", "qsize")                                               \
	F(dist_in, "struct dist_entry_", "in")                                                     \
	F(dist_out, "struct dist_entry_", "out")                                                   \
	F(dist_suspended, "struct dist_entry_", "suspended")                                       \
	F(node_creation, "ErlNode", "creation")                                                    \
	/* registered names */                                                                     \
	F(regproc_pt, "RegProc", "pt")                                                             \
	/* hash part of an IndexTable */                                                           \
	F(index_table_shift, "IndexTable", "htable.shift")                                         \
	F(index_table_nobjs, "IndexTable", "htable.nobjs")                                         \
	F(index_table_bucket, "IndexTable", "htable.bucket")                                       \
	F(index_table_slots, "IndexTable", "size")                                                 \
	F(index_table_limit, "IndexTable", "limit")                                                \
	/* modules and their code */                                                               \
	S(module_size, "Module")                                                                   \
	F(module_old, "Module", "old")                                                             \
	F(module_on_load, "Module", "on_load")                                                     \
	F(code_header_num_functions, "BeamCodeHeader", "num_functions")                            \
	F(code_header_line_table, "BeamCodeHeader", "line_table")                                  \
	F(code_header_md5_ptr, "BeamCodeHeader", "md5_ptr")                                        \
	F(code_header_functions, "BeamCodeHeader", "functions")                                    \
	F(line_table_fname_ptr, "BeamCodeLineTab", "fname_ptr")                                    \
	F(line_table_loc_size, "BeamCodeLineTab", "loc_size")                                      \
	F(line_table_loc_tab, "BeamCodeLineTab", "loc_tab")                                        \
	F(line_table_func_tab, "BeamCodeLineTab", "func_tab")                                      \
	/* allocators */                                                                           \
	S(allctr_size, "Allctr_t")                                                                 \
	F(allctr_name_prefix, "Allctr_t", "name_prefix")                                           \
	F(allctr_alloc_no, "Allctr_t", "alloc_no")                                                 \
	F(allctr_ix, "Allctr_t", "ix")                                                             \
	F(allctr_atags, "Allctr_t", "atags")                                                       \
	F(allctr_sbc_threshold, "Allctr_t", "sbc_threshold")                                       \
	F(allctr_largest_mbc_size, "Allctr_t", "largest_mbc_size")                                 \
	F(allctr_mbc_header_size, "Allctr_t", "mbc_header_size")                                   \
	F(allctr_mbc_first, "Allctr_t", "mbc_list.first")                                          \
	F(allctr_sbc_first, "Allctr_t", "sbc_list.first")                                          \
	F(allctr_cpool_sentinel, "Allctr_t", "cpool.sentinel")                                     \
	F(allctr_cpool_util_limit, "Allctr_t", "cpool.util_limit")                                 \
	F(allctr_cpool_blocks_size, "Allctr_t", "cpool.stat.blocks_size")                          \
	F(allctr_cpool_blocks, "Allctr_t", "cpool.stat.no_blocks")                                 \
	F(allctr_mutex, "Allctr_t", "mutex")                                                       \
	F(allctr_cpool_carriers_size, "Allctr_t", "cpool.stat.carriers_size")                      \
	F(allctr_cpool_carriers, "Allctr_t", "cpool.stat.no_carriers")                             \
	F(allctr_fix, "Allctr_t", "fix")                                                           \
	F(allctr_add_mbc, "Allctr_t", "add_mbc")                                                   \
	F(allctr_remove_mbc, "Allctr_t", "remove_mbc")                                             \
	F(allctr_mseg_alloc, "Allctr_t", "mseg_alloc")                                             \
	F(allctr_mseg_realloc, "Allctr_t", "mseg_realloc")                                         \
	F(allctr_mseg_dealloc, "Allctr_t", "mseg_dealloc")                                         \
	F(allctr_sys_alloc, "Allctr_t", "sys_alloc")                                               \
	F(allctr_sys_realloc, "Allctr_t", "sys_realloc")                                           \
	F(allctr_sys_dealloc, "Allctr_t", "sys_dealloc")                                           \
	F(allctr_sbcs, "Allctr_t", "sbcs")                                                         \
	F(allctr_sbcs_max, "Allctr_t", "sbcs.max")                                                 \
	F(allctr_sbcs_blocks, "Allctr_t", "sbcs.blocks")                                           \
	F(allctr_mbcs, "Allctr_t", "mbcs")                                                         \
	F(allctr_mbcs_max, "Allctr_t", "mbcs.max")                                                 \
	F(allctr_mbcs_blocks, "Allctr_t", "mbcs.blocks")                                           \
	F(carrier_chdr, "Carrier_t", "chdr")                                                       \
	F(carrier_next, "Carrier_t", "next")                                                       \
	F(carrier_allctr, "Carrier_t", "allctr")                                                   \
	F(carrier_cpool, "Carrier_t", "cpool")                                                     \
	F(carrier_cpool_next, "Carrier_t", "cpool.next")                                           \
	F(carrier_cpool_owner, "Carrier_t", "cpool.orig_allctr")                                   \
	F(carrier_cpool_blocks, "Carrier_t", "cpool.blocks")                                       \
	F(carrier_cpool_blocks_size, "Carrier_t", "cpool.blocks_size")

struct beam_layout {
#define LAYOUT_F(member, type, field) int32_t member;
#define LAYOUT_S(member, type)	      int32_t member;
	BEAM_LAYOUT_FIELDS(LAYOUT_F, LAYOUT_S)
#undef LAYOUT_F
#undef LAYOUT_S
};

#endif
