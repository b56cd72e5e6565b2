# SPDX-License-Identifier: BSD-2-Clause
"""Memory of the process: `ebeam mem` says what the RSS consists of, and what the VM counts of its
tables.  The kernel (VmRSS) and the node itself are the oracle; a NIF gets memory of kinds that are
known."""
import json
import time

from harness import Failure, case, check, check_equal, check_in

SIDE_BY_SIDE = True

PARTS = ("carriers", "cached_segments", "code", "stacks", "malloc", "libraries", "files", "other")
MIB = 2**20


def read(ctx, node, *args):
    """The answer, with what the kernel said of the RSS before and after it: the VM frees segments that
    it kept at any time."""
    before = status(node, "VmRSS") * 1024
    answer = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j", *args).json()
    if answer["data"].get("rss"):
        answer["data"]["rss"]["kernel"] = sorted((before, status(node, "VmRSS") * 1024))
    return answer


def read_watched(ctx, node, command, *args):
    result = ctx.ebeam.ok(command, "-p", node.os_pid, "-j", "--watch", "500ms", "-d", "3s", *args)
    return result.out.splitlines(), result.seconds


def status(node, field):
    with open(f"/proc/{node.os_pid}/status") as f:
        for line in f:
            if line.startswith(field + ":"):
                return int(line.split()[1])
    raise Failure(f"no {field}")


def check_sum(rss, unknown=0.02):
    """The parts add up to the total, which is what the kernel says; little of it is unknown."""
    check_equal(sum(rss[p] for p in PARTS), rss["total"], f"sum of {rss}")
    low, high = rss["kernel"]
    check(0.98 * low - MIB <= rss["total"] <= 1.02 * high + MIB, f"VmRSS {low}..{high}, ebeam {rss['total']}")
    check(rss["other"] <= unknown * rss["total"], f"other: {rss}")


def check_carriers(node, answer):
    """All carriers were found, and at least half of their bytes are in memory."""
    truth = node.ask("mem_facts", "instances")
    found = answer["counters"]["carriers_found"]
    check(abs(found - truth["carriers"]) <= 4, f"carriers: node {truth}, ebeam {found}")
    check(answer["data"]["rss"]["carriers"] <= truth["carriers_size"] + MIB, f"{answer['data']['rss']}, {truth}")


def settled(ctx, *flags, **kwargs):
    node = ctx.new_node(flags=flags, **kwargs)
    for function in ("memory", "areas"):
        try:
            node.ask("mem_facts", function)
        except Failure:
            pass  # a node whose allocators are off
    return node


@case("the parts add up to VmRSS, nearly all of it is known, and every carrier is found")
def adds_up(ctx):
    node = settled(ctx, "+S", "3:3")
    node.ask("mem_facts", "hold", 200, 50000)
    answer = read(ctx, node)
    check_sum(answer["data"]["rss"])
    check_carriers(node, answer)
    rss = answer["data"]["rss"]
    check(rss["stacks"] >= 3 * status(node, "Threads") * 4096 / 2, f"stacks: {rss}")
    for part in ("carriers", "malloc", "libraries", "code"):
        check(rss[part] > MIB, f"{part}: {rss}")
    print("    " + ", ".join(f"{p} {rss[p] // 1024} KiB" for p in PARTS))


@case("segments that the VM keeps are those that mseg_alloc says it has")
def cached(ctx):
    node = settled(ctx, "+S", "2:2")
    seen = []
    for _ in range(5):
        node.ask("mem_facts", "hold", 1000, 10)
        node.ask("mem_facts", "release")
        first = node.ask("mem_facts", "cached")
        rss = read(ctx, node)["data"]["rss"]
        second = node.ask("mem_facts", "cached")
        seen.append((first, rss["cached_segments"], second))
        check_sum(rss)
        time.sleep(1)
    print(f"    {seen}")
    check(any(f > 0 and size > 0 for f, size, _ in seen), f"{seen}")
    check(all(size >= s * 4096 or s < f for f, size, s in seen), f"{seen}")


