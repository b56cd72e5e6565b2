# SPDX-License-Identifier: BSD-2-Clause
"""Crash dumps of nodes that live: what OTP's own crashdump_viewer reads of them is what the node says
of itself.  The viewer's code is that of this host's OTP; it runs on the release that the node is of, as the
pids of a release may be too large for an older one."""
import glob
import json
import os
import random
import re
import shutil
import struct
import subprocess
import time

from cases_core import stop
from harness import Skip, case, check, check_equal, check_in
from nodes import run_in

SIDE_BY_SIDE = True

FLAGS = ("+S", "2:2")
VIEWER = "/usr/lib/erlang/lib/observer-*/ebin"
TERMS = 5000
FEWER_TERMS = 700


def copy_viewer(directory):
    """To where every release sees it, if it is not there already; the path."""
    path, found = os.path.join(directory, "observer"), glob.glob(VIEWER)
    if not os.path.isdir(path):
        if not found:
            raise Skip("no crashdump_viewer: install erlang-observer (tools/install-deps)")
        shutil.copytree(found[0], path)
    return path


def viewer(ctx, function, *args, timeout=300):
    """What a function of crashdump_facts says of a dump."""
    observer = copy_viewer(ctx.session.workloads.made or ctx.work_dir)
    done = run_in(ctx.otp, ["erl", "-noshell", "-pa", observer, "-pa", ctx.session.workloads.ebin(ctx.otp),
                            "-run", "crashdump_facts", function, *map(str, args)], timeout=timeout)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    check(len(lines) == 1, f"the viewer said: {done.stdout[:3000]}{done.stderr[-1000:]}")
    check("WARNING" not in done.stdout, f"the viewer warns: {done.stdout[:3000]}")
    return json.loads(lines[0])


def path(ctx, name):
    file = os.path.join(ctx.work_dir, f"crashdump-{ctx.otp}-{name}")
    ctx.cleanup(lambda: os.path.exists(file) and os.unlink(file))
    return file


def dump(ctx, *where, name="dump", args=("--show-secrets",)):
    """Writes a dump; its path and what ebeam said."""
    file = path(ctx, name)
    done = ctx.ebeam.ok("crashdump", *where, "-o", file, *args)
    return file, done.err


def compare(ctx, node, where=None):
    """What was the same before and after the dump, or twice before it, of a node that no longer runs."""
    before, after = path(ctx, "before"), path(ctx, "after")
    if where is None:
        node.ask("crashdump_facts", "write", before)
        file, said = dump(ctx, "-p", node.os_pid)
        node.ask("crashdump_facts", "write", after)
    else:
        file, said = dump(ctx, *where, name="frozen")
    answer = viewer(ctx, "compare", file, before, after)
    print(f"    {said.strip().splitlines()[-1]}")
    print(f"    equal: {', '.join(f'{n} {k}' for k, n in sorted(answer['counts'].items()))}")
    check_equal(answer["wrong"][:5], [], f"{len(answer['wrong'])} differences")
    return answer


def zoo(ctx, **kwargs):
    node = ctx.new_node(flags=FLAGS, name=f"crashdump{ctx.otp}@127.0.0.1", **kwargs)
    return node, node.ask("crashdump_facts", "zoo")


def check_zoo(answer, otp):
    counts = answer["counts"]
    for kind, least in (("process", 50), ("port", 4), ("table", 20), ("dictionary", 40), ("messages", 40),
                        ("stack", 40), ("links", 40), ("modules", 1), ("memory", 30), ("persistent", 1), ("fun", 6)):
        check(counts.get(kind, 0) >= least, f"only {counts.get(kind, 0)} {kind}: {counts}")
    check_in(f"Erlang/OTP {otp}", answer["version"], "System version")
    check_in("Written by ebeam", answer["slogan"], "Slogan")
    check(abs(answer["memory"] / answer["node_memory"] - 1) < 0.1,
          f"memory: {answer['memory']}, the node {answer['node_memory']}")
    check_equal(answer["schedulers"], 2 + 2 + 10, "schedulers")
    check_in("atom_tab", answer["index_tables"], "index tables")
    timers = {t["message"]: t["left"] for t in answer["timers"]}
    for message, ms in (('{timer,"of pid"}', 100000), ("{timer,'of name'}", 200000)):
        check(message in timers and ms - 60000 < timers[message] <= ms, f"timers: {timers}")


@case("processes, ports, tables, modules: the viewer reads what the node says")
def facts(ctx):
    node, made = zoo(ctx)
    answer = compare(ctx, node)
    check_zoo(answer, ctx.release)
    check(answer["counts"]["without_data"] >= 1, "the sensitive process shows its data")
    with open(path(ctx, "dump"), "rb") as f:
        check(b"hidden_from_dumps" not in f.read().split(b"=atoms")[0], "a sensitive process was dumped")
    check_equal(os.stat(path(ctx, "dump")).st_mode & 0o777, 0o600, "mode of the file")


def compare_terms(ctx, number):
    node = ctx.new_node(flags=("+pc", "unicode", *FLAGS), name=f"dumpterms{ctx.otp}@127.0.0.1")
    node.tell("ask", "many_terms", "make", "1", str(number), "erlang")
    made = node.wait("answer", 100)["answer"]
    answer = compare(ctx, node)
    print(f"    {made['terms']} terms")
    check(made["terms"] >= number, f"{made['terms']} terms")
    check(answer["counts"]["dictionary"] > 40, f"{answer['counts']}")


