# SPDX-License-Identifier: BSD-2-Clause
"""Finding nodes: `ebeam list` says what the nodes say themselves; -p finds them by pid and name;
what is no node, or none that ebeam knows, is refused with the right exit code."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from answers import Watch
from ebeam import NOBODY
from harness import Failure, Skip, case, check, check_equal, check_in, check_near
from nodes import MATRIX, run_in

SIDE_BY_SIDE = IN_TURN = True

SAME = ("name", "erts", "schedulers", "dirty_cpu_schedulers", "dirty_io_schedulers")
COUNTS = ("process_count", "port_count", "atom_count")


def listed(ctx, node):
    rows = [r for r in ctx.ebeam.ok("list", "-j").json()["data"] if r["os_pid"] == node.os_pid]
    check_equal(len(rows), 1, f"rows of list with os_pid {node.os_pid}")
    return rows[0]


def age(node):
    """Seconds since its process was started."""
    return int(subprocess.check_output(["ps", "-o", "etimes=", "-p", str(node.os_pid)]))


def check_row(ctx, node):
    before = node.facts()
    row = listed(ctx, node)
    after = node.facts()
    for field in SAME:
        check_equal(row[field], before[field], f"list: {field}")
    check_equal(str(row["otp"]), before["otp"], "list: otp")
    check_equal(row["flavor"], before["flavor"], "list: flavor")
    for field in COUNTS:
        low, high = sorted((before[field], after[field]))
        check(low <= row[field] <= high, f"list: {field}: node says {low}..{high}, "
                                         f"list {row[field]}")
    # Of the process, which is older than what the node counts from: its emulator had to start.
    check(before["uptime_s"] - 2 <= row["uptime_s"] <= age(node) + 2,
          f"list: uptime_s {row['uptime_s']}: the node says {before['uptime_s']}, its process is {age(node)} s old")
    check_equal(row["supported"], True, "list: supported")
    check_equal(row["stripped"], True, "list: stripped (a distribution's build)")
    check_equal(row["usdt"], "usdt" in ctx.otp, "list: usdt (no distribution's build has it)")
    return row


@case("fields of list equal the node's own answers")
def facts(ctx):
    check_row(ctx, ctx.node)


@case("a node without distribution, other numbers of schedulers")
def no_distribution(ctx):
    node = ctx.new_node(flags=("+S", "3:2", "+SDcpu", "2:1", "+SDio", "5"))
    check_equal(check_row(ctx, node)["name"], "nonode@nohost", "name")


@case("a loaded node: counts move, list keeps up", otp="one", alone=True)
def counts_move(ctx):
    with ctx.workload("spawn_storm", "2000"):
        row = listed(ctx, ctx.node)
        facts_now = ctx.node.facts()
    check_near(row["process_count"], facts_now["process_count"], 300, "process_count")
    check_near(row["atom_count"], facts_now["atom_count"], 50, "atom_count")


@case("a node whose executable was deleted is listed and recorded", otp="one")
def deleted_executable(ctx):
    node, beam = ctx.copied_node()
    os.unlink(beam)
    check_in("(deleted)", os.readlink(f"/proc/{node.os_pid}/exe"), "executable")
    check_row(ctx, node)
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.ebeam.record(node, 1)
    check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.3,
          f"hottest: {profile.hottest()}")


@case("a node whose executable was replaced since it started")
def replaced_executable(ctx):
    node, beam = ctx.copied_node()
    shutil.copy("/bin/true", beam + ".new")
    os.rename(beam + ".new", beam)
    check_row(ctx, node)


@case("a node that was started by a dynamic loader with the emulator as its argument, and lost that file")
def started_by_loader(ctx):
    node, beam = ctx.loaded_node()
    row = check_row(ctx, node)
    check(row["exe"].endswith("beam.smp.real"), f"list: exe {row['exe']}")
    os.unlink(beam)
    check_row(ctx, node)
    recording = Watch(ctx, node, command="gc")
    truth = node.ask("views", "collect", 50)
    totals = recording.answer()["totals"]
    check(totals["minor"] + totals["major"] >= truth["number"], f"{truth['number']} collections, seen {totals}")
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.ebeam.record(node, 1)
    check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.3,
          f"hottest: {profile.hottest()}")


@case("a node that starts is read as soon as it has processes, whatever they are in", alone=True)
def starting(ctx):
    """Most of them load code then, on dirty schedulers and back."""
    for _ in range(2):
        node = ctx.child(MATRIX, "run", ctx.otp, "--", "erl", "-noshell")
        while "beam" not in os.path.basename(os.readlink(f"/proc/{node.pid}/exe")):
            time.sleep(0.001)
        seen, answered = [], 0
        while answered < 10 and len(seen) < 500:
            time.sleep(0.01)
            node.send_signal(signal.SIGSTOP)
            seen.append(ctx.ebeam.run("ps", "-p", node.pid, "-j"))
            node.send_signal(signal.SIGCONT)
            if answered or seen[-1].code == 0:
                check_equal(seen[-1].code, 0, f"exit of ps after it had answered once: {seen[-1].err}")
                answered += 1
        check_equal(answered, 10, f"answers of {len(seen)} lists: {seen[-1].err}")
        node.kill()
        node.wait()


@case("a node in another PID and mount namespace", otp="one")
def pid_namespace(ctx):
    node = ctx.new_node(prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    check(node.inner_pid != node.os_pid, "the node is not in a PID namespace of its own")
    check_row(ctx, node)
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.ebeam.record(node, 1)
    check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.3,
          f"hottest: {profile.hottest()}")


def cgroup_root():
    """Where groups can be made, of any version."""
    with open("/proc/mounts") as f:
        mounts = [line.split()[1:4] for line in f if line.split()[2] in ("cgroup", "cgroup2")]
    for path, kind, options in mounts:
        if kind == "cgroup2" or {"pids", "name=systemd"} & set(options.split(",")):
            return path
    raise Skip("no cgroup file system is mounted")


@case("a release of its own, with its own erts folder, in a mount namespace that alone has it; named after "
      "it started, without epmd", otp="one")
def own_release(ctx):
    home = tempfile.mkdtemp(prefix="release-", dir=ctx.work_dir)
    ctx.cleanup(shutil.rmtree, home, True)
    root = run_in(ctx.otp, ["sh", "-c", "dirname $(dirname $(readlink -f $(command -v erl)))"]).stdout.strip()
    erts = f"{home}/erts-99/bin"
    node = ctx.new_node(
        prefix=("unshare", "--mount", "--propagation", "private", "sh", "-c",
                f"mount -t tmpfs none {home} && mkdir {home}/erts-99 && cp -rL {root}/erts-*/bin {erts} && "
                f"ln -s {root}/lib {home} && cp -r {root}/bin {root}/releases {home} && exec \"$@\"", "sh"),
        erl=(f"{erts}/erlexec",), env={"BINDIR": erts, "ROOTDIR": home, "EMU": "beam", "PROGNAME": "erl"},
        flags=("-start_epmd", "false", "-erl_epmd_port", "4371", "-eval",
               "net_kernel:start([late, shortnames])"))
    check_equal(os.readlink(f"/proc/{node.os_pid}/exe"), f"{erts}/beam.smp", "executable")
    check(not os.path.exists(erts), f"{erts} is there outside, too")
    row, facts_now = listed(ctx, node), node.facts()
    check(row["name"].startswith("late@"), f"name: {row}")
    for field in SAME:
        check_equal(row[field], facts_now[field], f"list: {field}")
    check_equal(row["supported"], True, "list: supported")
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.ebeam.record(node, 1)
    check(profile.share_with("cpu_split:gamma/2", profile.of_pids(truth["pids"])) > 0.3,
          f"hottest: {profile.hottest()}")


@case("a node in a container: its id, its name as the runtime has it, the UID of its pod", otp="one")
def container(ctx):
    node, number, uid = ctx.new_node(), "0123456789abcdef" * 4, "1a2b3c4d-0000-1111-2222-333344445555"
    root = cgroup_root()
    home, before = os.path.join(root, f"kubepods/pod{uid}/{number}"), os.path.join(root, "cgroup.procs")
    os.makedirs(home)

    def remove():
        os.removedirs(home)

    def join(path):
        with open(path, "w") as f:
            f.write(str(node.os_pid))
    ctx.cleanup(remove)
    join(os.path.join(home, "cgroup.procs"))
    ctx.cleanup(join, before)
    row = listed(ctx, node)
    check_equal((row["container"], row["container_name"], row["pod_uid"]), (number[:12], None, uid), "row")
    file = f"/var/lib/docker/containers/{number}/config.v2.json"
    result = ctx.ebeam.run("list", prefix=(
        "unshare", "-m", "sh", "-c", f"mount -t tmpfs none /var/lib && mkdir -p {os.path.dirname(file)} && "
        f"echo '{{\"Name\": \"/billing\"}}' > {file} && exec \"$@\"", "sh"))
    check_in("billing", result.out, str(result))


@case("two nodes: -p takes pid, name, part of a name; without -p both are named", otp="one",
      alone=True)
def two_nodes(ctx):
    name = f"second{ctx.otp}@127.0.0.1"
    first, second = ctx.node, ctx.new_node(name=name)
    for row, node in ((listed(ctx, n), n) for n in (first, second)):
        check_equal(row["name"], node.name, "name")
    for who in (second.os_pid, name, f"second{ctx.otp}"):
        answer = ctx.ebeam.ok("record", "-p", who, "-d", "200ms", "-f", "json", "-o", "-").json()
        check_equal(answer["node"]["os_pid"], second.os_pid, f"-p {who}")
        check_equal(answer["node"]["name"], name, f"-p {who}")
    unclear = ctx.ebeam.run("record", "-d", "200ms", "-f", "json", "-o", "-")
    check(unclear.code in (2, 3), f"no -p and two nodes: {unclear}")
    for node in (first, second):
        check_in(node.name, unclear.err, "text of the refusal")


@case("the refusal of OTP 23 is exit 6, and list shows it with supported = false", otp="one")
def otp_23(ctx):
    ready = run_in("23", ["true"])
    if ready.returncode != 0:
        raise Skip(ready.stderr.strip())
    # the agent's workloads are not for such an old release
    node = subprocess.Popen([MATRIX, "run", "23", "--", "erl", "-noshell", "-eval",
                             'io:put_chars("ready\n").'], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ctx.cleanup(node.stdout.close)
    ctx.cleanup(lambda: (node.kill(), node.wait()))
    line = node.stdout.readline()
    check_equal(line, b"ready\n", "node")
    refused = ctx.ebeam.run("record", "-p", node.pid, "-d", "1", "-f", "json", "-o", "-")
    check_equal(refused.code, 6, str(refused))
    check_in("23", refused.err, "text of the refusal")
    rows = [r for r in ctx.ebeam.ok("list", "-j").json()["data"] if r["os_pid"] == node.pid]
    check_equal(len(rows), 1, "rows of list")
    check_equal(rows[0]["supported"], False, "list: supported")
    check_equal(str(rows[0]["otp"]), "23", "list: otp")
    check(rows[0]["uptime_s"] is not None and rows[0]["rss"] > 2**20, f"list: {rows[0]}")
    check_in("(up ", refused.err, "text of the refusal")
    check_in("interpreter", refused.err, "text of the refusal")
    reported = ctx.ebeam.ok("doctor", "-p", node.pid, code=6).out
    for words in ("OTP 23, ERTS ", "process: up ", "fix: upgrade Erlang/OTP"):
        check_in(words, reported, "doctor")
    check("available  ps" not in reported, f"commands that refuse it: {reported}")
    check_in("choose it with -p PID", ctx.ebeam.run("ps", "-p", "nobody@nowhere").err, "a name that nobody has")
    # Of the interpreter there is no layout to try.
    check_equal(ctx.ebeam.run("ps", "-p", node.pid, "--try-layout").code, 6, "exit with --try-layout")


@case("a process that is no node is exit 3 and is named", otp="one")
def not_a_node(ctx):
    other = ctx.child("sleep", "60")
    refused = ctx.ebeam.run("record", "-p", other.pid, "-d", "1", "-f", "json", "-o", "-")
    check_equal(refused.code, 3, str(refused))
    check_in("sleep", refused.err, "text of the refusal")
    check_in("not a BEAM node", refused.err, "text of the refusal")


def kernel_thread():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[6]) & 0x200000:  # PF_KTHREAD
            return pid
    raise Skip("no thread of the kernel is seen here")


@case("a thread of the kernel is said to be one, whoever asks", otp="one")
def of_the_kernel(ctx):
    pid = kernel_thread()
    for prefix in ((), NOBODY):
        refused = ctx.ebeam.run("gc", "-p", pid, "-d", "1", prefix=prefix)
        check_equal(refused.code, 3, str(refused))
        check_in("the kernel's own thread", refused.err, "text of the refusal")


@case("a pid that is gone, and a name that nobody has, are exit 3", otp="one")
def gone(ctx):
    process = subprocess.Popen(["true"])
    process.wait()
    for who in (process.pid, "no_such_node@nowhere"):
        refused = ctx.ebeam.run("record", "-p", who, "-d", "1", "-f", "json", "-o", "-")
        check_equal(refused.code, 3, str(refused))
        check_in(str(who), refused.err, "text of the refusal")


@case("without root record is exit 4 and says what would help", otp="one")
def no_root(ctx):
    refused = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", "1", "-f", "json", "-o", "-",
                            prefix=NOBODY)
    check_equal(refused.code, 4, str(refused))
    check("root" in refused.err or "CAP_" in refused.err, f"no advice in {refused.err!r}")
    result = ctx.ebeam.run("list", "-j", prefix=NOBODY)
    check_equal(result.code, 0, str(result))
    rows = [r for r in result.json()["data"] if r["os_pid"] == ctx.node.os_pid]
    check_equal([r["supported"] for r in rows], [False], "list without root: supported")
    check_in("CAP_SYS_PTRACE", rows[0]["unsupported_reason"], "list without root")


@case("wrong usage is exit 2, before anything is touched", otp="one")
def usage(ctx):
    for args in (("record", "--no-such-option"), ("nonsense",), ("record", "-F", "0", "-d", "1"),
                 ("record", "-F", "5000", "-d", "1"), ("record", "-d", "soon"),
                 ("record", "-p", ctx.node.os_pid, "-o", "-"), ("report",),
                 ("record", "-d", "1", "-f", "nonsense"), ("record", "-d", "1", "--by", "mood")):
        result = ctx.ebeam.run(*args)
        check_equal(result.code, 2, str(result))
        check(result.err.startswith("ebeam: "), f"no error text: {result}")


@case("a table for people: one row, every name", otp="one")
def table(ctx):
    node = ctx.node
    text = ctx.ebeam.ok("list").out
    check_in(node.name, text, "list")
    check_in(str(node.os_pid), text, "list")


@case("a node that starts and ends while list reads is no error", otp="one", alone=True)
def list_races(ctx):
    deadline = time.monotonic() + 3
    starter = ctx.child("sh", "-c", "for i in 1 2 3 4; do erl -noshell -s init stop; done")
    runs = 0
    while time.monotonic() < deadline and starter.poll() is None:
        ctx.ebeam.ok("list", "-j").json()
        runs += 1
    if runs < 3:
        raise Failure(f"only {runs} runs of list in 3 s")
