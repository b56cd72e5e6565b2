# SPDX-License-Identifier: BSD-2-Clause
"""Nodes that no longer answer: stopped, all schedulers stuck in C, or one process that eats a CPU
and none of its messages.  Every command that only reads memory must answer as ever."""
import os
import re
import signal
import time

from cases_core import stop
from harness import Failure, case, check, check_equal, check_in
from reading import answers, check_sensible, readings

SIDE_BY_SIDE = True
IN_TURN = True

MESSAGES = 5000


def kill(node):
    """It cannot end by itself."""
    try:
        os.kill(node.os_pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


# With all privileges doctor has the kernel check every program, which takes 3 s of CPU and is the same
# for every node: once is enough.
WITHOUT_PROGRAMS = ("setpriv", "--bounding-set=-bpf,-sys_admin")


def check_doctor(ctx, node):
    """What doctor reads of the node's memory, without the rest."""
    result = ctx.ebeam.ok("doctor", "-p", node.os_pid, "-j", prefix=WITHOUT_PROGRAMS, code=4)
    rows = [r for r in result.json()["data"]["features"] if r["group"] in ("layout checks", "tables", "inspection")]
    check({"layout checks", "inspection"} <= {r["group"] for r in rows}, f"doctor: {rows}")
    check_equal([r for r in rows if r["state"] != "available"], [], "doctor: rows about the memory")


def read_all(ctx, node, whole_doctor=False):
    found = readings(ctx.ebeam)
    if not whole_doctor:
        found = [row for row in found if row.command != "doctor"]
        check_doctor(ctx, node)
    answered = answers(ctx.ebeam, ("-p", node.os_pid), found)
    check_sensible(found, answered, node)
    print(f"    answered: {', '.join(answered)}", flush=True)
    return answered


def check_loop(ctx, node, answered):
    """The process hung_loop, in the answers that show processes."""
    if "ps" in answered:
        rows = [p for p in answered["ps"] if p["registered_name"] == "hung_loop"]
        check_equal([p["message_queue_len"] for p in rows], [MESSAGES], "ps: message_queue_len")
    if "inspect code_server" in answered:
        data = ctx.ebeam.ok("inspect", "-p", node.os_pid, "hung_loop", "-j").json()["data"]
        check_equal(data["message_queue_len"], MESSAGES, "inspect: message_queue_len")
        check_in("hung:spin/1", str(data), "inspect: where it is")


@case("stopped by SIGSTOP")
def stopped(ctx):
    node = ctx.new_node(flags=("+S", "2:2"), name=f"stopped{ctx.otp}@127.0.0.1")
    said = ctx.ebeam.ok("ps", "-p", node.os_pid, "-n", "1").err
    check("stopped" not in said, f"of one that runs: {said}")
    stop(ctx, node.os_pid)
    read_all(ctx, node, whole_doctor=True)
    for args in (("ps", "-n", "1"), ("inspect", "init"), ("record", "-d", "1", "-f", "text")):
        check_in("is stopped (SIGSTOP): nothing happens in it", ctx.ebeam.run(*args, "-p", node.os_pid).err, args)
    with open(f"/proc/{node.os_pid}/stat") as f:
        check_equal(f.read().rsplit(")", 1)[1].split()[0], "T", "state of the node afterwards")


@case("stopped: timers that are past their time are overdue, by as much as has passed")
def overdue(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.start("states")
    asked = time.monotonic()
    pid = node.ask("states", "soon", 5000)
    answered = time.monotonic()
    fresh = ctx.ebeam.ok("inspect", "-p", node.os_pid, pid).out
    stop(ctx, node.os_pid)
    check_equal(len(re.findall(r"^  in [0-4]\.\d{3} s ", fresh, re.M)), 2, fresh)
    check("verdue" not in fresh, fresh)
    time.sleep(max(0, answered + 8 - time.monotonic()))
    before = time.monotonic()
    timers = ctx.ebeam.ok("inspect", "-p", node.os_pid, pid, "-j").json()["data"]["timers"]
    after = time.monotonic()
    text = ctx.ebeam.ok("inspect", "-p", node.os_pid, pid).out
    check_equal([t["type"] for t in timers], ["receive", "send"], "timers")
    for timer in timers:
        late = -timer["time_left"] / 1000
        # The node corrects its clock by up to 1 %.
        check(before - answered - 5.15 < late < after - asked - 4.85, f"{timer}: stopped for "
              f"{before - answered:.3f} to {after - asked:.3f} s")
    check_equal(len(re.findall(r"^  overdue by \d+\.\d{3} s ", text, re.M)), 2, text)
    check_in("does not check its timers", text, "what it means")


@case("stopped, in a PID and a mount namespace of its own")
def stopped_elsewhere(ctx):
    node = ctx.new_node(flags=("+S", "2:2"), name=f"elsewhere{ctx.otp}@127.0.0.1",
                        prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc"))
    check(node.inner_pid != node.os_pid, "the node is not in a PID namespace of its own")
    mount = [os.readlink(f"/proc/{pid}/ns/mnt") for pid in (node.os_pid, "self")]
    check(mount[0] != mount[1], "nor in a mount namespace")
    node.facts()
    facts = node.facts()
    stop(ctx, node.os_pid)
    answered = read_all(ctx, node)
    for command, field in (("ps", "process_count"), ("port", "port_count")):
        check_equal(len(answered[command]), facts[field], f"{command}: rows")


@case("all schedulers in a C function that does not return")
def schedulers_stuck(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    ctx.cleanup(kill, node)
    node.start("hung", "2", settle=1.5)
    node.tell("facts")
    try:
        node.wait("facts", 2)
        raise AssertionError("the node still answers")
    except Failure:
        pass  # as it should be
    check_loop(ctx, node, read_all(ctx, node))
    check(node.alive(), "the node is gone")


@case("an endless loop with a full mailbox")
def endless_loop(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    ctx.cleanup(kill, node)
    node.start("hung")
    check_loop(ctx, node, read_all(ctx, node))
    before = node.cpu_seconds()
    time.sleep(0.3)
    check(node.cpu_seconds() > before, "it does not run")
    check_equal(node.facts()["name"], node.name, "the node still answers")
