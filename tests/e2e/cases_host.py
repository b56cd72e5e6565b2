# SPDX-License-Identifier: BSD-2-Clause
"""Hosts that lack something: privileges, parts of the kernel; and the installation on a host."""
import json
import os
import struct
import subprocess
import sys
import time

from answers import Watch
from harness import Skip, case, check, check_equal, check_in
from nodes import TOP

SIDE_BY_SIDE = IN_TURN = True

NO_BTF = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
          'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh")


@case("a kernel without BTF: exit 5 and the reason; list still works; doctor says so", otp="one",
      alone=True)
def no_btf(ctx):
    tried = subprocess.run([*NO_BTF, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise Skip(f"cannot hide the kernel's BTF: {tried.stderr.strip()}")
    result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "folded", "-o", "-",
                           prefix=NO_BTF)
    check_equal(result.code, 5, str(result))
    check_in("BTF", result.err, "text of the refusal")
    rows = ctx.ebeam.ok("list", "-j", prefix=NO_BTF).json()["data"]
    check(any(r["os_pid"] == ctx.node.os_pid for r in rows), "list without BTF")
    check_in("--btf", result.err, "what to do")
    doctor = ctx.ebeam.run("doctor", prefix=NO_BTF)
    check_equal(doctor.code, 5, str(doctor))
    check_in("--btf", doctor.out + doctor.err, "doctor")


BTF_BYTES = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0),
             15: (0, 12), 17: (4, 0), 19: (0, 12)}  # behind a type of this kind: so many, and each


def member_of_btf(data, struct_name, member):
    """Where a member's name, type and offset stand in raw BTF (linux/btf.h)."""
    header, types, _, strings = struct.unpack_from("<4xIIII", data)
    at, end = header + types, header + strings

    def name(offset):
        begin = header + strings + offset
        return data[begin:data.index(b"\0", begin)].decode()

    while at < end:
        name_off, info, _ = struct.unpack_from("<III", data, at)
        kind, nr = info >> 24 & 0x1f, info & 0xffff
        if kind == 4 and name(name_off) == struct_name:
            for i in range(nr):
                if name(struct.unpack_from("<I", data, at + 12 + 12 * i)[0]) == member:
                    return at + 12 + 12 * i
        fixed, each = BTF_BYTES.get(kind, (0, 0))
        at += 12 + fixed + nr * each
    raise Skip(f"no {struct_name}.{member} in the BTF of this kernel")


@case("--btf: without BTF in the kernel a copy of it does; what is none, or another kernel's, is reported",
      otp="one")