@case("what the VM gets and gives back is carriers, and nothing else")
def carriers(ctx):
    node = settled(ctx, "+S", "2:2")
    before = read(ctx, node)["data"]["rss"]
    node.ask("mem_facts", "hold", 1000, 10)  # 95 MiB of binaries, each in a carrier or a shared one
    held = read(ctx, node)
    check_sum(held["data"]["rss"])
    check_carriers(node, held)
    grown = {p: held["data"]["rss"][p] - before[p] for p in PARTS}
    check(90 * MIB < grown["carriers"] < 130 * MIB, f"grown: {grown}")
    for part in set(PARTS) - {"carriers", "cached_segments"}:
        check(abs(grown[part]) < 4 * MIB, f"grown: {grown}")
    node.ask("mem_facts", "release")
    most = held["data"]["rss"]["carriers"] - 60 * MIB
    for _ in range(20):
        time.sleep(1)  # the VM frees segments that it kept a second after the other
        after = read(ctx, node)["data"]["rss"]
        check_sum(after)
        if after["carriers"] < most:
            break
    check(after["carriers"] < most, f"held {held['data']['rss']}, after {after}")


@case("choices of allocators: super carrier, carriers from malloc, no pool, one instance")
def choices(ctx):
    for flags in (("+MMscs", "256"), ("+MMscs", "512", "+MMsco", "false"), ("+MBacul", "0"),
                  ("+Mut", "false"), ("+Musac", "true", "+Mummmbc", "0", "+Mummsbc", "0")):
        node = settled(ctx, "+S", "2:2", *flags)
        node.ask("mem_facts", "hold", 300, 20000)
        answer = read(ctx, node)
        check_sum(answer["data"]["rss"])
        check_carriers(node, answer)
        rss = answer["data"]["rss"]
        print(f"    {' '.join(flags)}: " + ", ".join(f"{p} {rss[p] // 1024}" for p in PARTS))
        node.close()


@case("allocators that are switched off: no sizes by type, and all that can be known nevertheless")
def switched_off(ctx):
    for flags in (("+Mea", "min"), ("+MHe", "false"), ("+MSe", "false")):
        node = settled(ctx, "+S", "2:2", *flags)
        answer = read(ctx, node)
        data = answer["data"]
        check_sum(data["rss"], 0.02)
        check(answer["counters"]["carriers_found"] > 0, "those of literals are always there")
        check_equal(data["total"], None, "total")
        check_equal(data["processes"], None, "processes")
        warnings = answer["warnings"]
        check(any("switched off" in w for w in warnings), f"{warnings}")
        limits = node.ask("total_facts", "limits")
        check_equal(data["counts"]["processes"]["limit"], limits["process_limit"], "process_limit")
        text = ctx.ebeam.ok("mem", "-p", node.os_pid)
        check("RSS" in text.out and "switched off" in text.err, str(text))
        rss = data["rss"]
        print(f"    {' '.join(flags)}: " + ", ".join(f"{p} {rss[p] // 1024} KiB" for p in PARTS))
        node.close()


@case("memory of a NIF: one block, many, those of another thread are malloc's, a mapping of its own is other")
def native(ctx):
    node = settled(ctx, "+S", "2:2")
    node.ask("native_memory", "load", ctx.library("memory_nif"))
    for kind, part, mib in (("one_block", "malloc", 40), ("many_blocks", "malloc", 90),
                            ("other_thread", "malloc", 90), ("mapped", "other", 30)):
        before = read(ctx, node)["data"]["rss"]
        node.ask("native_memory", "hold", kind, mib)
        after = read(ctx, node)["data"]["rss"]
        grown = {p: after[p] - before[p] for p in PARTS}
        # Some of what malloc has is free, and in memory already.
        check(0.9 * mib * MIB < grown[part] < 1.05 * mib * MIB + MIB, f"{kind}: grown {grown}")
        for p in set(PARTS) - {part}:
            if p != "cached_segments":  # which the VM frees one by one
                check(abs(grown[p]) < 2 * MIB, f"{kind}: grown {grown}")
        check_equal(sum(after[p] for p in PARTS), after["total"], "sum")


