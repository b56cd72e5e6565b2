# SPDX-License-Identifier: BSD-2-Clause
"""Releases that ebeam does not know: read by DWARF, or by the nearest layout that passes all checks
if that is asked for, and marked everywhere; else refused, with what would help."""
import gzip
import json
import os
import re
import shutil
import subprocess

from cases_core import gcore, make_dir, start_node, stop
from ebeam import Ebeam
from harness import case, check, check_equal, check_in
from reading import answers, check_same, readings
from nodes import TOP
from unknown import add_dwarf, call_it, table

SIDE_BY_SIDE = IN_TURN = True
KNOWN = (24, 25, 26, 27, 28, 29)
UNKNOWN = 30


class Forgetful(Ebeam):
    """ebeam that does not know those releases."""

    def __init__(self, ctx, *releases):
        super().__init__(ctx.ebeam.path, ctx.ebeam.work_dir)
        self.forgotten = ",".join(map(str, releases))

    def popen(self, *args, **kwargs):
        kwargs["env"] = dict(os.environ, EBEAM_FORGET_LAYOUTS=self.forgotten)
        return super().popen(*args, **kwargs)

    def file(self, suffix):
        raise NotImplementedError


def own_table(ctx):
    return f"otp{ctx.release}" + ("-vmprobes" if "usdt" in ctx.otp else "")


def nearest(ctx):
    """ebeam for which the release that it does not know is nearest to this one."""
    return Forgetful(ctx, *(r for r in KNOWN if r > ctx.release))


def another_exe(ctx, exe, name, *changes):
    """A copy of the emulator with changes."""
    path = os.path.join(os.path.dirname(exe), name)
    shutil.copy(exe, path)
    for change in changes:
        change(path)
    return path


def a_core(ctx):
    """A core file of a node, and its emulator."""
    directory = make_dir(ctx)
    node = start_node(ctx, directory, name=f"unknown{ctx.otp}@127.0.0.1")
    exe = os.path.join(directory, "beam.smp")
    shutil.copy(f"/proc/{node.os_pid}/exe", exe)
    stop(ctx, node.os_pid)
    return gcore(directory, node.os_pid), exe


def with_dwarf(ctx, layout, keep=1.0):
    return lambda path: add_dwarf(ctx, path, layout, keep)


def claims(release):
    return lambda path: call_it(path, release)


def reads(ebeam, core, exe, *args):
    return ebeam.run("ps", "--core", core, "--exe", exe, "-j", *args)


def check_refused(result, *words):
    check_equal(result.code, 6, str(result))
    check_equal(result.out, "", "output of what was refused")
    for word in words:
        check_in(word, result.err, "refusal")


def check_marked(result, mark):
    check_equal(result.code, 0, str(result))
    check_equal(result.json()["node"]["untested"], mark, "node.untested")
    check_in(mark, result.err, "warning")


@case("by DWARF, and by the nearest table if asked for, all commands say what they say by the table",
      timeout=300)
def same_answers(ctx):
    core, exe = a_core(ctx)
    found = [reading for reading in readings(ctx.ebeam) if reading.command != "doctor"]
    known = answers(ctx.ebeam, ("--core", core, "--exe", exe), found)
    dwarf = another_exe(ctx, exe, "dwarf", claims(UNKNOWN), with_dwarf(ctx, table(own_table(ctx))))
    plain = another_exe(ctx, exe, "plain", claims(UNKNOWN))
    ebeam = nearest(ctx)
    by_dwarf = answers(ebeam, ("--core", core, "--exe", dwarf), found)
    check_same(found, known, by_dwarf, "by DWARF")
    check_marked(reads(ebeam, core, dwarf), "by DWARF, untested release")
    check_refused(reads(ebeam, core, plain), f"OTP {UNKNOWN}", "debug symbols", "--try-layout",
                  "update ebeam", own_table(ctx))
    by_table = answers(ebeam, ("--core", core, "--exe", plain, "--try-layout"), found)
    check_same(found, known, by_table, "by the nearest table")
    check_marked(reads(ebeam, core, plain, "--try-layout"), f"by table {own_table(ctx)}, untested release")


def rows_of(ebeam, node, *args):
    row, = [r for r in ebeam.ok("list", "-j", *args).json()["data"] if r["os_pid"] == node.os_pid]
    return row


