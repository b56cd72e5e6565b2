# SPDX-License-Identifier: BSD-2-Clause
"""What bad things get: a clear error or an honest partial result; never a crash, a hang or a wrong
name; and nothing that stays attached."""
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
import time

from ebeam import bpf_descriptors
from harness import Skip, case, check, check_equal, check_in, patience

SIDE_BY_SIDE = IN_TURN = True


def folded(text):
    """[(frames, count)] of folded output; every line must parse."""
    rows = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        check(stack and count.isdigit(), f"no line of folded output: {line!r}")
        rows.append((stack.split(";"), int(count)))
    return rows


# ---- the node ------------------------------------------------------------------------------


@case("recursion 1,000,000 deep: leaf and root kept, the number of missing frames shown", otp="one",
      alone=True)
def deep(ctx):
    with ctx.workload("deep") as truth:
        profile = ctx.ebeam.record(ctx.node, 3)
    at_bottom = [s for s in profile.of_pids(truth["pids"]) if "deep:bottom/2" in s["frames"]
                 and s["frames"].count("deep:descend/2") > 10]
    check(profile.count(at_bottom) > 200, f"few samples at the bottom: {profile.hottest()}")
    for stack in at_bottom:
        elided = [f for f in stack["frames"] if re.fullmatch(r"\[\.\.\. .*frames \.\.\.\]", f)]
        check_equal(len(elided), 1, f"elided frames of {stack['frames'][:3]}...")
        frames = stack["frames"]
        check_in("workload:loop/2", frames[:8], "root side")
        leaf_side = frames[frames.index(elided[0]) + 1:]
        check_in("deep:bottom/2", leaf_side, "leaf side")
        # Above it stands what interrupted it, in the kernel.
        above = leaf_side[leaf_side.index("deep:bottom/2") + 1:]
        check(not any(f.startswith("deep:") for f in above), f"leaf side: {above}")
        check(len(frames) < 2000, f"{len(frames)} frames shown")
        missing = int(re.sub(r"[^0-9]", "", elided[0]) or 0)
        repeated = [f for f in frames if f.startswith("[... recursion, ")]
        check_equal(len(repeated), 1, f"recursion of {frames[:3]}...")
        shown = frames.count("deep:descend/2") + int(re.sub(r"[^0-9]", "", repeated[0]))
        # Not every word between the parts may have been read: the text then says "about" or less.
        check(missing == 0 or missing + shown <= 1.02 * truth["depth"] + 10,
              f"{elided[0]}: more than {truth['depth']} frames")
    profile.check_complete()
    check(profile.by_status.get("truncated", 0) > 200, f"{profile.by_status}")


@case("recursion 2,000 deep: every stack is complete, its frames are counted", otp="one")
def recursion(ctx):
    with ctx.workload("deep", "2000") as truth:
        profile = ctx.ebeam.record(ctx.node, 2)
    check_equal(truth["depth"], 2000, "depth")
    inside = [s for s in profile.of_pids(truth["pids"]) if "deep:bottom/2" in s["frames"]]
    check(profile.count(inside) > 100, f"few samples at the bottom: {profile.hottest()}")
    for stack in inside:
        frames = stack["frames"]
        at = frames.index("[... recursion, ~2000 times ...]")
        check_in("workload:loop/2", frames[:at], "root side")
        check_equal(frames[at + 1], "deep:descend/2", f"{frames[:at + 4]}")
        check_in("deep:bottom/2", frames[at + 2:at + 4], "leaf side")
    check_equal(profile.by_status.get("truncated", 0), 0, f"{profile.by_status}")


