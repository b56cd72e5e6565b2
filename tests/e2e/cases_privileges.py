# SPDX-License-Identifier: BSD-2-Clause
"""Few privileges: each command works with the capabilities that the manual's table names, and not
with one less; what else may forbid it is said, with the fix.  Also run on other kernels
(tests/kernels)."""
import os
import re
import shutil
import struct
import sys
import threading

from ebeam import FEW_CAPABILITIES, NOBODY, as_nobody
from harness import case, check, check_equal, check_in, linux, patience

SIDE_BY_SIDE = IN_TURN = True

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "doc", "ebeam-privileges.md")
NUMBER = {"CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38, "CAP_BPF": 39}

SHORT = ("-d", "500ms")
FOLDED = ("-f", "folded", "-o", "/dev/null")
# As the table names them -> words, without the node.
COMMANDS = {
    "list": ("list",), "ps": ("ps",), "dump": ("dump",),
    "crashdump": ("crashdump", "-o", "/dev/null"), "mem": ("mem",), "bin": ("bin",), "ets": ("ets",),
    "core": ("core", "-o", "/dev/null"),
    "port": ("port",), "mod": ("mod",), "dist": ("dist",), "env": ("env", "kernel"),
    "inspect": ("inspect", "init"), "diagnose": ("diagnose", *SHORT),
    "record": ("record", *SHORT, *FOLDED),
    "top": ("top", "-b", "-n", "1", "--watch", "500ms"),
    "trace (Erlang functions)": ("trace", "lists:map/2", *SHORT),
    "trace (BIFs, NIFs)": ("trace", "ets:insert/2", *SHORT),
    "sched --now": ("sched", "--now"),
    "port --io": ("port", "--io", *SHORT),
    **{f"record --mode {mode}": ("record", "--mode", mode, *SHORT, *FOLDED)
       for mode in ("wall", "wait", "sched", "gc", "alloc", "msg", "malloc", "offcpu")},
    **{name: (name, *SHORT) for name in ("events", "locks", "gc", "msg", "sched", "proc", "alloc")},
}
# What a command goes on without.
LACKING = re.compile(r"will have no names|no samples|not limited|nodes of the same user|cannot")


def run(ctx, name, prefix, node=None):
    words = COMMANDS[name]
    target = () if name == "list" else ("-p", (node or ctx.node).os_pid)
    return ctx.ebeam.run(*words, *target, prefix=prefix)


def works(result):
    return result.code in (0, 7) and not LACKING.search(result.err)


def table():
    """command -> capabilities, of the kernel that runs."""
    multi = linux() >= (6, 6)
    with open(PAGE) as f:
        text = f.read()
    found = {}
    for commands, late, early in re.findall(r"^\| (`.*?) \| (.*?) \| (.*?) \|$", text, re.M):
        for name in re.findall(r"`([a-z -]+)`( \([^)]*\))?", commands):
            found["".join(name)] = re.findall(r"CAP_\w+", late if multi else early)
    return found


def sysctl(ctx, name, value):
    """Sets kernel.NAME for the length of the case."""
    path = f"/proc/sys/kernel/{name}"
    with open(path) as f:
        before = f.read()

    def write(text):
        with open(path, "w") as f:
            f.write(text)
    ctx.cleanup(write, before)
    write(f"{value}\n")


@case("each command with the capabilities of the manual's table, and not with one less", otp="one",
      timeout=600, alone=True, long=True)
def sets(ctx):
    sysctl(ctx, "perf_event_paranoid", 2)
    named = table()
    check_equal(set(named), set(COMMANDS), "commands of the table")
    wrong = []
    for name, capabilities in named.items():
        result = run(ctx, name, as_nobody(*capabilities))
        if not works(result):
            wrong.append(f"{name} with {capabilities}: {result}")
        for less in capabilities:
            fewer = run(ctx, name, as_nobody(*(c for c in capabilities if c != less)))
            if works(fewer):
                wrong.append(f"{name} works without {less}")
            elif fewer.code not in (0, 7):
                check_equal(fewer.code, 4, str(fewer))
                check_in("CAP_", fewer.err, "what is missing")
    check_equal(wrong, [], "commands")


@case("file capabilities are as good", otp="one", alone=True)
def file_capabilities(ctx):
    sysctl(ctx, "perf_event_paranoid", 2)
    path = os.path.join("/tmp", f"ebeam-caps-{os.getpid()}")
    shutil.copy(ctx.ebeam.path, path)
    ctx.cleanup(os.unlink, path)
    os.chmod(path, 0o755)
    bits = sum(1 << NUMBER[name] for name in FEW_CAPABILITIES)
    os.setxattr(path, "security.capability",
                struct.pack("<5I", 0x02000001, bits & 0xffffffff, 0, bits >> 32, 0))
    for name in ("ps", "record"):
        words = (*COMMANDS[name], "-p", ctx.node.os_pid)
        result = ctx.ebeam.run(*words, prefix=(*NOBODY, "sh", "-c", f'shift; exec {path} "$@"', "sh"))
        check(result.code in (0, 7), str(result))


@case("an executable that others may not read: CAP_DAC_READ_SEARCH is named, and is enough",
      otp="one", alone=True)
def hidden_executable(ctx):
    sysctl(ctx, "perf_event_paranoid", 2)
    node, _ = ctx.copied_node(mode=0o750)
    refused = run(ctx, "ps", as_nobody(*FEW_CAPABILITIES), node)
    check_equal(refused.code, 4, str(refused))
    check_in("CAP_DAC_READ_SEARCH", refused.err, "fix")
    few = as_nobody(*FEW_CAPABILITIES)
    row, = [r for r in ctx.ebeam.ok("list", "-j", prefix=few).json()["data"] if r["os_pid"] == node.os_pid]
    check_in("CAP_DAC_READ_SEARCH", row["unsupported_reason"], "list")
    found = ctx.ebeam.run("doctor", prefix=few)
    check(f"pid {node.os_pid}" in found.out and "CAP_DAC_READ_SEARCH" in found.out, str(found))
    needed = table()
    for name in ("ps", "record", "gc", "trace (BIFs, NIFs)"):
        result = run(ctx, name, as_nobody("CAP_DAC_READ_SEARCH", *needed[name]), node)
        check(works(result), str(result))


@case("kernel.perf_event_paranoid above 2: with CAP_PERFMON it works, or the setting is named",
      otp="one", alone=True)
def paranoid_3(ctx):
    sysctl(ctx, "perf_event_paranoid", 3)
    for name in ("record", "trace (Erlang functions)"):
        result = run(ctx, name, as_nobody(*FEW_CAPABILITIES))
        if result.code not in (0, 7):
            check_equal(result.code, 4, str(result))
            check_in("kernel.perf_event_paranoid is above 2", result.err, "why")
            check_in("CAP_SYS_ADMIN", result.err, "fix")
        again = run(ctx, name, as_nobody("CAP_SYS_ADMIN", "CAP_SYS_PTRACE"))
        check(again.code in (0, 7), str(again))


@case("kernel.kptr_restrict 2: functions of the kernel have no names, all else works", otp="one",
      alone=True)
def kptr_restrict(ctx):
    sysctl(ctx, "kptr_restrict", 2)
    for name in ("record", "gc", "trace (BIFs, NIFs)"):
        result = run(ctx, name, ())
        check(result.code in (0, 7), str(result))
    rows = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j").json()["data"]["features"]
    row, = [r for r in rows if r["feature"] == "kernel.kptr_restrict"]
    check_equal(row["state"], "degraded", "doctor")
    check_in("kptr_restrict", row["fix"], "fix")


@case("/proc with hidepid: said, and with CAP_SYS_PTRACE all is seen", otp="one", alone=True)
def hidepid(ctx):
    def hidden(prefix):
        return ("unshare", "-m", "--propagation", "private", "sh", "-c",
                'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh", *prefix)

    pid = ctx.node.os_pid
    result = ctx.ebeam.run("ps", "-p", pid, prefix=hidden(NOBODY))
    check_equal(result.code, 4, str(result))
    check_in("hidepid", result.err, "ps")
    check_in("hidepid", ctx.ebeam.run("list", prefix=hidden(NOBODY)).err, "list")
    seen = ctx.ebeam.ok("ps", "-p", pid, prefix=hidden(as_nobody("CAP_SYS_PTRACE")))
    check(seen.out, "processes")
    all_seen = ctx.ebeam.ok("list", prefix=hidden(as_nobody("CAP_SYS_PTRACE")))
    check_in(ctx.node.name, all_seen.out, "list with CAP_SYS_PTRACE")
    check_equal(all_seen.err, "", "warnings")


DENY = r"""
import ctypes, os, struct, sys
numbers = [int(n) for n in sys.argv[1].split(",")]
code = int(os.environ.get("DENY_WITH", "1"))  # EPERM
load = struct.pack("<HBBI", 0x20, 0, 0, 0)  # the number of the call
refuse = b"".join(struct.pack("<HBBI", 0x15, 0, 1, n) + struct.pack("<HBBI", 6, 0, 0, 0x50000 + code)
                  for n in numbers)
program = load + refuse + struct.pack("<HBBI", 6, 0, 0, 0x7fff0000)
buffer = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None, use_errno=True)
filter = struct.pack("<H6xQ", len(program) // 8, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execvp(sys.argv[2], sys.argv[2:])
"""
PROCESS_VM_READV, BPF, PERF_EVENT_OPEN, PIDFD_OPEN = 310, 321, 298, 434


def without(*calls):
    """A prefix: these system calls answer EPERM."""
    return (sys.executable, "-c", DENY, ",".join(map(str, calls)))


@case("a seccomp filter, as of container runtimes: what is refused is said, and that it is not for "
      "want of capabilities", otp="one", in_pairs=True)
def seccomp(ctx):
    for calls, name in ((BPF, "gc"), (BPF, "record"), (PERF_EVENT_OPEN, "record"),
                        (PERF_EVENT_OPEN, "trace (Erlang functions)")):
        result = run(ctx, name, without(calls))
        check_equal(result.code, 4, str(result))
        check_in("a seccomp filter", result.err, name)
    # Others answer as a kernel without such a call.
    for call, name in ((BPF, "gc"), (BPF, "record"), (PERF_EVENT_OPEN, "record"),
                       (PERF_EVENT_OPEN, "trace (Erlang functions)")):
        unknown = ("env", "DENY_WITH=38", *without(call))
        result = run(ctx, name, unknown)
        check_equal(result.code, 5, str(result))
        check_in("a seccomp filter", result.err, name)
        rows = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j", prefix=unknown).json()
        for row in rows["data"]["features"]:
            if row["group"] == "kernel features" and "not implemented" in (row["why"] or ""):
                check_in("a seccomp filter", row["fix"] or "", str(row))
    # As older container runtimes have it: the end of a node is looked for.
    result = run(ctx, "gc", without(PIDFD_OPEN))
    check(result.code in (0, 7), str(result))
    ended = ctx.new_node()
    stop = threading.Timer(patience(2), ended.close)
    stop.start()
    result = ctx.ebeam.run("gc", "-d", patience(20), "-p", ended.os_pid, prefix=without(PIDFD_OPEN))
    stop.join()
    check(result.code == 0 and "exited" in result.err and result.seconds < patience(10), str(result))
    # Memory is read by another way then.
    result = run(ctx, "ps", without(PROCESS_VM_READV))
    check_equal(result.code, 0, str(result))
    result = run(ctx, "top", without(BPF))
    check_equal(result.code, 0, str(result))
    check_in("no samples", result.err, "top")


@case("in a user namespace root has no privileges: said", otp="one")
def user_namespace(ctx):
    for name, words in (("record", "user namespace"), ("ps", "user namespace")):
        result = run(ctx, name, ("unshare", "--user", "--map-root-user"))
        check_equal(result.code, 4, str(result))
        check_in(words, result.err, name)


@case("a node in a user, PID and mount namespace of its own", otp="one")
def node_in_namespaces(ctx):
    node = ctx.new_node(prefix=("unshare", "--user", "--map-root-user", "--pid", "--fork",
                                "--kill-child", "--mount-proc"))
    check(node.inner_pid != node.os_pid, "the node is not in a PID namespace of its own")
    for prefix in ((), as_nobody("CAP_SYS_ADMIN", "CAP_SYS_PTRACE")):
        for name in ("ps", "record", "gc", "trace (BIFs, NIFs)"):
            result = run(ctx, name, prefix, node)
            check(works(result), str(result))


@case("ebeam in the PID namespace of the node: what reads memory works, the rest says why not",
      otp="one")
def own_pid_namespace(ctx):
    node = ctx.new_node(prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    inside = ("nsenter", "-t", node.os_pid, "-p", "-m")
    prefix = tuple(map(str, inside))
    seen = ctx.ebeam.ok("ps", "-p", node.inner_pid, prefix=prefix)
    check(seen.out, "processes")
    refused = ctx.ebeam.run("gc", "-p", node.inner_pid, *SHORT, prefix=prefix)
    check_equal(refused.code, 5, str(refused))
    check_in("PID namespace", refused.err, "why")
    check_in("--pid=host", refused.err, "fix")
    # As in a container of its own: no node can be seen from there.
    alone = ("unshare", "--pid", "--fork", "--mount-proc")
    check_in("--pid=host", ctx.ebeam.ok("list", prefix=alone).err, "list")
    none = ctx.ebeam.run("ps", prefix=alone)
    check_equal(none.code, 4, str(none))
    check_in("--pid=host", none.err, "ps")