def doctor(ebeam, node, code, *args):
    """Rows of doctor about the node, by feature, and what it says of the node."""
    data = ebeam.ok("doctor", "-p", node.os_pid, "-j", *args, code=code).json()["data"]
    about, = data["nodes"]
    return {r["feature"]: r for r in data["features"] if r["os_pid"]}, about


def check_marked_everywhere(ctx, ebeam, node, mark, *args):
    """What commands of each kind say of a live node, and a capture of it later."""
    facts = node.facts()
    row = rows_of(ebeam, node, *args)
    check_equal((row["name"], row["supported"], row["untested"]), (facts["name"], True, mark),
                f"list: {row['unsupported_reason']}")
    check_in(mark, ebeam.ok("list", *args).out, "list, text")
    rows, about = doctor(ebeam, node, 0, *args)
    check_equal((about["untested"], about["supported"]), (mark, True), "doctor: node")
    check_equal(rows["struct layout"]["state"], "degraded", "doctor: struct layout")
    check_in(f"{mark}: ", rows["struct layout"]["why"], "doctor: why")
    check_in(f"as in OTP {ctx.release}", rows["struct layout"]["why"], "doctor: whose facts")
    capture = os.path.join(ctx.work_dir, f"unknown-{ctx.otp}-{len(args)}.ebeam")
    ctx.cleanup(os.unlink, capture)
    for words in (("ps",), ("dump", "-f", "json"), ("gc", "-d", "300ms", "-o", capture), ("top", "-b", "-n", "1"),
                  ("record", "-d", "300ms", "-f", "json", "-o", "-"),
                  ("trace", "lists:map/2", "-d", "300ms", "--count")):
        as_json = () if "-f" in words or "-o" in words else ("-j",)
        result = ebeam.run(words[0], "-p", node.os_pid, *args, *as_json, *words[1:])
        check_equal(result.code, 0, str(result))
        check_in(f"OTP {UNKNOWN} is read {mark}", result.err, f"warning of {words[0]}")
        if capture not in words:
            check_equal(result.json()["node"]["untested"], mark, f"{words[0]}: node.untested")
        if words[0] == "record":
            check_in(mark, " ".join(result.json()["warnings"]), "record: warnings")
    # Who reads the capture knows it from there.
    later = ctx.ebeam.ok("gc", "-i", capture, "-j").json()
    check_equal(later["node"]["untested"], mark, "gc of a capture: node.untested")
    check_in(f"was read {mark}", ctx.ebeam.ok("gc", "-i", capture).err, "gc of a capture: warning")


def check_lines_marked(ebeam, mark, *args):
    """Lines of a stream have no node beside them: each says it."""
    lines = [json.loads(line) for line in ebeam.ok(*args).out.splitlines()]
    check(lines, f"{args}: no lines")
    check_equal({line.get("untested") for line in lines}, {mark}, f"{args}: untested")


def check_files_marked(ctx, ebeam, node, mark, *args):
    """What has no object of the node, live and of captures: lines, and files of other formats."""
    lines = (("events", "-e", "process_scheduled", "-n", "20"), ("trace", "paced:times/2 -> return", "-n", "20"))
    node.start("paced")
    for words in lines:
        capture = ctx.ebeam.file(".ebeam")
        live = words[0], "-p", node.os_pid, *args, *words[1:], "-d", "5s"
        check_lines_marked(ebeam, mark, *live, "-j")
        ebeam.ok(*live, "-o", capture)
        check_lines_marked(ctx.ebeam, mark, words[0], "-i", capture, "-j")
    listed = ebeam.ok("events", "--list", "-p", node.os_pid, *args, "-j").json()
    check_equal({row.get("untested") for row in listed}, {mark}, "events --list: untested")
    capture = ctx.ebeam.file(".ebeam")
    ebeam.ok("record", "-p", node.os_pid, *args, "--mode", "sched", "-d", "300ms", "-o", capture)
    for form in ("text", "json", "svg", "speedscope", "pprof", "perfetto"):
        out = ctx.ebeam.file(f".{form}")
        ctx.ebeam.ok("report", capture, "-f", form, "-o", out)
        with open(out, "rb") as f:
            data = f.read()
        check(mark.encode() in (gzip.decompress(data) if form == "pprof" else data), f"{form}: no '{mark}'")