@case(f"{FEWER_TERMS:,} terms of all kinds: the viewer reads each as the node has it")
def terms(ctx):
    compare_terms(ctx, FEWER_TERMS)


@case(f"{TERMS:,} terms, which take the viewer half a minute", long=True)
def more_terms(ctx):
    compare_terms(ctx, TERMS)


@case("a stopped node, and a core file of it: the same")
def frozen(ctx):
    node, _ = zoo(ctx)
    # The first loads code; supervisors of OTP 29 hibernate when they were idle for a second.
    for name in ("before", "before", "after"):
        node.ask("crashdump_facts", "write", path(ctx, name))
        time.sleep(1.5)
    stop(ctx, node.os_pid)
    answer = compare(ctx, node, ("-p", node.os_pid))
    check(answer["counts"]["dictionary"] > 40, f"{answer['counts']}")
    core = path(ctx, "core")
    ctx.ebeam.ok("core", "-p", node.os_pid, "-o", core)
    answer = compare(ctx, node, ("--core", core))
    check(answer["counts"]["dictionary"] > 40, f"{answer['counts']}")
    check_in("core file", answer["slogan"], "Slogan")


@case("secrets are masked unless --show-secrets asks for them")
def secrets(ctx):
    node = ctx.new_node(flags=FLAGS)
    pid = node.ask("crashdump_facts", "secrets")["pid"]
    for args, hidden in (((), True), (("--show-secrets",), False)):
        file, said = dump(ctx, "-p", node.os_pid, args=args)
        answer = viewer(ctx, "grep", file, pid)
        check_equal(answer["warning"], 0, "warnings")
        check_equal("hunter2" in answer["text"], not hidden, f"{args}: {answer['text']}")
        check_equal("'***'" in answer["text"], hidden, f"{args}: {answer['text']}")
        check_in('{user,"me"}', answer["text"], "no secret")
        check_equal("hunter2" in answer["persistent"], not hidden, f"{args}: {answer['persistent']}")
        check_in('user},"me"', answer["persistent"], "no secret")
        check_equal("masked" in said, hidden, said)


@case("processes that run, die and are born meanwhile: what is written can be read", alone=True)
def churn(ctx):
    node = ctx.new_node(flags=FLAGS)
    node.start("spawn_storm")
    node.start("gc_heavy")
    for _ in range(3):
        file, said = dump(ctx, "-p", node.os_pid)
        answer = viewer(ctx, "all", file)
        check(answer["processes"] > 30, f"{answer}")
        check_equal(answer["warnings"], 0, said)
        print(f"    {said.strip()}")


def damage(core, dump, rng, number):
    """Overwrites words of objects on heaps."""
    with open(core, "rb") as f:
        data = bytearray(f.read())
    with open(dump, "rb") as f:
        objects = [int(a, 16) for a in re.findall(rb"^([0-9A-F]{8,12}):[tlMYE]", f.read(), re.M)]
    heads = [struct.unpack_from("<IIQQQQ", data, struct.unpack_from("<Q", data, 32)[0] + 56 * i)
             for i in range(struct.unpack_from("<H", data, 56)[0])]
    segments = [(address, offset, size) for kind, _, offset, address, _, size in heads if kind == 1 and size]
    for _ in range(number):
        at = rng.choice(objects) + 8 * rng.randrange(4)
        for address, offset, size in segments:
            if address <= at < address + size - 8:
                word = rng.choice([0, 2**64 - 1, rng.randrange(2**64), rng.randrange(2**24) << 6,
                                   rng.choice(objects) + rng.choice([1, 2])])
                struct.pack_into("<Q", data, at - address + offset, word)
    with open(core, "wb") as f:
        f.write(data)


@case("core files with damaged heaps: it ends, in time", otp="one", alone=True)
def damaged(ctx):
    node, _ = zoo(ctx)
    core = path(ctx, "damaged-core")
    rng = random.Random(1)
    ctx.ebeam.ok("core", "-p", node.os_pid, "-o", core)
    file, _ = dump(ctx, "--core", core)
    for number in (10, 100, 1000, 10000):
        damage(core, file, rng, number)
        done = ctx.ebeam.run("crashdump", "--core", core, "-o", file, timeout=100)
        check(done.code in (0, 6), f"{number} words: {done}")
        print(f"    {number} words more: {done.err.strip().splitlines()[-1]}")


@case("disk full, no file, not there: a clear error, and no half file", otp="one")
def no_file(ctx):
    node = ctx.new_node(flags=FLAGS)
    none = ctx.ebeam.run("crashdump", "-p", node.os_pid)
    check_equal(none.code, 2, str(none))
    check_in("-o", none.err, "advice")
    full = ctx.ebeam.run("crashdump", "-p", node.os_pid, "-o", "/dev/full")
    check_equal(full.code, 1, str(full))
    check_in("No space left", full.err, "disk full")
    mount = os.path.join(ctx.work_dir, "small")
    os.makedirs(mount, exist_ok=True)
    ctx.need_root()
    check_equal(subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", mount]).returncode, 0, "mount")
    ctx.cleanup(subprocess.run, ["umount", mount])
    full = ctx.ebeam.run("crashdump", "-p", node.os_pid, "-o", os.path.join(mount, "erl_crash.dump"))
    check_equal(full.code, 1, str(full))
    check_equal(os.listdir(mount), [], "files left")
    pipe = ctx.ebeam.ok("crashdump", "-p", node.os_pid, "-o", "-")
    check(pipe.out.startswith("=erl_crash_dump:0.5\n") and pipe.out.endswith("\n=end\n"), "-o -")
