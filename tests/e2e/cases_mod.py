# SPDX-License-Identifier: BSD-2-Clause
"""Modules: `ebeam mod` says of each what module_info/1 and erlang:check_old_code/1 say, while code is
loaded, replaced, purged and deleted too."""
import os
import re

from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = True

FIELDS = ("functions", "md5", "old_code")


def read(ctx, node, *args):
    return ctx.ebeam.ok("mod", "-p", node.os_pid, "-j", *args).json()


def plain(module):
    """Erlang's name of a module that ebeam shows as Elixir or Erlang writes it."""
    if module.startswith("'"):
        return module[1:-1]
    return "Elixir." + module if module[0].isupper() else module


def by_name(answer):
    rows = {plain(r["module"]): r for r in answer["data"]}
    check_equal(len(rows), len(answer["data"]), "modules listed twice")
    return rows


def compare(ctx, node):
    """Every field of every module; how many were compared."""
    node.ask("mem_facts", "modules")  # what the answer needs is loaded now
    truth = {m["module"]: m for m in node.ask("mem_facts", "modules")}
    answer = read(ctx, node)
    rows = by_name(answer)
    check_equal(sorted(rows), sorted(truth), "modules")
    for name, expected in truth.items():
        for field in FIELDS:
            value = expected[field]
            if field == "md5" and value is not None:
                value = value.lower()
            check_equal(rows[name][field], value, f"{name}: {field}")
        check_equal(rows[name]["nifs"], expected["nifs"], f"{name}: nifs")
        check_equal(rows[name]["native_address"] is None, rows[name]["size"] == 0, f"{name}: code")
    areas = node.ask("mem_facts", "areas")
    size = sum(r["size"] + r["old_size"] for r in answer["data"])
    check_equal(size, areas["loaded_code"], "bytes of all code")
    check_equal(answer["counters"],
                {"code_size": size, "torn": 0, "unreadable": 0}, "counters")
    return len(truth) * (len(FIELDS) + 1) + 1, rows


@case("every field of every module, Elixir's too")
def every_field(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.start("elixir_work")
    node.stop("elixir_work")
    compared, rows = compare(ctx, node)
    shown = {r["module"] for r in read(ctx, node)["data"]}
    check({"Enum", "MyApp.Worker", "lists", "elixir_work"} <= shown, "names")
    check(rows["prim_file"]["nifs"], "prim_file has NIFs")
    check(not rows["lists"]["nifs"], "lists has none")
    print(f"    {len(rows)} modules, {compared} fields compared")


@case("code that is loaded again, purged, deleted: which of the tables is in use")
def replaced(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    total = 0
    for step in range(4):  # every one of the three tables comes into use
        node.ask("mem_facts", "reload", "strings")
        compared, rows = compare(ctx, node)
        check_equal(rows["strings"]["old_code"], True, f"load {step}: old_code")
        check(rows["strings"]["old_size"] > 0, f"load {step}: old_size")
        node.ask("mem_facts", "purge", "strings")
        after, rows = compare(ctx, node)
        check_equal((rows["strings"]["old_code"], rows["strings"]["old_size"]), (False, 0),
                    f"purge {step}")
        total += compared + after
    node.ask("mem_facts", "reload", "strings")
    node.ask("mem_facts", "purge", "strings")
    node.ask("mem_facts", "delete", "strings")
    compared, rows = compare(ctx, node)
    check_equal((rows["strings"]["size"], rows["strings"]["old_code"]), (0, True), "deleted")
    node.ask("mem_facts", "purge", "strings")
    after, rows = compare(ctx, node)
    check("strings" not in rows, "deleted and purged")
    total += compared + after
    print(f"    {total} fields compared")


def code_in_perf_map(node):
    """{module: (start, size)} of the code that the JIT put last, as its perf map has it."""
    path = f"/tmp/perf-{node.inner_pid}.map"
    start, found = {}, {}
    with open(path) as f:
        for line in f:
            symbol = re.match(r"0x([0-9a-f]+) ([0-9a-f]+) \$(.+)::code(Header|Footer)$", line)
            if symbol:
                address, size, name = int(symbol[1], 16), int(symbol[2], 16), symbol[3].strip("'")
                if symbol[4] == "Header":
                    start[name] = address
                else:
                    found[name] = start[name], address + size - start[name]
    os.unlink(path)
    return found


@case("where the code stands and how large it is: what the JIT's own perf map says")
def addresses(ctx):
    node = ctx.new_node(flags=("+S", "2:2", "+JPperf", "map"))
    node.start("elixir_work")
    node.stop("elixir_work")
    compare(ctx, node)
    node.ask("mem_facts", "reload", "strings")
    node.ask("mem_facts", "purge", "strings")
    rows = by_name(read(ctx, node))
    truth = code_in_perf_map(node)
    check_equal(truth.keys() - rows.keys(), {"erts_beamasm"}, "code that belongs to no module")
    del truth["erts_beamasm"]
    # The first modules are there before the map is.
    check(len(truth) > len(rows) - 30, f"modules in the map: {len(truth)} of {len(rows)}")
    compared = 0
    for name, (address, size) in truth.items():
        row = rows[name]
        check_equal((int(row["native_address"], 16), row["size"]), (address, size), name)
        compared += 2
    print(f"    {compared} fields compared")


@case("while modules are loaded and replaced all the time", alone=True)
def busy(ctx):
    with ctx.workload("reload"):
        for _ in range(10):
            rows = by_name(read(ctx, ctx.node))
            for name in ("erlang", "lists", "workload", "kernel"):
                check_in(name, rows, "modules")
                check("torn" not in rows[name], f"{name} is torn")
                check(rows[name]["size"] > 0 and rows[name]["functions"] > 0, f"{rows[name]}")


@case("text: order, columns, limit")
def text(ctx):
    rows = read(ctx, ctx.node)["data"]
    check_equal([r["size"] for r in rows], sorted((r["size"] for r in rows), reverse=True), "order")
    lines = ctx.ebeam.ok("mod", "-p", ctx.node.os_pid, "-s", "module", "-n", "3",
                         "-c", "module,functions").out.splitlines()
    names = sorted(r["module"] for r in rows)
    check_equal(lines[0].split(), ["MODULE", "FUNCTIONS"], "heading")
    check_equal([line.split()[0] for line in lines[1:]], names[:3], "modules")