@case("a live node with DWARF: all commands read it and say that the release is untested", timeout=300)
def live_dwarf(ctx):
    node, _ = ctx.copied_node(change=lambda path: (claims(UNKNOWN)(path),
                                                   with_dwarf(ctx, table(own_table(ctx)))(path)))
    ebeam, mark = nearest(ctx), "by DWARF, untested release"
    check_marked_everywhere(ctx, ebeam, node, mark)
    check_files_marked(ctx, ebeam, node, mark)


@case("a live node without DWARF is refused with what would help, and read with --try-layout", otp="one",
      timeout=300, long=True)
def live_table(ctx):
    node, _ = ctx.copied_node(change=claims(UNKNOWN))
    ebeam, mark = nearest(ctx), f"by table {own_table(ctx)}, untested release"
    for words in (("ps",), ("record", "-d", "1", "-f", "json", "-o", "-"), ("gc", "-d", "1"),
                  ("trace", "lists:map/2", "-d", "1"), ("top", "-b", "-n", "1")):
        check_refused(ebeam.run(words[0], "-p", node.os_pid, *words[1:]), f"OTP {UNKNOWN} (ERTS ", "jit", "(up ",
                      "in memory)", "debug symbols", "--try-layout", "update ebeam", own_table(ctx))
    row = rows_of(ebeam, node)
    check_equal((row["otp"], row["flavor"], row["supported"], row["untested"], row["name"]),
                (str(UNKNOWN), "jit", False, None, None), "list")
    check(row["uptime_s"] is not None and row["rss"] > 2**20, f"list: {row}")
    check_in("--try-layout", row["unsupported_reason"], "list: reason")
    rows, about = doctor(ebeam, node, 6)
    check_equal((about["otp"], about["supported"]), (str(UNKNOWN), False), "doctor: node")
    for word in ("debug symbols", "--try-layout", "update ebeam"):
        check_in(word, rows["release and build"]["fix"], "doctor: fix")
    check(re.match(r"up .* in memory", rows["process"]["seen"]), f"doctor: {rows['process']}")
    check_marked_everywhere(ctx, ebeam, node, mark, "--try-layout")
    check_files_marked(ctx, ebeam, node, mark, "--try-layout")


@case("a real release whose table is taken away is refused: by its number, or with --try-layout by a check",
      timeout=120)
def taken_away(ctx):
    ebeam = Forgetful(ctx, ctx.release)
    refused = ebeam.run("ps", "-p", ctx.node.os_pid)
    check_refused(refused, f"OTP {ctx.release} ", "--try-layout", "the nearest")
    near = re.search(r"of which (otp\S+) is the nearest", refused.err).group(1)
    tried = ebeam.run("ps", "-p", ctx.node.os_pid, "--try-layout", "-v")
    check_refused(tried, f"the nearest layout (table {near}), nor any other. Failed check: ")
    passed = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j").json()["data"]["features"]
    names = {r["feature"] for r in passed if r["group"] == "layout checks"}
    tables = re.findall(r"layout table (otp\S+) does not fit: check (.*?) failed, it read ", tried.err)
    check({check for _, check in tables} <= names, f"checks that failed: {tables}")
    rows, about = doctor(ebeam, ctx.node, 6, "--try-layout")
    check_equal((about["layout"], about["supported"]), (f"table {near}", False), "doctor: node")
    check_in("update ebeam", rows["release and build"]["fix"], "doctor: fix")


@case("with DWARF, but its table taken away, the newest release is read as by its table; others lack a field",
      timeout=240)
def taken_away_dwarf(ctx):
    """As when ebeam is older than the node: what no layout describes is that of the release before."""
    core, exe = a_core(ctx)
    dwarf = another_exe(ctx, exe, "dwarf", with_dwarf(ctx, table(own_table(ctx))))
    ebeam = Forgetful(ctx, ctx.release)
    if ctx.release < max(KNOWN):
        check_refused(reads(ebeam, core, dwarf), f"OTP {ctx.release} ", "has no usable ", "the nearest", "--try-layout")
        return
    found = [reading for reading in readings(ctx.ebeam) if reading.command != "doctor"]
    check_same(found, answers(ctx.ebeam, ("--core", core, "--exe", exe), found),
               answers(ebeam, ("--core", core, "--exe", dwarf), found), "by DWARF")
    check_marked(reads(ebeam, core, dwarf), "by DWARF, untested release")


