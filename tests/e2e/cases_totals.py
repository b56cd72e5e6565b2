# SPDX-License-Identifier: BSD-2-Clause
"""What the VM counts of itself as a whole: limits, run queues, reductions, context switches,
collections, bytes through ports.  The node says the same, right before and right after: what does
not move is equal, what only grows is between the two answers.
"""
import json
import os
import subprocess
import time

from harness import Skip, case, check, check_equal
from nodes import TOP

SIDE_BY_SIDE = IN_TURN = True

TOTALS = os.path.join(TOP, "build", "tools", "totals")
ROUNDS = 10
BUSY = 40  # processes that can run, on one scheduler


def ask_tool(node, what):
    if not os.path.exists(TOTALS):
        raise Skip("build/tools/totals is not built: make tools")
    done = subprocess.run([TOTALS, str(node.os_pid), str(what)], capture_output=True, text=True,
                          timeout=60)
    check_equal(done.returncode, 0, f"totals: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def totals(node, times=1):
    lines = ask_tool(node, times)
    check_equal(len(lines), times, "readings")
    for line in lines:
        check_equal(line["unknown"], {}, "what is not known")
    return lines


def bracket(node):
    """One reading between two answers of the node; how many numbers were compared."""
    before = node.ask("total_facts", "counters")
    mine = totals(node)[0]
    after = node.ask("total_facts", "counters")
    for name, low in before.items():
        check(low <= mine[name] <= after[name],
              f"{name}: the node {low}, then {after[name]}; ebeam {mine[name]}")
    return mine, before, after


@case("tables of the VM: as many as the node says, and at most as many")
def limits(ctx):
    compared = 0
    for flags in (("+S", "2:2"), ("+S", "1:1", "+P", "40000", "+Q", "3000", "+t", "300000", "+e",
                                  "20000")):
        node = ctx.new_node(flags=flags)
        node.ask("total_facts", "limits")
        for tables in (0, 50):
            node.ask("total_facts", "tables", tables)
            time.sleep(0.2)
            theirs = node.ask("total_facts", "limits")
            mine = totals(node)[0]
            for name, value in theirs.items():
                check_equal(mine[name], value, f"{name} with {flags}")
                compared += 1
    print(f"    {compared} numbers are equal")


@case("what a node counts lies between its answers before and after, while it works")
def counters(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("total_facts", "counters")
    compared = 0
    for _ in range(ROUNDS):
        node.ask("total_facts", "collect", 3)
        node.ask("total_facts", "talk", 20, 5000)
        _, before, _ = bracket(node)
        compared += len(before)
    node.ask("total_facts", "busy", 4)
    for _ in range(ROUNDS):
        _, before, _ = bracket(node)
        compared += len(before)
    print(f"    {compared} numbers were between two answers")


@case("collections on dirty schedulers and bytes through ports are counted, each of them")
def each(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    for function in (("collect", 2), ("talk", 2, 100), ("counters",)):
        node.ask("total_facts", *function)
    first = totals(node)[0]
    node.ask("total_facts", "collect", 200)
    node.ask("total_facts", "talk", 50, 10000)
    second = totals(node)[0]
    gcs = second["garbage_collections"] - first["garbage_collections"]
    normal = sum(q["garbage_collections"] for q in second["queues"] if q["type"] == "normal")
    check(gcs >= 200, f"200 collections: {gcs}")
    check(second["garbage_collections"] - normal >= 200, "of dirty schedulers")
    for name in ("input", "output"):
        moved = second[name] - first[name]
        check(500000 <= moved <= 501000, f"500,000 bytes of {name}: {moved}")
    # The node rests now: it answers once, and what that costs is all that can differ.
    _, before, after = bracket(node)
    check(after["garbage_collections"] - before["garbage_collections"] < 100, "the node rests")


@case("run queues: of schedulers and of dirty ones, as the node sees them at the same time")
def queues(ctx):
    node = ctx.new_node(flags=("+S", "1:1", "+SDcpu", "1:1", "+SDio", "1"))
    node.ask("total_facts", "queues")
    time.sleep(0.3)
    check_equal([q["length"] for q in totals(node)[0]["queues"]],
                [0, 0, 0], "of a node that rests")
    node.ask("total_facts", "dirty", "cpu", 6, 60000)
    theirs = []
    for _ in range(100):
        theirs = node.ask("total_facts", "queues")["lengths"]
        if theirs[1] == 5:
            break
        time.sleep(0.1)
    check_equal(theirs[1], 5, "dirty CPU, the node itself")
    mine = [q["length"] for q in totals(node)[0]["queues"]]
    check_equal(mine, [0, 5, 0], "dirty queues")
    node.ask("total_facts", "busy", BUSY)
    seen = []
    for reading in totals(node, ROUNDS):
        lengths = [q["length"] for q in reading["queues"]]
        seen.append(lengths[0])
        check(BUSY - 1 <= lengths[0] <= BUSY + 5, f"{BUSY} processes that can run: {lengths}")
        check_equal(lengths[1], 5, "dirty CPU queue")
        check_equal(reading["total_run_queue_lengths_all"], sum(lengths), "sum")
    # Between two processes none runs.
    check(seen.count(BUSY - 1) >= ROUNDS / 5, f"all but the one that runs: {seen}")
    lengths = node.ask("total_facts", "queues")["lengths"]
    check(BUSY <= lengths[0] <= BUSY + 5 and lengths[1] == 5, f"the node says {lengths}")


@case("run queue of dirty IO schedulers: while they all are taken, the node watches itself",
      alone=True)
def dirty_io(ctx):
    node = ctx.new_node(flags=("+S", "1:1", "+SDio", "1"))
    node.ask("total_facts", "queues")
    node.ask("total_facts", "watch", 400, 1500)
    # Since OTP 26 the node reads and writes its terminal on these schedulers: it cannot answer.
    node.tell("ask", "total_facts", "dirty", "io", "3", "3500")
    time.sleep(0.8)
    mine = {q["length"] for r in totals(node, 5) for q in r["queues"] if q["type"] == "dirty_io"}
    node.wait("answer", 120)
    theirs = {lengths[2] for lengths in node.ask("total_facts", "watched")}
    check(mine <= theirs and max(mine) >= 2, f"the node saw {theirs}, ebeam {mine}")
    check(theirs <= {2, 3}, f"the node: {theirs}")


@case("applications: versions, modules, and whose each process is, as the node says")
def apps(ctx):
    node = ctx.new_node(flags=("-s", "inets", "-s", "crypto"))
    node.ask("total_facts", "apps")
    theirs = node.ask("total_facts", "apps")
    mine = {a["name"]: a for a in ask_tool(node, "apps")[0]}
    check_equal(sorted(mine), sorted(a["name"] for a in theirs["apps"]), "applications")
    check("inets" in mine, f"inets: {sorted(mine)}")
    modules = 0
    for app in theirs["apps"]:
        check_equal(mine[app["name"]]["vsn"], app["vsn"], f"version of {app['name']}")
        check_equal(mine[app["name"]]["modules"], app["modules"], f"modules of {app['name']}")
        modules += len(app["modules"])
    masters = {a["master"]: a["name"] for a in mine.values() if a["master"]}
    leaders = {p["pid"]: p["group_leader"] for p in
               ctx.ebeam.ok("ps", "-p", node.os_pid, "-j").json()["data"]}
    compared = 0
    for process in theirs["processes"]:
        if process["pid"] in leaders:
            check_equal(masters.get(leaders[process["pid"]]), process["app"], process["pid"])
            compared += 1
    check(compared > 30, f"{compared} processes")
    print(f"    {len(mine)} applications, {modules} modules and {compared} processes are equal")