@case("500 reloads a second: no name of another version of the module", alone=True)
def reload(ctx):
    with ctx.workload("reload") as truth:
        profile = ctx.ebeam.record(ctx.node, 3)
    check(truth["loads"] > 200, f"the node only made {truth['loads']} loads in "
                                f"{truth['elapsed_ns'] / 1e9:.1f} s")
    ran = {int(v) for v in truth["runs"]}
    named = 0
    for stack in profile.stacks:
        versions = {int(m.group(2)) for f in stack["frames"]
                    if (m := re.match(r"reloaded:(work|leaf)_(\d+)/", f))}
        if not versions:
            continue
        check_equal(len(versions), 1, f"versions in one stack: {stack['frames']}")
        version = versions.pop()
        check(version in ran, f"version {version} never ran: {stack['frames']}")
        check_order(stack["frames"], version)
        named += stack["count"]
    check(named > 20, f"only {named} samples in reloaded code; hottest: {profile.hottest()}")
    for pad in (f for f in profile.frames() if re.match(r"reloaded:pad_", f)):
        check(False, f"{pad} was never called")
    check(profile.counters["code_loads"] > 100, f"loads seen: {profile.counters['code_loads']}")
    profile.check_complete()


def check_order(frames, version):
    code = [f for f in frames if f.startswith("reload")]
    # Jumps to shared fragments stand behind a module's last function (emit_int_code_end()).
    if code[-1] == "reloaded::codeFooter":
        code.pop()
    work, leaf = f"reloaded:work_{version}/1", f"reloaded:leaf_{version}/2"
    expected = [["reload:step/1", "reloaded:run/1", work, leaf], ["reload:step/1", "reloaded:run/1",
                                                                 work]]
    check(code in expected, f"stack {frames}")


@case("20,000 processes a second, each gone at once: known as what they were", alone=True)
def spawn_storm(ctx):
    with ctx.workload("spawn_storm") as truth:
        profile = ctx.ebeam.record(ctx.node, 2)
    rate = truth["spawned"] / (truth["elapsed_ns"] / 1e9)
    check(rate > 1000, f"the node only made {rate:.0f} processes a second")
    children = [s for s in profile.stacks if "spawn_storm:spin/2" in s["frames"]]
    check(profile.count(children) > 100, f"few samples of children: {profile.hottest()}")
    calls = {profile.processes[s["pid"]]["initial_call"] for s in children
             if s["pid"] in profile.processes}
    check_equal(calls, {"spawn_storm:child/1"}, "initial calls of the children")
    known = profile.count([s for s in children if s["pid"]])
    check(known >= 0.99 * profile.count(children),
          f"{known} of {profile.count(children)} have a pid")
    profile.check_complete()


@case("the node exits while it is recorded: what there is, exit 0 and a note", otp="one", alone=True)
def node_exits(ctx):
    node = ctx.new_node()
    node.start("cpu_split")
    process, _ = start_attached(ctx, "-d", 20, "-F", 999, "-f", "folded", "-o", "-", node=node)
    time.sleep(1.5)
    node.tell("halt")
    check_ended_with_node(process)


@case("the node is killed with -9 while it is recorded: likewise", otp="one", alone=True)
def node_killed(ctx):
    node = ctx.new_node()
    node.start("cpu_split")
    process, _ = start_attached(ctx, "-d", 20, "-F", 999, "-f", "folded", "-o", "-", node=node)
    time.sleep(1.5)
    os.kill(node.os_pid, signal.SIGKILL)
    check_ended_with_node(process)


def check_ended_with_node(process):
    began = time.monotonic()
    out, err = process.communicate(timeout=patience(60))
    check(time.monotonic() - began < 5, "ebeam went on long after the node")
    err = err.decode()
    check_equal(process.returncode, 0, f"exit code, stderr {err!r}")
    check(re.search(r"exit|gone|ended", err), f"no note about the node: {err!r}")
    rows = folded(out.decode())
    gamma = sum(n for frames, n in rows if "cpu_split:gamma/2" in frames)
    check(gamma > 20, f"no profile of the time before: {rows[:5]}")