@case("an executable that lies about its release, and DWARF of another build, are refused by a check", timeout=240)
def lies(ctx):
    core, exe = a_core(ctx)
    others = [r for r in KNOWN if r != ctx.release]
    for other in others:
        lying = another_exe(ctx, exe, "lying", claims(other))
        result = reads(ctx.ebeam, core, lying)
        # A build with probes has no table of its own in later releases.
        check_refused(result, "What would help")
        check("is the nearest" in result.err or "Failed check: " in result.err, str(result))
        foreign = another_exe(ctx, exe, "foreign", with_dwarf(ctx, table(f"otp{other}")))
        result = reads(ctx.ebeam, core, foreign)
        if result.code == 0:  # it lacks what this release has: not used
            check_equal(result.json()["node"]["untested"], None, "DWARF that lacks something: by table")
        else:
            check_refused(result, "DWARF of the executable", "Failed check: ", "of this very build")
        strange = another_exe(ctx, exe, "strange", claims(UNKNOWN), with_dwarf(ctx, table(f"otp{other}")))
        result = reads(nearest(ctx), core, strange)
        check_refused(result, "--try-layout", "update ebeam")
        check("Failed check: " in result.err or "has no usable " in result.err, str(result))


# Fields that a check notices on all releases if they stand eight bytes further on.
NOTICED = set("""atom_index atom_len binary_orig_bytes code_header_functions code_header_num_functions code_info_mfa
    driver_name ets_all_next ets_all_prev ets_btid ets_counters ets_hash_nactive ets_hash_segtab
    ets_heir ets_keypos ets_nr_of_counters ets_owner ets_status ets_the_name export_info export_mfa
    index_table_seg_table link_item link_left link_parent link_right mfa_arity mfa_function mfa_module
    module_curr module_instance_code_hdr module_instance_code_length module_module port_drv_ptr port_id
    process_abandoned_heap process_bin_old_vheap_sz process_current process_dictionary process_flags
    process_group_leader process_heap process_heap_sz process_hend process_high_water process_htop
    process_i process_id process_initial process_links process_mbuf process_min_heap_size
    process_off_heap_first process_old_heap process_old_hend process_old_htop process_parent process_psd
    process_reds process_reg process_run_queue process_scheduler_data process_sig_inq_first
    process_sig_inq_last process_sig_qs_cont process_sig_qs_cont_last process_sig_qs_first
    process_sig_qs_flags process_sig_qs_save process_size process_state process_stop ptab_element_size
    ptab_max ptab_pix_mask ptab_tab regproc_name regproc_p runq_ix runq_stride sched_no sched_run_queue
    sched_ssi sched_stride sched_tid sched_type""".split())


@case("a field of the layout that stands elsewhere is noticed by a check, if one looks at it", timeout=300)
def moved_fields(ctx):
    core, exe = a_core(ctx)
    done = subprocess.run([os.path.join(TOP, "build/tools/layoutmove"), core, exe], capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    by = dict(line.split("\t") for line in done.stdout.splitlines())
    check_equal(by.keys(), table(own_table(ctx)).keys(), "fields")
    noticed = {field for field, check_name in by.items() if check_name != "-"}
    print(f"    {len(noticed)} of {len(by)} fields are noticed", flush=True)
    # Where symbols are hidden schedulers are found by their shape: one of them fits any stride.
    missed = {"sched_stride"} if ctx.release >= 29 else set()
    # The field behind it, how many words of binaries there are, is 0 in these processes.
    missed |= {"process_off_heap_first"} if ctx.release == 24 else set()
    check_equal(NOTICED - noticed - missed, set(), "fields that no check notices any more")


@case("debug information that is cut short is not used: by the table if there is one, else refused")
def half(ctx):
    core, exe = a_core(ctx)
    for keep in (0.9, 0.5, 0.01):
        cut = with_dwarf(ctx, table(own_table(ctx)), keep)
        known = reads(ctx.ebeam, core, another_exe(ctx, exe, "known", cut))
        check_equal((known.code, known.json()["node"]["untested"]), (0, None), str(known))
        unknown = another_exe(ctx, exe, "unknown", claims(UNKNOWN), cut)
        check_refused(reads(nearest(ctx), core, unknown), f"OTP {UNKNOWN}", "has no usable ", own_table(ctx))
        check_marked(reads(nearest(ctx), core, unknown, "--try-layout"),
                     f"by table {own_table(ctx)}, untested release")