@case("counts and limits of atoms, processes, ports and tables")
def counts(ctx):
    node = settled(ctx, "+S", "2:2", "+P", "5000", "+Q", "2000", "+t", "300000", "+e", "3000")
    for _ in range(3):
        before = node.ask("total_facts", "limits")
        mine = read(ctx, node)["data"]["counts"]
        after = node.ask("total_facts", "limits")
        for name, key in (("atoms", "atom"), ("processes", "process"), ("ports", "port"), ("ets", "ets")):
            check_equal(mine[name]["limit"], before[key + "_limit"], f"{name}: limit")
            low, high = sorted((before[key + "_count"], after[key + "_count"]))
            check(low - 1 <= mine[name]["count"] <= high + 1, f"{name}: node {low}..{high}, ebeam {mine[name]}")
    text = ctx.ebeam.ok("mem", "-p", node.os_pid).out
    check(f"{mine['atoms']['limit']:,}" in text, text)


NAMES = ["plain", "My.Module", "Elixir.My.Module", "with space", "tab\there", "quo'te", "[esc]\x1b[31m", "Größe",
         "日本", "новый"]
WRITTEN = ["plain", "'My.Module'", "'Elixir.My.Module'", "'with space'", "'tab\\there'", "'quo\\'te'",
           "'[esc]\\e[31m'", "'Größe'", "'日本'", "'новый'"]


def hex_of(names):
    return "|".join(names).encode().hex()


@case("--atoms: the newest atoms, newest first, as Erlang writes them")
def newest_atoms(ctx):
    node = settled(ctx, "+S", "2:2")
    read(ctx, node, "--atoms")
    names = [f"fresh_{i}" for i in range(40)]
    node.ask("mem_facts", "atoms", 1)  # what asking makes is there
    node.ask("mem_facts", "new_atoms", hex_of(names))
    data = read(ctx, node, "--atoms", "-n", 60)["data"]
    check_equal(len(data["atoms"]), 60, "atoms")
    check_equal([a["index"] for a in data["atoms"]],
                list(range(data["counts"]["atoms"]["count"] - 1, data["counts"]["atoms"]["count"] - 61, -1)), "indices")
    mine = [a["atom"] for a in data["atoms"] if a["atom"].startswith("fresh_")]
    check_equal(mine, names[::-1], "atoms")
    data = read(ctx, node, "--atoms", "-n", 50)["data"]
    check_equal([data["beginning"], data["beginning_atoms"]], ["fresh_", 40], "what most begin with")
    text = ctx.ebeam.ok("mem", "-p", node.os_pid, "--atoms").out
    check("\n40 of the newest 50 begin with 'fresh_'\n" in text, text)
    check_in(f"who makes them: ebeam trace -p {node.os_pid} ", text.splitlines()[-1], "the command that says more")
    node.ask("mem_facts", "new_atoms", hex_of(NAMES))
    mine = [a["atom"] for a in read(ctx, node, "--atoms", "-n", 20)["data"]["atoms"]]
    check_equal([a for a in mine if a in WRITTEN], WRITTEN[::-1], f"{mine}")
    text = ctx.ebeam.ok("mem", "-p", node.os_pid, "--atoms", "-n", 20).out
    check("\x1b" not in text, repr(text))
    check_equal(len(text.splitlines()), 24, text)


