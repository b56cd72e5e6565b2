# SPDX-License-Identifier: BSD-2-Clause
"""Many CPUs; one that goes off line and comes back while ebeam watches."""
import glob
import json
import os
import re
import subprocess
import time

from answers import Watch
from cases_events import of
from cases_faults import start_attached
from ebeam import Profile
from harness import Skip, case, check, check_equal, patience


def switch(cpu, on):
    with open(f"/sys/devices/system/cpu/cpu{cpu}/online", "w") as f:
        f.write("1" if on else "0")


def last_cpu():
    """One that can go off line."""
    found = [int(re.search(r"cpu(\d+)/online", p).group(1))
             for p in glob.glob("/sys/devices/system/cpu/cpu*/online")]
    found = [c for c in found if c > 0]
    if not found:
        raise Skip("no CPU of this machine can go off line")
    return max(found)


def pin(node, cpu):
    moved = subprocess.run(["taskset", "-a", "-p", "-c", str(cpu), str(node.os_pid)],
                           capture_output=True, text=True)
    check_equal(moved.returncode, 0, moved.stderr)


def wide_node(ctx):
    """A node with a scheduler for each CPU.  Its memory stays mapped: while a collector gives some
    back, the stack is not where the process says (stack_unreadable), and to tell so many CPUs of it
    takes emulation long."""
    number = os.cpu_count()
    return ctx.new_node(flags=("+S", f"{number}:{number}", "+sbwt", "none", "+MMscs", "512"))


def busy_node(ctx):
    """One that works on each."""
    node = wide_node(ctx)
    node.start("throughput")
    return node


@case("a CPU goes off line and comes back while a node is recorded: stacks complete to the end",
      otp="one")
def recorded(ctx):
    cpu, path = last_cpu(), ctx.ebeam.file(".ebeam")
    node = wide_node(ctx)
    ctx.cleanup(switch, cpu, True)
    process, _ = start_attached(ctx, "-d", 30, "-F", 99, "-o", path, node=node)
    # Before it, ebeam would wait for a CPU for minutes where they are emulated.
    node.start("throughput")
    time.sleep(5)
    switch(cpu, False)
    time.sleep(5)
    switch(cpu, True)
    _, err = process.communicate(timeout=patience(60))
    check_equal(process.returncode, 0, f"exit code; {err.decode()}")
    profile = ctx.ebeam.report(path)
    check(profile.samples > 50, f"{profile.samples} samples; {err.decode()}")
    profile.check_complete(0.99)


@case("a CPU that has come back: what runs on it then is sampled", otp="one")
def comes_back(ctx):
    cpu, path = last_cpu(), ctx.ebeam.file(".ebeam")
    node = ctx.new_node(flags=("+S", "1:1"))
    ctx.cleanup(switch, cpu, True)
    process, _ = start_attached(ctx, "-d", 30, "-F", 99, "-o", path, node=node)
    switch(cpu, False)
    time.sleep(1)
    switch(cpu, True)
    pin(node, cpu)
    started = node.start("throughput")
    _, err = process.communicate(timeout=patience(60))
    check_equal(process.returncode, 0, f"exit code; {err.decode()}")
    profile = ctx.ebeam.report(path)
    check(profile.count(profile.of_pids(started["pids"])) > 50,
          f"{profile.samples} samples: {profile.hottest()}; {err.decode()}")


@case("a CPU comes on line after ebeam has begun: events on it are seen as on any other", otp="one")
def comes(ctx):
    cpu = last_cpu()
    node = ctx.new_node(flags=("+S", "2:2"))
    switch(cpu, False)
    ctx.cleanup(switch, cpu, True)
    watch = Watch(ctx, node, "-e", "message_send")
    switch(cpu, True)
    pin(node, cpu)
    truth = node.ask("happenings", "messages", 200, 10)
    sent = of(watch.events(), "message_send", pid=truth["sender"], to=truth["receiver"])
    check_equal(len(sent), 200, f"messages; {watch.err}")
    check_equal({e["cpu"] for e in sent}, {cpu}, "CPUs")


@case("events while a CPU goes off line and comes back: each message is seen", otp="one")
def events(ctx):
    cpu = last_cpu()
    node = wide_node(ctx)
    ctx.cleanup(switch, cpu, True)
    watch = Watch(ctx, node, "-e", "process_spawn,process_exit")
    children = set()
    for on in (True, False, True):
        switch(cpu, on)
        truth = node.ask("happenings", "spawns", 20)
        children |= {c["pid"] for c in truth["children"]}
    seen = watch.events()
    for kind in ("process_spawn", "process_exit"):
        check_equal(len(children & {e["pid"] for e in of(seen, kind)}), len(children), kind)


@case("calls on every scheduler, one for each CPU, are traced by breakpoints: none is missing",
      otp="one")
def traced(ctx):
    number = os.cpu_count()
    node = ctx.new_node(flags=("+S", f"{number}:{number}"))
    node.ask("traced", "warm", "none")
    watch = Watch(ctx, node, "-n", "1000000", "--rate", "1000000", "traced:plain/2", command="trace")
    node.ask("traced", "run", "many", 400)
    seen = [int(e["args"][0]) for e in watch.events() if e["kind"] == "call"]
    check_equal(sorted(seen), sorted(4 * list(range(1, 101))), f"calls; {watch.err}")


@case("a load on every CPU: samples of all of them", otp="one")
def sampled(ctx):
    node, path = busy_node(ctx), ctx.ebeam.file(".json")
    ctx.ebeam.ok("record", "-p", node.os_pid, "-d", 20, "-F", 99, "--by", "scheduler", "-o", path,
                 timeout=120)
    with open(path) as f:
        profile = Profile(json.load(f))
    threads = {s["thread"] for s in profile.stacks if re.fullmatch(r"scheduler \d+", s["thread"])}
    check_equal(len(threads), os.cpu_count(), f"schedulers with samples: {sorted(threads)}")
    profile.check_complete(0.99)
