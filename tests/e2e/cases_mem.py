# SPDX-License-Identifier: BSD-2-Clause
"""Memory: `ebeam mem` says what erlang:memory/0 and erlang:system_info({allocator, Type}) say.

Sizes that stand still in a node at rest must be equal to the byte.  The others move because the node
is asked: the answer is built on a heap and printed.  The node is asked before and after ebeam, and
ebeam's value must lie between its answers, give or take what one question allocates.
"""
from harness import Failure, case, check, check_equal

# Nothing that the question allocates is counted here.
STILL = ("atom", "atom_used", "code")
STILL_AREAS = ("atom_space", "atom_space_used", "atom_table", "module_table", "export_table",
               "export_list", "fun_table", "module_refs", "loaded_code", "ets_misc",
               "process_table")
MOVING = ("total", "processes", "processes_used", "system", "binary", "ets")
# A heap for a list of some hundred maps, and the text of the answer; large heaps are whole carriers.
ANSWER = 2 * 2**20
# Allocators that a question and its answer do not use.
UNTOUCHED = ("ll_alloc", "literal_alloc", "ets_alloc")


def look(ctx, node, *args):
    return ctx.ebeam.ok("mem", "-p", node.os_pid, "-j", *args).json()


def check_between(value, a, b, slack, what):
    low, high = sorted((a, b))
    check(low - slack <= value <= high + slack, f"{what}: node {low}..{high}, ebeam {value}")


def settle(node):
    """Whatever the first answers load and make is there."""
    for function in ("memory", "areas", "allocators"):
        node.ask("mem_facts", function)


def compare_sizes(ctx, node):
    """How many fields were compared."""
    before, areas = node.ask("mem_facts", "memory"), node.ask("mem_facts", "areas")
    answer = look(ctx, node)
    after = node.ask("mem_facts", "memory")
    data = answer["data"]
    check_equal(answer["warnings"], [], "warnings")
    for field in STILL:
        check_equal(before[field], after[field], f"the node is not at rest: {field}")
        check_equal(data[field], before[field], field)
    for field in STILL_AREAS:
        check_equal(data["areas"][field], areas[field], f"areas: {field}")
    check_equal(data["areas"]["fun_list"], areas.get("fun_list", 0), "areas: fun_list")
    for field in MOVING:
        check_between(data[field], before[field], after[field], ANSWER, field)
    check_equal(data["total"], data["processes"] + data["system"], "total")
    check(data["processes_used"] <= data["processes"], "processes_used > processes")
    return len(STILL) + len(STILL_AREAS) + 1 + len(MOVING)


@case("every size of memory/0 and allocated_areas")
def sizes(ctx):
    node = ctx.new_node(flags=("+S", "3:3"))
    settle(node)
    compared = compare_sizes(ctx, node)
    print(f"    {compared} fields compared")


@case("binaries, tables and atoms that come and go are counted as what they are")
def what_they_are(ctx):
    node = ctx.new_node(flags=("+S", "3:3"))
    settle(node)
    before = look(ctx, node)["data"]
    node.ask("mem_facts", "hold", 50, 20000)
    node.ask("mem_facts", "atoms", 10000)
    held = look(ctx, node)["data"]
    compared = compare_sizes(ctx, node)
    check_between(held["binary"] - before["binary"], 50 * 100000, 50 * 100000, 200000, "binary")
    check(held["ets"] - before["ets"] > 20000 * 10 * 16, f"ets: {before['ets']} -> {held['ets']}")
    check(held["atom_used"] - before["atom_used"] > 10000 * len("mem_atom_1"), "atom_used")
    node.ask("mem_facts", "release")
    after = look(ctx, node)["data"]
    check_between(after["binary"], before["binary"], before["binary"], 200000, "binary, released")
    check(after["ets"] < held["ets"] - 20000 * 10 * 16, "ets, released")
    print(f"    {compared} fields compared")


