# SPDX-License-Identifier: BSD-2-Clause
"""What the themes of tests/e2e do not ask in a way that an emulated machine can answer."""
import json
import time

from answers import Watch
from cases_lasting import load_nifs
from cases_malloc import loaded, through
from cases_offcpu import OffCpu
from harness import case, check, check_equal, check_in
from reading import answers, check_sensible, readings


@case("record: at least 99 % of the stacks are complete, and name what ran", otp="one")
def record(ctx):
    with ctx.workload("throughput") as truth:
        profile = ctx.ebeam.record(ctx.node, 10, freq=499)
    own = profile.of_pids(truth["pids"])
    check(profile.samples >= 200, f"{profile.samples} samples")
    check(profile.count(own) > 0.5 * profile.samples,
          f"{profile.count(own)} of {profile.samples} in the processes; {profile.hottest()}")
    # The stack of a heap that shrinks cannot be found while its end is unmapped (ebeam-internals(7)), which
    # takes an emulated machine, whose CPUs wait for each other, very long.
    found = [s for s in own if not any("munmap" in f for f in s["frames"])]
    check(profile.share_with("throughput:unit/0", found) > 0.9, f"stacks: {profile.hottest()}")
    unmapping = min(profile.count(profile.only(lambda s: any("munmap" in f for f in s["frames"]))),
                    profile.by_status["stack_unreadable"])
    missing = (1 - profile.complete_share()) * profile.samples - unmapping
    check(missing <= 0.01 * (profile.samples - unmapping) + 3, f"{missing:.0f} of {profile.samples - unmapping} are "
          f"not complete, beside {unmapping} while heaps shrank: {profile.by_status}")
    check(profile.by_kind.get("erlang", 0) > 0 and profile.by_kind.get("gc", 0) > 0,
          f"kinds: {profile.by_kind}")


@case("every command that reads memory, while the node works", otp="one")
def memory(ctx):
    with ctx.workload("throughput"):
        found = readings(ctx.ebeam)
        check_sensible(found, answers(ctx.ebeam, ("-p", ctx.node.os_pid), found), ctx.node)


@case("top: processes and functions that work", otp="one")
def top(ctx):
    with ctx.workload("throughput") as truth:
        said = ctx.ebeam.ok("top", "-p", ctx.node.os_pid, "-j", "-d", 20, "-n", 5, timeout=90)
    last = said.out.splitlines()[-1]
    check(any(pid in last for pid in truth["pids"]), f"processes: {last[:2000]}")
    check_in("throughput", last, "functions")


@case("list: the node, by its name and process id", otp="one")
def list_nodes(ctx):
    node = ctx.node  # starts it
    rows = ctx.ebeam.ok("list", "-j").json()["data"]
    check_equal([r["name"] for r in rows if r["os_pid"] == node.os_pid], [node.name], "name")


@case("record --mode malloc --leak: what is kept is the leak, what is freed is none", otp="one")
def leak(ctx):
    node = loaded(ctx)
    watch = Watch(ctx, node, "--mode", "malloc", "--leak", command="record")
    for kind, count in (("leak", 8000), ("churn", 12000)):
        node.ask("native_leak", "once", kind, 2000, count)
    time.sleep(5)  # what is left must be some time older than the end
    watch.end()
    check_equal(watch.process.returncode, 0, f"exit code; {watch.err}")
    data, truth = json.loads(watch.out)["data"], node.ask("native_leak", "bytes")
    found = {name: through(data, f"leak_{name}") for name in ("plain", "churn")}
    print(f"    leaked {truth['leak']}, seen {found}")
    check(0.93 * truth["leak"] < found["plain"] < 1.07 * truth["leak"], f"{truth}, {found}")
    check(found["churn"] < 0.01 * truth["churn"], f"{truth}, {found}")


@case("locks: waits for one lock, by who waited and who released; no longer than the node measured", otp="one")
def locks(ctx):
    # Whoever was woken is on a CPU for the kernel, even while the emulated CPU waits for others; and may
    # find the lock taken again, and wait once more.
    node = ctx.new_node()
    load_nifs(ctx, node)
    off = OffCpu(ctx, node, during=lambda: node.ask("blocked", "locked", 3, 20, 30000), command=("locks",))
    waits, ns = (sum(p[name] for p in off.truth.values()) for name in ("waits", "ns"))
    lock = off.data["locks"][0]
    print(f"    {lock['waits']} waits of {lock['total_ns']} ns; the node: {waits}, {ns} ns")
    check(0.6 * ns < lock["total_ns"] < 1.02 * ns + lock["margin_ns"], f"{lock}, truth {ns} ns")
    check(0.9 * waits <= lock["waits"] <= 2 * waits, f"{lock}, truth {waits} waits")
    for rows in ("waiters", "releasers"):
        own = sum(row["total_ns"] for row in off.data[rows] if row["pid"] in off.truth)
        check(own >= 0.9 * lock["total_ns"], f"{off.data[rows]}, truth {off.truth}")