@case("the node exits at once after it was found: an error or an empty result, no hang", otp="one")
def node_exits_early(ctx):
    for delay in (0.0, 0.01, 0.02, 0.04, 0.06, 0.1):
        node = ctx.new_node()
        process = ctx.ebeam.popen("record", "-p", node.os_pid, "-d", 5, "-f", "folded", "-o", "-")
        time.sleep(delay)
        os.kill(node.os_pid, signal.SIGKILL)
        _, err = process.communicate(timeout=patience(60))
        check(process.returncode in (0, 3), f"exit {process.returncode}: {err.decode()!r}")
        check(err, "not a word")


@case("a stopped node (SIGSTOP) is no hang", otp="one")
def node_stopped(ctx):
    node = ctx.new_node()
    node.start("cpu_split")
    os.kill(node.os_pid, signal.SIGSTOP)
    try:
        result = ctx.ebeam.run("record", "-p", node.os_pid, "-d", 1, "-f", "json", "-o", "-",
                               timeout=20)
        rows = ctx.ebeam.ok("list", "-j").json()["data"]
        doctor = ctx.ebeam.run("doctor", "-p", node.os_pid).out
    finally:
        os.kill(node.os_pid, signal.SIGCONT)
    check_equal(result.code, 0, str(result))
    check_in("it is stopped (SIGSTOP", doctor, "doctor")
    check("used no CPU" in result.err, f"no word about a node that does nothing: {result.err!r}")
    check_equal([r["stopped"] for r in rows if r["os_pid"] == node.os_pid], [True], "list: stopped")


@case("recording changes nothing in the node: processes, ports, code, memory maps, tracing")
def nothing_changes(ctx):
    node = ctx.node

    def state():
        facts = node.facts()
        with open(f"/proc/{node.os_pid}/maps") as f:
            code_maps = sorted(line.split()[-1] for line in f if " r-x" in line.replace("p ", " "))
        with open(f"/proc/{node.os_pid}/status") as f:
            tracer = [line for line in f if line.startswith("TracerPid")]
        return ({k: facts[k] for k in ("process_count", "port_count", "atom_count")}, code_maps,
                tracer)

    before = state()
    ctx.ebeam.record(node, 1)
    after = state()
    # The kernel maps a page of its own for uprobes into a process that has had one.
    ignore = "[uprobes]"
    check_equal([before[0], [m for m in before[1] if m != ignore], before[2]],
                [after[0], [m for m in after[1] if m != ignore], after[2]], "state of the node")


# ---- ebeam itself --------------------------------------------------------------------------


def bpf_objects_of(pid):
    """Ids of the BPF programs and links that a process holds."""
    return {(what, int(fd[f"{what}_id"])) for fd in bpf_descriptors(pid)
            for what in ("prog", "link") if f"{what}_id" in fd}


