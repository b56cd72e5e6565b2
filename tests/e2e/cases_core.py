# SPDX-License-Identifier: BSD-2-Clause
"""Core files: what a command says of a core is what it said of the stopped node from which the core
was made; what is no core of a node, or not all of it, is refused or marked."""
import glob
import os
import re
import shutil
import signal
import subprocess
import time

from harness import Failure, Skip, case, check, check_equal, check_in
from reading import answers, check_same, check_sensible, readings
from nodes import matrix_root

SIDE_BY_SIDE = True
IN_TURN = True

# Cores of 100 MB, not of gigabytes: gcore also writes what is only reserved.
FLAGS = ("+S", "2:2", "+MIscs", "32")
ENV = {"MALLOC_ARENA_MAX": "1"}


def make_dir(ctx):
    path = os.path.join(ctx.work_dir, f"core-{ctx.otp}")
    os.makedirs(path)
    ctx.cleanup(shutil.rmtree, path, True)
    return path


def start_node(ctx, directory, **kwargs):
    """A node whose working directory that is."""
    return ctx.new_node(erl=("sh", "-c", f'cd {directory} && exec erl "$@"', "erl"), flags=FLAGS,
                        env=ENV, **kwargs)


def stop(ctx, os_pid):
    ctx.cleanup(resume, os_pid)
    os.kill(os_pid, signal.SIGSTOP)
    for _ in range(100):
        with open(f"/proc/{os_pid}/stat") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.01)
    raise Failure(f"pid {os_pid} does not stop")


def resume(os_pid):
    try:
        os.kill(os_pid, signal.SIGCONT)
    except ProcessLookupError:
        pass


