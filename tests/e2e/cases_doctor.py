# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam doctor`: each feature is available, degraded or missing, why, and the fix."""
import json
import os
import time

from answers import Watch
from ebeam import FEW_CAPABILITIES, NOBODY, as_nobody
from harness import Skip, case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True


@case("doctor is content here, and shows the layout checks of the node one by one")
def content(ctx):
    result = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j")
    text = json.dumps(result.json())
    check_in(ctx.node.name, text, "doctor -j")
    check_in("init", text, "a layout check by its name")
    people = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid).out
    for word in ("BTF", ctx.node.name):
        check_in(word, people, "doctor")


@case("doctor without root: exit 4 and the fix", otp="one")
def no_root(ctx):
    result = ctx.ebeam.run("doctor", prefix=NOBODY)
    check_equal(result.code, 4, str(result))
    check("root" in result.out + result.err or "CAP_" in result.out + result.err, str(result))


@case("doctor leaves nothing behind", otp="one", alone=True)
def leaves_nothing(ctx):
    from cases_faults import bpf_objects_of, bpf_show
    # Other programs of this machine may load something meanwhile, and hold it; doctor has ended.
    known = {what: {row["id"] for row in bpf_show(what)} for what in ("prog", "link")}
    ctx.ebeam.ok("doctor", "-j")
    for what in ("prog", "link"):
        deadline = time.monotonic() + 5  # the kernel takes a moment to free what nobody holds
        while True:
            shown = bpf_show(what)
            of_others = {held for pid in os.listdir("/proc") if pid.isdigit() for held in bpf_objects_of(pid)}
            left = [r for r in shown if r["id"] not in known[what] and (what, r["id"]) not in of_others and str(
                r.get("name", "")).startswith(("feature", "probe", "sample", "calibrate"))]
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        check_equal(left, [], f"BPF {what}s after doctor")


INSPECTION = {"ps", "dump", "record --mode wall", "inspect", "sched --now", "diagnose", "crashdump", "mem", "bin",
              "ets", "port", "mod", "dist", "env"}


@case("doctor says for each thing that can be looked at whether it can, in a live node")
def inspection(ctx):
    rows = [r for r in ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j").json()["data"]["features"]
            if r["group"] == "inspection"]
    wrong = [r["feature"] for r in rows if r["state"] != "available"]
    check_equal(wrong, [], "what cannot be looked at")
    named = {r["seen"].removeprefix("ebeam ") for r in rows if r["seen"].startswith("ebeam ")}
    check_equal(named, INSPECTION, "commands")
    check_equal([r["feature"] for r in rows][-1], "core files", "last row")


@case("doctor tries uprobes: without CAP_SYS_ADMIN they are there or not, with the right fix",
      otp="one")
def uprobes(ctx):
    result = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j", prefix=as_nobody(*FEW_CAPABILITIES))
    check_equal(result.code, 0, str(result))
    row, = [r for r in result.json()["data"]["features"] if r["feature"] == "uprobes"]
    if row["state"] != "available":
        check_in("CAP_SYS_ADMIN", row["fix"], "fix of uprobes")
    root, = [r for r in ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j").json()["data"]["features"]
             if r["feature"] == "uprobes"]
    check_equal(root["state"], "available", "uprobes, as root")


@case("without BTF the features that need it are said to be untried", otp="one")
def no_btf(ctx):
    if not os.path.isdir("/sys/kernel/btf"):
        raise Skip("this kernel has no BTF")
    result = ctx.ebeam.run("doctor", "-j", prefix=("unshare", "-m", "sh", "-c",
                           'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh"))
    check_equal(result.code, 5, str(result))
    rows = {r["feature"]: r for r in result.json()["data"]["features"]}
    check_equal(rows["kernel BTF"]["state"], "missing", "kernel BTF")
    check_in("kernel BTF", rows["BPF ring buffer"]["why"], "why of a follow-on row")


@case("kernel faults: those of this kernel, each avoided or with a fix; panic_on_warn is reported", otp="one")
def kernel_faults(ctx):
    def faults(prefix=()):
        rows = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j", prefix=prefix).json()["data"]["features"]
        return {r["feature"]: r for r in rows if r["group"] == "kernel faults"}

    file = ctx.ebeam.file(".one")
    with open(file, "w") as f:
        f.write("1\n")
    set_it = ("unshare", "-m", "--propagation", "private", "sh", "-c",
              f'mount --bind {file} /proc/sys/kernel/panic_on_warn && exec "$@"', "sh")
    usual, warned = faults(), faults(set_it)
    for row in [*usual.values(), *warned.values()]:
        check("ebeam avoids it" in row["seen"] if row["state"] == "available" else row["why"] and row["fix"],
              str(row))
    with open("/proc/sys/kernel/panic_on_warn") as f:
        added = set(warned) - set(usual)
        check_equal(len(added), 1 - int(f.read()), f"rows that panic_on_warn adds: {added}")
    row, = [r for r in warned.values() if "panic_on_warn" in r["seen"]]
    check_in("panic_on_warn=0", row["fix"], "fix")
    manual = ctx.ebeam.ok("help", "--man", "support").out
    for feature in usual:
        check_in(feature, manual, "the manual has it")


@case("too few open files: exit 1, and the number that is needed", otp="one")
def few_files(ctx):
    result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", "200ms", "-f", "folded", "-o",
                           "/dev/null", prefix=("sh", "-c", 'ulimit -n 16 && exec "$@"', "sh"))
    if result.code != 0:  # root may raise the limit, if this machine lets it
        check_equal(result.code, 1, str(result))
        check_in("ulimit -n", result.err, "advice")


def registers(ctx, node):
    row, = [r for r in ctx.ebeam.ok("doctor", "-p", node.os_pid, "-j").json()["data"]["features"]
            if r["feature"] == "debug registers"]
    return row


@case("doctor tries debug registers: all four are free, unless a trace holds some of them",
      alone=True)
def debug_registers(ctx):
    host, = [r for r in ctx.ebeam.ok("doctor", "-j").json()["data"]["features"]
             if r["feature"] == "hardware breakpoints"]
    check_equal(host["state"], "available", str(host))
    check_in("4 of 4", host["seen"], "of this host")
    node = ctx.new_node(flags=("+S", "2:2"))
    row = registers(ctx, node)
    check_equal((row["state"], row["seen"]), ("available", "4 of 4 free on each of 2 schedulers"),
                "of a node")
    node.ask("traced", "warm", "none")
    trace = Watch(ctx, node, "traced:rec/1", "traced:tail/2", "traced:deep/1", command="trace")
    row = registers(ctx, node)
    check_equal((row["state"], row["seen"][:6]), ("degraded", "1 of 4"), str(row))
    check_in("debug register", row["why"], "why")
    trace.events()
    check_equal(registers(ctx, node)["state"], "available", "afterwards")