def bpf_show(what):
    listed = subprocess.run(["bpftool", "-j", what, "show"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise Skip(f"bpftool: {listed.stderr.strip()}")
    return json.loads(listed.stdout or "[]")


def uprobe_events():
    for name in ("/sys/kernel/tracing/uprobe_events", "/sys/kernel/debug/tracing/uprobe_events"):
        try:
            with open(name) as f:
                return sorted(f)
        except OSError:
            continue
    return []


def wait_for(condition, seconds=5):
    deadline = time.monotonic() + patience(seconds)
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def check_nothing_left(held, events):
    def gone():
        left = {(w, r["id"]) for w in ("prog", "link") for r in bpf_show(w)}
        return not (held & left)

    check(wait_for(gone), f"BPF objects that stayed: {held}")
    check_equal(uprobe_events(), events, "uprobe_events")


def descriptors(pid):
    """What its open files are, as /proc names them."""
    found = set()
    with contextlib.suppress(OSError):  # files that are closed, a process that has ended
        for fd in os.listdir(f"/proc/{pid}/fd"):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def start_attached(ctx, *args, node=None):
    """A recording that is under way, and the BPF objects it holds."""
    process = ctx.ebeam.popen("record", "-p", (node or ctx.node).os_pid, *args)
    ctx.cleanup(lambda: process.poll() is None and process.kill())
    held = set()

    def attached():
        held.update(bpf_objects_of(process.pid))
        # Kernels before 5.15 have no links of perf events.
        return len(held) > 1 and "anon_inode:[perf_event]" in descriptors(process.pid)

    check(wait_for(attached, 10), f"no BPF programs of a running record: {held}, "
                                  f"exit {process.poll()}")
    return process, held


def seen_in(ctx, path, function):
    """Also in a capture that is being written."""
    if not os.path.exists(path):
        return False
    return function in ctx.ebeam.run("report", path, "-f", "folded", "-o", "-").out


@case("ebeam is killed with -9: no program, link or probe stays; the next recording works",
      otp="one", alone=True)
def ebeam_killed(ctx):
    events = uprobe_events()
    path = ctx.ebeam.file(".ebeam")
    partial = path + ".partial"
    with ctx.workload("cpu_split") as truth:
        process, held = start_attached(ctx, "-d", 600, "-F", 999, "-o", path)
        # A slow machine may take long for the first of it.
        check(wait_for(lambda: seen_in(ctx, partial, "cpu_split:gamma/2"), 60), "nothing in the partial capture")
        process.kill()
        process.communicate()
        check_nothing_left(held, events)
        check(not os.path.exists(path), "a file under the final name")
        rest = ctx.ebeam.run("report", partial, "-f", "folded", "-o", "-")
        check_equal(rest.code, 7, f"report of a capture that was cut short: {rest}")
        check(any("cpu_split:gamma/2" in frames for frames, _ in folded(rest.out)),
              "nothing in the partial capture")
        ctx.record_enough(100, truth["pids"])


@case("nothing stays attached after a recording that ended by itself", otp="one",
      alone=True)
def nothing_left(ctx):
    events = uprobe_events()
    process, held = start_attached(ctx, "-d", 2, "-f", "folded", "-o", "-")
    _, err = process.communicate(timeout=patience(60))
    check_equal(process.returncode, 0, err.decode())
    check_nothing_left(held, events)


@case("Ctrl-C once: stop, write, summary, exit 0; SIGTERM is the same", otp="one", alone=True)
def interrupt(ctx):
    with ctx.workload("cpu_split"):
        for sig in (signal.SIGINT, signal.SIGTERM):
            path = ctx.ebeam.file(".folded")
            process, _ = start_attached(ctx, "-d", 30, "-o", path)
            time.sleep(1)
            process.send_signal(sig)
            began = time.monotonic()
            _, err = process.communicate(timeout=patience(60))
            check(time.monotonic() - began < 5, "slow to stop")
            check_equal(process.returncode, 0, f"{sig}: {err.decode()!r}")
            check_in("Samples: ", err.decode(), "summary")
            with open(path) as f:
                check(folded(f.read()), "an empty result")


@case("Ctrl-C twice: exit 130, no half file", otp="one", alone=True)
def interrupt_twice(ctx):
    with ctx.workload("cpu_split"):
        directory = ctx.ebeam.file(".dir")
        os.mkdir(directory)
        process, held = start_attached(ctx, "-d", 30, "-o", os.path.join(directory, "x.html"))
        # Stopped, so that both signals are there before it can finish with the first one.
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + 5
        second = threading.Thread(target=send_again, args=(process, deadline))
        second.start()
        _, err = process.communicate(timeout=patience(60))
        second.join()
    check(process.returncode in (0, 130), f"exit {process.returncode}: {err.decode()!r}")
    left = os.listdir(directory)
    if process.returncode == 130:
        check_equal(left, [], "files")
    else:
        check_equal(left, ["x.html"], "files")  # it was done before the second one came
    check_nothing_left(held, uprobe_events())


def send_again(process, deadline):
    # Two signals within 200 ms count as one.
    time.sleep(0.25)
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)
        time.sleep(0.25)


@case("Ctrl-C twice while a slow reader holds up the output: exit 130 at once", otp="one",
      alone=True)
def interrupt_while_writing(ctx):
    reader, writer = os.pipe()
    with ctx.workload("cpu_split"):
        process = ctx.ebeam.popen("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "html", "-o", "-",
                                  stdout=writer)
        os.close(writer)
        time.sleep(3)  # a flame graph is larger than the pipe
        check(process.poll() is None, "it did not wait for its reader")
        process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=10)
        finally:
            os.close(reader)
    check_equal(process.returncode, 130, f"exit code, stderr {err.decode()!r}")