@case("--persistent-terms: keys, sizes and their sum are those of persistent_term:get/0 and info/0")
def persistent_terms(ctx):
    for puts in (0, 5, 3000):
        node = settled(ctx, "+S", "2:2")
        node.ask("mem_facts", "put_terms", puts)
        truth = node.ask("mem_facts", "persistent")
        data = read(ctx, node, "--persistent-terms")["data"]
        check_equal(data["count"], truth["count"], "count")
        check_equal(data["memory"], truth["memory"], "memory")
        mine = {t["key"]: t for t in data["persistent_terms"]}
        check_equal(sorted(mine), sorted(t["key"] for t in truth["terms"]), "keys")
        for term in truth["terms"]:
            if "mem_facts" in term["key"]:
                check_equal(mine[term["key"]]["words"], term["words"], f"{term}")
        check_equal(data["persistent_terms"], sorted(data["persistent_terms"], key=lambda t: -t["bytes"]), "order")
        node.close()
    refused = ctx.ebeam.run("mem", "-p", ctx.node.os_pid, "--persistent-terms", "--watch", "1")
    check_equal(refused.code, 2, str(refused))


@case("persistent terms that come and go meanwhile: an answer each time, and a right one", alone=True)
def persistent_churn(ctx):
    node = settled(ctx, "+S", "2:2")
    node.ask("mem_facts", "churn_terms")
    for _ in range(20):
        data = read(ctx, node, "--persistent-terms")["data"]
        keys = [t["key"] for t in data["persistent_terms"]]
        check_equal(len(keys), len(set(keys)), "keys twice")
        check_equal(data["count"], len(keys), "count")
        check("{mem_facts,1}" in keys, f"{keys}")


@case("mem --watch: growth per second; ets --watch: of each table", alone=True)
def watch(ctx):
    node = settled(ctx, "+S", "2:2")
    node.ask("mem_facts", "grow", 300, 500)
    lines, took = read_watched(ctx, node, "mem")
    answers, intervals = [json.loads(line)["data"] for line in lines], 0
    check(len(answers) >= 3, f"{len(answers)} answers")
    check_equal(answers[0]["growth_per_s"]["total"], None, "first answer")
    for a, b in zip(answers, answers[1:]):
        growth = b["growth_per_s"]
        for field in ("total", "ets", "atom"):
            check((b[field] > a[field]) == (growth[field] > 0), f"{field}: {a[field]} {b[field]} {growth[field]}")
        if b["ets"] == a["ets"]:
            continue  # the node had no CPU
        # 500 ms between two answers, or more where others have the CPUs; the same for all fields.
        interval = (b["ets"] - a["ets"]) / growth["ets"]
        check(interval > 0.4, f"{interval} s between {a} and {b}")
        grown = b["total"] - a["total"]
        check(abs(growth["total"] * interval - grown) <= 2 + interval, f"total: {interval} s, {a} {b}")
        intervals += interval
    check(0.4 < intervals <= took, f"{intervals} of {took} s")
    lines, took = read_watched(ctx, node, "ets")
    tables = [{t["name"]: t for t in json.loads(line)["data"]} for line in lines]
    intervals = 0
    check("size_per_s" not in tables[0]["mem_grows"], f"{tables[0]['mem_grows']}")
    for a, b in zip(tables, tables[1:]):
        grown = b["mem_grows"]["size"] - a["mem_grows"]["size"]
        intervals += grown and grown / b["mem_grows"]["size_per_s"]
        check((b["mem_grows"]["bytes_per_s"] > 0) == (grown > 0), f"{b['mem_grows']}")
        check_equal(b["code_names"]["size_per_s"], 0, "code_names")
    check(0.4 < intervals <= took, f"{intervals} of {took} s")
    refused = ctx.ebeam.run("ets", "-p", node.os_pid, "-s", "size_per_s")
    check_equal(refused.code, 2, str(refused))
    refused = ctx.ebeam.run("ets", "-p", node.os_pid, "code", "--watch", "1")
    check_equal(refused.code, 2, str(refused))