def gcore(directory, os_pid):
    if not shutil.which("gcore"):
        raise Skip("gcore is not there (package gdb)")
    done = subprocess.run(["gcore", "-o", os.path.join(directory, "gcore"), str(os_pid)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    path = os.path.join(directory, f"gcore.{os_pid}")
    check(os.path.exists(path), f"gcore: exit {done.returncode}: {done.stdout}{done.stderr}")
    return path


def kernel_core(directory, node):
    """Lets the kernel dump it."""
    with open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
    if pattern.startswith("|") or "/" in pattern:
        raise Skip(f"kernel.core_pattern is '{pattern}': cores do not go to the working directory")
    subprocess.run(["prlimit", "--pid", str(node.os_pid), "--core=unlimited"], check=True)
    before = set(os.listdir(directory))
    os.kill(node.os_pid, signal.SIGABRT)
    resume(node.os_pid)
    node.process.wait(60)
    made = set(os.listdir(directory)) - before
    check_equal(len(made), 1, f"files that the kernel made in {directory}: {made}")
    return os.path.join(directory, made.pop())


def stopped_node(ctx, name):
    """Its directory, the commands, a node that is stopped, and what they say of it."""
    directory, found = make_dir(ctx), readings(ctx.ebeam)
    node = start_node(ctx, directory, name=f"{name}{ctx.otp}@127.0.0.1")
    stop(ctx, node.os_pid)
    return directory, found, node, answers(ctx.ebeam, ("-p", node.os_pid), found)


@case("gcore of a stopped node: every command says the same of both", timeout=240)
def made_by_gcore(ctx):
    directory, found, node, live = stopped_node(ctx, "core")
    core = gcore(directory, node.os_pid)
    again = answers(ctx.ebeam, ("-p", node.os_pid), found)
    check_same(found, live, again, "the stopped node twice")
    dead = answers(ctx.ebeam, ("--core", core), found)
    check_sensible(found, dead, node)
    check_same(found, live, dead, "gcore")


@case("ebeam core of a stopped node: every command says the same of both; small, also compressed", timeout=240)
def made_by_ebeam(ctx):
    directory, found, node, live = stopped_node(ctx, "own")
    packed, plain = (os.path.join(directory, name) for name in ("own.core.gz", "own.core"))
    err = ctx.ebeam.ok("core", "-p", node.os_pid, "--pause", "-o", packed).err
    check(re.search(r"MiB of memory; paused for [\d.]+ m?s", err), err)
    dead = answers(ctx.ebeam, ("--core", packed), found)
    check_sensible(found, dead, node)
    check_same(found, live, dead, "--pause, .gz")
    err = ctx.ebeam.ok("core", "-p", node.os_pid, "-o", plain).err
    check_in("not paused", err, "closing line")
    # Registers of threads are in the other one only.
    fewer = [reading for reading in found if reading.command not in ("sched", "diagnose")]
    check_same(fewer, live, answers(ctx.ebeam, ("--core", plain), fewer), "as it runs")
    resident = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{node.os_pid}/status", encoding="ascii").read())[1])
    for path in (packed, plain):
        check(os.stat(path).st_blocks * 512 < 1024 * resident, f"{path}: {os.stat(path)}, resident {resident} KiB")


@case("ebeam core of a node that reserves 16 TiB: what it wrote to is in the file, which is small")
def reserved(ctx):
    directory = make_dir(ctx)
    node = start_node(ctx, directory)
    node.ask("native_memory", "load", ctx.library("memory_nif"))
    node.ask("native_memory", "hold", "reserved", 5)
    path = os.path.join(directory, "reserved.core")
    for name in (path, path + ".gz"):
        ctx.ebeam.ok("core", "-p", node.os_pid, "--pause", "-o", name)
        names = {row["registered_name"] for row in ctx.ebeam.ok("ps", "--core", name, "-j").json()["data"]}
        check({"init", "code_server", "kernel_sup"} <= names, f"{names}")
    check(os.stat(path).st_size < 4 << 30, f"{os.stat(path)}")
    headers = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True, check=True).stdout
    loads = [[int(word, 16) for word in line.split()[1:6]] for line in headers.splitlines()
             if line.split()[:1] == ["LOAD"]]
    large = sorted((load for load in loads if load[4] >= 1 << 26 and load[3] != load[4]), key=lambda l: -l[4])
    check(sum(load[4] for load in large) > 15 << 40, f"left out: {large}")
    with open(path, "rb") as f:
        written = 0
        for offset, address, _, size, memory in loads:
            if any(address == l[1] + l[4] or address + memory == l[1] for l in large):
                f.seek(offset)
                written += f.read(size).count(b"\1" * 4096)
    check(written >= 3 * 5 * 255, f"{written} pages that were written to")
    answer = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j").json()["data"]["rss"]
    check(answer["total"] > 15 << 20, f"{answer}")


@case("ebeam core of a node that works: it goes on, also when ebeam is killed while it is paused")
def of_a_busy_node(ctx):
    path = os.path.join(make_dir(ctx), "busy.core")
    node = ctx.new_node()
    node.start("bustle")
    for args in ((), ("--pause",)):
        ctx.ebeam.ok("core", "-p", node.os_pid, "-o", path, *args)
        rows = ctx.ebeam.ok("ps", "--core", path, "-j").json()["data"]
        names = {row["registered_name"] for row in rows}
        check({"init", "code_server", "kernel_sup"} <= names, f"{names}")
    check_equal(os.stat(path).st_mode & 0o777, 0o600, "who can read it")
    tracer = subprocess.Popen([ctx.ebeam.path, "core", "-p", str(node.os_pid), "--pause", "-o", path])
    time.sleep(0.05)
    tracer.kill()
    tracer.wait()
    before = node.cpu_seconds()
    check(node.facts() and node.cpu_seconds() > before, "the node runs")
    with open(path, "wb") as f:
        f.write(b"")
    with open(path, "ab") as f:
        subprocess.run([ctx.ebeam.path, "core", "-p", str(node.os_pid), "--pause", "-o", "-"], stdout=f, check=True)
    check(ctx.ebeam.ok("ps", "--core", path, "-j").json()["data"], "appended to a file")
    refused = ctx.ebeam.run("core", "-p", node.os_pid, "-o", "/dev/full")
    check(refused.code == 1 and "No space left" in refused.err, refused.err)


@case("a compressed core that is cut short, or damaged: what is there, or the reason", otp="one")
def packed_faults(ctx):
    directory = make_dir(ctx)
    node = start_node(ctx, directory)
    path = os.path.join(directory, "faulty.core.gz")
    ctx.ebeam.ok("core", "-p", node.os_pid, "-o", path)
    size = os.path.getsize(path)
    os.truncate(path, size - size // 50)
    cut = ctx.ebeam.run("ps", "--core", path, "-j")
    check(cut.code == 7 and cut.json()["data"], f"exit {cut.code}: {cut.err}")
    os.truncate(path, 1000)
    cut = ctx.ebeam.run("ps", "--core", path)
    check(cut.code == 1 and "cut short" in cut.err, f"exit {cut.code}: {cut.err}")
    with open(path, "wb") as f:
        f.write(b"\x1f\x8bnothing of that kind")
    cut = ctx.ebeam.run("ps", "--core", path)
    check(cut.code == 1 and path in cut.err, f"exit {cut.code}: {cut.err}")
    ctx.ebeam.ok("core", "-p", node.os_pid, "-o", path)
    refused = ctx.ebeam.run("ps", "--core", path, env=dict(os.environ, TMPDIR="/proc"))
    check(refused.code == 1 and "TMPDIR" in refused.err, refused.err)


@case("gcore of a node that was started by a dynamic loader with the emulator as its argument")
def started_by_loader(ctx):
    node, beam = ctx.loaded_node(flags=FLAGS, env=ENV)
    stop(ctx, node.os_pid)
    live = ctx.ebeam.ok("ps", "-p", node.os_pid, "-j").json()["data"]
    core = gcore(make_dir(ctx), node.os_pid)
    check_equal(ctx.ebeam.ok("ps", "--core", core, "--exe", beam, "-j").json()["data"], live, "--exe")
    if matrix_root(ctx.otp) == "/":
        check_equal(ctx.ebeam.ok("ps", "--core", core, "-j").json()["data"], live, "its core")
    else:  # its path is one of another mount namespace
        check_in("--exe", ctx.ebeam.ok("ps", "--core", core, code=3).err, "refusal")


def dump_stopped(ctx, directory, found):
    """A node, what was said of it while it was stopped, and its core by the kernel."""
    node = start_node(ctx, directory)
    exe = os.readlink(f"/proc/{node.os_pid}/exe")
    stop(ctx, node.os_pid)
    live = answers(ctx.ebeam, ("-p", node.os_pid), found)
    return node, live, kernel_core(directory, node), exe


@case("a core by the kernel: every command says the same of it as of the stopped node before",
      timeout=240)
def made_by_kernel(ctx):
    directory = make_dir(ctx)
    found = readings(ctx.ebeam)
    for attempt in range(3):
        node, live, core, exe = dump_stopped(ctx, directory, found)
        where = ("--core", core, "--exe", exe)
        dead = answers(ctx.ebeam, where, found)
        check_sensible(found, dead, node)
        try:
            check_same(found, live, dead, "kernel")
            break
        except Failure:
            # To be dumped it must be continued: a thread may run on until the signal is seen.
            if attempt == 2:
                raise
            os.unlink(core)
    reported = ctx.ebeam.ok("doctor", *where)
    check_in("signal 6", reported.err, "stderr of doctor --core")
    # The node saw its files below its root: without --exe they are found only if that is ours.
    bare = ctx.ebeam.run("doctor", "--core", core)
    if matrix_root(ctx.otp) == "/":
        check_equal(bare.code, 0, str(bare))
    else:
        check_equal(bare.code, 1, str(bare))
        check_in("--exe", bare.err, "advice")
    if ctx.otp == ctx.session.otps[0]:  # how files are cut is no matter of the release
        check_refusals(ctx, directory, core, exe)


def check_refusals(ctx, directory, core, exe):
    """Wrong executables, and parts of the core."""
    wrong = ctx.ebeam.run("doctor", "--core", core, "--exe", "/bin/true")
    check_equal(wrong.code, 1, str(wrong))
    ids = re.findall(r"\b[0-9a-f]{40}\b", wrong.err)
    check(len(ids) == 2 and ids[0] != ids[1], f"build ids in: {wrong.err}")
    check_in("is not the build", wrong.err, "text of the refusal")
    both = ctx.ebeam.run("doctor", "--core", core, "-p", os.getpid())
    check_equal(both.code, 2, str(both))
    size = os.path.getsize(core)
    part = os.path.join(directory, "part")
    for percent in (99, 90, 80, 50, 1, 0):
        shutil.copy(core, part)
        os.truncate(part, size * percent // 100 + 100)
        cut = ctx.ebeam.run("doctor", "--core", part, "--exe", exe)
        check_in("is cut short", cut.err, f"the first {percent} %")
        check_in(cut.code, (0, 1, 6), str(cut))
        check_cut(ctx, part, exe, percent)
    os.truncate(shutil.copy(core, part), size - 4096)
    for reading in (row for row in readings(ctx.ebeam) if row.command != "doctor"):
        cut = ctx.ebeam.run(reading.command, "--core", part, "--exe", exe, *reading.args)
        check_equal(cut.code, 7, str(cut))
        if reading.json:
            check_equal(cut.json()["node"]["core"]["missing_size"], 4096, "missing_size")


def check_cut(ctx, part, exe, percent):
    """Less than all of a core: what is left, with exit 7, or why there is no answer."""
    for reading in (row for row in readings(ctx.ebeam) if row.command != "doctor"):
        cut = ctx.ebeam.run(reading.command, "--core", part, "--exe", exe, *reading.args)
        what = f"{reading.name}, the first {percent} %"
        check_in(cut.code, (1, 6, 7), f"exit code of {what}")
        check_in("cut short", cut.err, what)
        if cut.code == 7 and reading.json:
            check(cut.json()["node"]["core"]["missing_size"] > 0, f"{what}: {cut.json()['node']}")
        elif cut.code != 7:
            check_equal(cut.out, "", what)
        if cut.code == 1 and percent > 0:
            check_in("in what is left of this core file: ", cut.err, what)


@case("what is no core of a node: which, why and the right exit code", otp="one")
def refused(ctx):
    directory = make_dir(ctx)
    other = ctx.child("sleep", "60")
    sleeping = gcore(directory, other.pid)
    result = ctx.ebeam.run("doctor", "--core", sleeping)
    check_equal(result.code, 3, str(result))
    check_in("sleep", result.err, "text of the refusal")
    check_in("not of a BEAM node", result.err, "text of the refusal")
    text = os.path.join(directory, "erl_crash.dump")
    with open(text, "w") as f:
        f.write("=erl_crash_dump:0.5\n" * 10)
    for path in ("/bin/true", text, directory, os.path.join(directory, "nothing")):
        result = ctx.ebeam.run("doctor", "--core", path)
        check_equal(result.code, 1, str(result))
        check_in(path, result.err, "text of the refusal")
    result = ctx.ebeam.run("doctor", "--exe", "/bin/true")
    check_equal(result.code, 2, str(result))