@case("the reader of the output goes away: quiet, and no signal's exit code", otp="one")
def broken_pipe(ctx):
    with ctx.workload("cpu_split"):
        process = ctx.ebeam.popen("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "html", "-o", "-")
        process.stdout.close()
        err = process.stderr.read().decode()
        process.wait(patience(60))
    check(process.returncode in (0, 1), f"exit {process.returncode}, {err!r}")
    check("Broken pipe" not in err, f"not quiet: {err!r}")


@case("the disk is full: an error that says so, no half file, whatever the format", otp="one")
def disk_full(ctx):
    ctx.need_root()
    directory = ctx.ebeam.file(".mnt")
    os.mkdir(directory)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", directory],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Skip(f"cannot mount a small file system: {done.stderr.strip()}")
    ctx.cleanup(subprocess.run, ["umount", directory])
    with ctx.workload("cpu_split"), ctx.workload("strings"):
        for suffix in (".html", ".json", ".ebeam"):
            path = os.path.join(directory, "x" + suffix)
            result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 2, "-F", 999, "-o", path)
            check_equal(result.code, 1, str(result))
            check_in("No space left", result.err, "text")
            check(not os.path.exists(path), f"a half {path}")
            for name in os.listdir(directory):
                check(suffix == ".ebeam", f"left over: {name}")
                os.unlink(os.path.join(directory, name))


@case("the output cannot be written: exit 1 before the recording, with the reason", otp="one")
def not_writable(ctx):
    for path in ("/nonexistent/dir/x.html", "/proc/x.html", ctx.work_dir):
        result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 20, "-f", "html", "-o", path)
        check(result.code in (1, 2), str(result))
        check_in(path, result.err, "text")
        check(result.seconds < 15, "it recorded first")


@case("two recordings of one node at once do not disturb each other", otp="one", alone=True)
def two_at_once(ctx):
    with ctx.workload("cpu_split") as truth:
        paths = [ctx.ebeam.file(".ebeam") for _ in range(2)]
        runs = [ctx.ebeam.popen("record", "-p", ctx.node.os_pid, "-d", 2, "-F", 499, "-o", p)
                for p in paths]
        for process in runs:
            _, err = process.communicate(timeout=patience(60))
            check_equal(process.returncode, 0, err.decode())
    for path in paths:
        profile = ctx.ebeam.report(path)
        check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.4,
              f"hottest: {profile.hottest()}")
        profile.check_complete()


@case("files made under sudo belong to the one who called sudo", otp="one")
def sudo_owner(ctx):
    path = ctx.ebeam.file(".ebeam")
    environment = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534")
    result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", "200ms", "-o", path,
                           env=environment)
    check_equal(result.code, 0, str(result))
    check_equal(os.stat(path).st_uid, 65534, "owner")


@case("--min-complete that is not reached is exit 7, with the result written", otp="one")
def min_complete(ctx):
    with ctx.workload("cpu_split"):
        good = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "folded", "-o", "-",
                             "--min-complete", "50")
    check_equal(good.code, 0, str(good))
    with ctx.workload("deep"):
        path = ctx.ebeam.file(".folded")
        partial = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 2, "-o", path,
                                "--min-complete", "100")
    check(partial.code in (0, 7), str(partial))
    check(os.path.getsize(path) > 0, "no result")


@case("--dry-run attaches nothing and writes nothing", otp="one")
def dry_run(ctx):
    path = ctx.ebeam.file(".html")
    result = ctx.ebeam.ok("record", "-p", ctx.node.os_pid, "-d", 20, "-o", path, "--dry-run")
    check(result.seconds < 15, "it recorded")
    check(not os.path.exists(path), "a file")
    check(result.out or result.err, "not a word")