def compare_allocators(ctx, node):
    """Each instance must be between the node's answers; what asking does not touch must be equal
    in all fields, at least once.  How many instances there are, and how many were equal."""
    equal = set()
    for _ in range(5):
        before = node.ask("mem_facts", "allocators")
        rows = look(ctx, node)["data"]["allocators"]
        after = node.ask("mem_facts", "allocators")
        mine = {(r["type"], r["instance"]): r for r in rows}
        check_equal(len(mine), len(rows), "instances listed twice")
        check_equal(sorted(mine), sorted((r["type"], r["instance"]) for r in before), "instances")
        for a, b in zip(before, after):
            row = mine[a["type"], a["instance"]]
            check_instance(row, a, b)
            if {k: row[k] for k in a} == a:
                equal.add((a["type"], a["instance"]))
        if len(equal) == len(rows):
            break
    untouched = {key for key in mine if key[0] in UNTOUCHED}
    check_equal(sorted(untouched - equal), [], "never equal")
    return len(mine), len(equal)


def check_instance(row, a, b):
    name = f"{a['type']} {a['instance']}"
    for field, slack in (("blocks_size", ANSWER), ("carriers_size", 2 * ANSWER)):
        check_between(row[field], a[field], b[field], slack, f"{name}: {field}")
    check_equal(row["wasted"], max(0, row["carriers_size"] - row["blocks_size"]), name)
    ratio = row["blocks_size"] / row["carriers_size"] if row["carriers_size"] else 1
    check(abs(row["utilization"] - ratio) < 1e-6, f"{name}: utilization")


@case("every instance of every allocator")
def allocators(ctx):
    node = ctx.new_node(flags=("+S", "4:4"))
    node.ask("mem_facts", "hold", 20, 5000)
    settle(node)
    nr, equal = compare_allocators(ctx, node)
    print(f"    {nr} instances, {equal} equal in all fields")


@case("other choices of allocators: one shared instance, no migration, dirty instances")
def settings(ctx):
    for flags in (("+Mut", "false"), ("+Mumbcgs", "1", "+MBacul", "0", "+MFacul", "0"),
                  ("+Mdai", "2")):
        node = ctx.new_node(flags=("+S", "2:2", *flags))
        settle(node)
        compared = compare_sizes(ctx, node)
        if "+Mdai" not in flags:
            nr, equal = compare_allocators(ctx, node)
            print(f"    {nr} instances, {equal} equal in all fields")
        print(f"    {' '.join(flags)}: {compared} sizes")
        node.close()


@case("an allocator that is switched off: refused, as the node itself does", otp="one")
def switched_off(ctx):
    node = ctx.new_node(flags=("+S", "2:2", "+MSe", "false"))
    try:
        node.ask("mem_facts", "memory")
        raise AssertionError("the node answers erlang:memory()")
    except Failure:
        pass
    refused = ctx.ebeam.run("mem", "-p", node.os_pid)
    check_equal(refused.code, 6, str(refused))
    check("switched off" in refused.err, str(refused))


@case("text: sizes, shares and columns")
def text(ctx):
    node = ctx.node
    data = look(ctx, node)["data"]
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "-n", "5", "-s", "carriers_size",
                         "-c", "type,instance,carriers_size").out.splitlines()
    check(lines[0].startswith("total") and lines[0].endswith("100.0%"), lines[0])
    tables = [i for i, line in enumerate(lines) if line.startswith("ALLOCATOR")]
    types = {r["type"] for r in data["allocators"]}
    check_equal(len(tables), 2, "tables")
    check_equal({line.split()[0] for line in lines[tables[0] + 1:tables[1] - 1]}, types, "types")
    check_equal(len(lines[tables[1] + 1:]), 5, "instances")
    most = max(data["allocators"], key=lambda r: r["carriers_size"])
    check_equal(lines[tables[1] + 1].split()[:2], [most["type"], str(most["instance"])], "first")