def btf_file(ctx):
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        raise Skip("this kernel has no BTF")
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        whole = f.read()
    files = {name: ctx.ebeam.file(f".{name}") for name in ("whole", "short", "elsewhere", "astray")}
    comm = member_of_btf(whole, "task_struct", "comm")
    _, kind, offset = struct.unpack_from("<III", whole, comm)
    wrong = {"elsewhere": (kind, offset + 64), "astray": (0x7fffffff, offset)}
    for name, path in files.items():
        data = bytearray(whole[:len(whole) * 2 // 3] if name == "short" else whole)
        if name in wrong:
            struct.pack_into("<II", data, comm + 4, *wrong[name])
        with open(path, "wb") as f:
            f.write(data)
    pid = ctx.node.os_pid
    for command in (("record", "-p", pid, "-d", 1, "-f", "folded", "-o", "-"),
                    ("events", "-p", pid, "-d", 1, "-e", "gc"), ("doctor", "-p", pid)):
        result = ctx.ebeam.run(*command, "--btf", files["whole"], prefix=NO_BTF)
        check_equal(result.code, 0, str(result))
        for path, why in ((files["short"], "holds no BTF"), (files["astray"], "holds no BTF"),
                          (files["elsewhere"], "not that of this kernel"),
                          ("/etc/passwd", "holds no BTF"), (ctx.ebeam.path, "holds no BTF"),
                          ("/nonexistent", "cannot open"), ("/etc", "holds no BTF")):
            result = ctx.ebeam.run(*command, "--btf", path, prefix=NO_BTF)
            check_equal(result.code, 1, str(result))
            check_in(why, result.err, path)
            check_in(path, result.err, "the file")


def ahead(pid):
    """What goes before others among the threads of a process, for a second: "rt" if any is
    real-time, "nice" if any is nicer to itself than this one."""
    found, until = set(), time.monotonic() + 1
    while time.monotonic() < until:
        for task in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{task}/stat") as f:
                    fields = f.read().rpartition(")")[2].split()  # from the third on
            except OSError:
                continue  # it ended
            nice, policy = int(fields[16]), int(fields[38])
            found |= {"rt"} if policy in (os.SCHED_FIFO, os.SCHED_RR) else set()
            found |= {"nice"} if nice < os.nice(0) else set()
        time.sleep(0.02)
    return found


@case("--no-realtime: no thread is real-time or at nice -20; without it those of sched, gc and the budget",
      otp="one", in_pairs=True, long=True)
def no_realtime(ctx):
    for command, usual, *words in (("sched", {"rt", "nice"}), ("events", {"nice"}, "-e", "process"),
                                   ("trace", {"nice"}, "ets:lookup/2"), ("gc", {"rt", "nice"})):
        for option, wanted in (((), usual), (("--no-realtime",), set())):
            watch = Watch(ctx, ctx.node, *words, *option, command=command)
            check_equal(ahead(watch.process.pid), wanted, f"{command} {' '.join(option)}")
            watch.end()
    row, = [r for r in ctx.ebeam.ok("doctor", "-j").json()["data"]["features"]
            if r["feature"] == "real-time threads"]
    check_equal(row["state"], "available", str(row))
    check_in("--no-realtime", row["seen"], "doctor")


# A process whose system calls are filtered: that of return probes is refused, all others pass.
FILTERED = (sys.executable, "-c", """
import ctypes, os, struct, sys
code = struct.pack("<" + "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 335, 6, 0, 0, 0x50001, 6, 0, 0, 0x7fff0000)
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(code)
program = struct.pack("<H6xQ", 4, ctypes.addressof(buf))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
""")


@case("a node that filters its system calls, as in containers, outlives return probes, or is spared them",
      otp="one", alone=True)
def filtered(ctx):
    node = ctx.new_node(prefix=FILTERED)
    with open(f"/proc/{node.os_pid}/status") as f:
        check("\nSeccomp:\t2\n" in f.read(), "the node has a filter")
    watch = Watch(ctx, node, "-e", "gc,message_send")
    node.ask("happenings", "messages", 100, 20)
    watch.end()
    seen = {json.loads(line)["kind"] for line in watch.out.decode().splitlines()}
    spared = any("seccomp" in line for line in watch.err)
    check_in("message_send", seen, f"events; stderr {watch.err}")
    check(spared or "gc_minor_end" in seen, f"ends of collections: {seen}; stderr {watch.err}")
    check(spared or not [r for r in ctx.ebeam.ok("doctor", "-j").json()["data"]["features"]
                         if r["group"] == "kernel faults" and "return" in r["feature"]], "doctor")
    node.ask("happenings", "messages", 100, 20)
    traced = ctx.ebeam.run("trace", "-p", node.os_pid, "ets:insert/2", "-d", "1s", "--histogram")
    check(traced.code in ((0, 5) if spared else (0,)), str(traced))
    node.ask("happenings", "messages", 100, 20)


@case("make install and make uninstall: the program, its pages and completions, and nothing left",
      otp="one", timeout=300)
def install(ctx):
    if not os.path.exists(os.path.join(TOP, "build", "ebeam")):
        raise Skip("nothing is built in build/")
    root = ctx.ebeam.file(".root")
    pages = [line.split(maxsplit=2)[:2] for line in ctx.ebeam.ok("help", "--list").out.splitlines()]
    check(len(pages) > 30, f"pages: {pages}")
    installed = {"usr/bin/ebeam", "usr/share/doc/ebeam/LICENSE",
                 "usr/share/bash-completion/completions/ebeam",
                 "usr/share/zsh/site-functions/_ebeam",
                 "usr/share/fish/vendor_completions.d/ebeam.fish",
                 *(f"usr/share/man/man{section}/{name if name == 'ebeam' else 'ebeam-' + name}.{section}"
                   for section, name in pages)}
    for target in ("install", "uninstall"):
        done = subprocess.run(["make", "--no-print-directory", target, f"DESTDIR={root}",
                               "PREFIX=/usr"], cwd=TOP, capture_output=True, text=True)
        check_equal(done.returncode, 0, f"make {target}: {done.stdout}{done.stderr}")
        files = {os.path.relpath(os.path.join(d, f), root): os.path.getsize(os.path.join(d, f))
                 for d, _, names in os.walk(root) for f in names}
        if target == "install":
            check_equal(set(files), installed, "files")
            check(all(files.values()), f"an empty file: {files}")
            version = subprocess.run([os.path.join(root, "usr/bin/ebeam"), "version"],
                                     capture_output=True, text=True)
            check_in("ebeam", version.stdout, "the installed program")
        else:
            check_equal(files, {}, "files after uninstall")


def verify(program):
    """The row of a program in the table of what the kernel made of it: program, ..., chain, private."""
    verify_tool = os.path.join(TOP, "build", "tools", "verify")
    if not os.access(verify_tool, os.X_OK):
        raise Skip("build/tools/verify is not built")
    result = subprocess.run([verify_tool, "--layout", "otp27", "--options", "stacks", "--stats",
                             "--program", program], capture_output=True, text=True, timeout=300)
    check_equal(result.returncode, 0, result.stdout + result.stderr)
    row, = [line.split() for line in result.stdout.splitlines() if line.startswith(program + " ")]
    return row


@case("programs of uprobes, which can be preempted, have no stack per CPU; all chains fit 512 bytes",
      otp="one", timeout=300)
def stacks(ctx):
    for program in ("event_gc_return", "event_queue_proc_message", "call_function", "code_changed"):
        row = verify(program)
        check_equal(row[6], "no", f"private stack of {program}")
        check(0 < int(row[5]) <= 512, f"{program}: {row[5]} bytes of stack")
    # That such a stack is seen where there is one: samples may have it, and have from 6.13 on.
    release = tuple(int(n) for n in os.uname().release.split(".")[:2])
    check_equal(verify("sample_cpu")[6], "yes" if release >= (6, 13) else "no", "sample_cpu")
