# SPDX-License-Identifier: BSD-2-Clause
"""Carriers and blocks: `ebeam mem --carriers` and `--tags` say what instrument:carriers/1 and
instrument:allocations/1 say.

The node asks itself ten times a second, and keeps the answers; between them it rests, and ebeam
reads.  All must be equal to the byte, but for what the question itself allocates (heap fragments,
signals, jobs of schedulers).
"""
import json
import time

from harness import Skip, case, check, check_equal

SIDE_BY_SIDE = True

ROUNDS = 8
EQUAL = ("carriers", "carriers_size", "pool_carriers", "sbcs_carriers", "sbcs_carriers_size", "blocks",
         "free_blocks")
# Allocators of what the question makes.
TOUCHED = {"eheap_alloc", "sl_alloc", "temp_alloc"}
QUESTION = {"message", "heap_frag"}  # types of blocks of an answer, which stay until the next question
ANSWERS = 2**20  # bytes: of a question
TAGS_ALL = ("+Muatags", "true")


def read(ctx, node, what, *args):
    return ctx.ebeam.ok("mem", "-p", node.os_pid, what, "-j", *args).json()


def watch(ctx, node, asked, *what):
    """An answer of ebeam that is not of the moments in which the node asked, and what it noted itself meanwhile."""
    for _ in range(ROUNDS):
        node.ask("alloc_facts", "watch", asked)
        time.sleep(0.4)
        answer = read(ctx, node, *what)
        time.sleep(0.3)
        seen = node.ask("alloc_facts", "watched")
        if not answer["counters"]["torn"]:
            break
    check_equal(answer["counters"]["torn"], 0, "torn carriers, whenever it is asked")
    return answer, seen


def by_type(rows):
    return {row["type"]: row for row in rows}


def is_row(row, reported):
    """A row of ebeam is what the node reports."""
    multi, singles = reported["blocks_size"], reported["sbcs_carriers_size"]
    same = all(row[key] == reported[key] for key in EQUAL)
    if not same or not 0.7 * singles <= row["blocks_size"] - multi <= singles:
        return False
    use = [[band["carriers"], band["unused"]] for band in row["use"]]
    return singles > 0 or use == reported["use"]


def check_row(row):
    check_equal(row["unused"], row["carriers_size"] - row["blocks_size"], f"{row['type']}: unused")
    for key in ("carriers", "carriers_size", "unused"):
        check_equal(sum(band[key] for band in row["use"]), row[key], f"{row['type']}: {key} by use")
    multi = row["carriers_size"] - row["sbcs_carriers_size"]
    check(row["largest_free"] <= multi, f"{row['type']}: largest_free {row['largest_free']} of {multi}")
    check((row["largest_free"] > 0) == (row["free_blocks"] > 0), f"{row['type']}: {row}")


def compare_carriers(ctx, node):
    """Which types were equal, and the last rows."""
    equal = set()
    for _ in range(ROUNDS):
        answer, seen = watch(ctx, node, "carriers", "--carriers")
        rows, seen = by_type(answer["data"]["carriers"]), [by_type(facts) for facts in seen]
        for name, row in rows.items():
            check_row(row)
            reported = [facts[name] for facts in seen if name in facts]
            if not reported:
                check_equal(row["carriers"], 0, f"{name}: carriers")
            if not reported or any(is_row(row, r) for r in reported):
                equal.add(name)
            elif name in TOUCHED:
                sizes = [r["carriers_size"] for r in reported]
                # A large heap is there twice while it is collected.
                twice = max(r["sbcs_carriers_size"] for r in reported)
                check(min(sizes) - ANSWERS <= row["carriers_size"] <= max(sizes) + twice + ANSWERS,
                      f"{name}: {row}, node {reported}")
        if set(rows) - TOUCHED <= equal:
            break
    check(set(rows) - TOUCHED <= equal,
          "\n".join(f"{name}: never equal: {rows[name]}\n  node: {seen[0].get(name)}"
                    for name in sorted(set(rows) - TOUCHED - equal)))
    return equal, rows


@case("carriers, their blocks, free blocks and use, of every allocator")
def carriers(ctx):
    node = ctx.new_node(flags=("+S", "3:3"))
    node.ask("alloc_facts", "fill", 20000)
    equal, rows = compare_carriers(ctx, node)
    check(rows["binary_alloc"]["sbcs_carriers"] >= 5, f"single: {rows['binary_alloc']}")
    print(f"    {len(equal)} of {len(rows)} allocators equal, {sum(r['blocks'] for r in rows.values())} blocks")


@case("the pool: carriers that little is used of are abandoned")
def pool(ctx):
    node = ctx.new_node(flags=("+S", "3:3"))
    node.ask("alloc_facts", "fill", 60000)
    node.ask("alloc_facts", "thin", 50)
    equal, rows = compare_carriers(ctx, node)
    low = rows["binary_alloc"]["use"][0]["carriers"] + rows["binary_alloc"]["use"][1]["carriers"]
    check(low > 5, f"binary_alloc: {rows['binary_alloc']}")
    check(sum(r["pool_carriers"] for r in rows.values()) > 0, f"none in the pool: {rows}")
    print(f"    {sum(r['pool_carriers'] for r in rows.values())} carriers in the pool, {len(equal)} allocators equal")


@case("other choices of allocators: one shared instance, a pool for all, no migration, other strategies")
def settings(ctx):
    for flags in (("+Mut", "false"), ("+Mucp", ":"), ("+MBacul", "0", "+MEacul", "0"),
                  ("+MBas", "bf", "+MEas", "gf", "+Mulmbcs", "512"), ("+Muatags", "true")):
        if flags[0] == "+Mucp":
            flags = tuple(f for s in "BDEFHLRS" for f in (f"+M{s}cp", ":"))
        node = ctx.new_node(flags=("+S", "2:2", *flags))
        node.ask("alloc_facts", "fill", 5000)
        equal, rows = compare_carriers(ctx, node)
        print(f"    {' '.join(flags[:2])}: {len(equal)} of {len(rows)} allocators equal")
        node.close()


def slots_of(row):
    """The blocks of a row as instrument counts them."""
    slots = [0] * 31
    for bucket in row["sizes"]["buckets"]:
        slots[bucket["from"].bit_length() - 1] += bucket["count"]
    return slots


def compare_tags(ctx, node, asked="allocations", *what):
    """What the node always said must be equal; returns ebeam's data and which rows were."""
    checked = set()
    for _ in range(ROUNDS):
        answer, seen = watch(ctx, node, asked, "--tags", *what)
        rows = {(row["origin"], row["type"]): slots_of(row) for row in answer["data"]["tags"]}
        seen = [{(row["origin"], row["type"]): row["slots"] for row in facts} for facts in seen]
        known = {key for facts in seen for key in facts}
        checked |= {key for key in known if rows.get(key) in [facts.get(key) for facts in seen]}
        still = {key for key in known
                 if key[1] not in QUESTION and all(facts.get(key) == seen[0].get(key) for facts in seen)}
        if still <= checked:
            break
    check(still <= checked, "never equal:\n" + "\n".join(
        f"{key}: {rows.get(key)}\n  node: {seen[0].get(key)}" for key in sorted(still - checked)))
    check_equal(sorted(set(rows) - known), [], "rows that the node does not have")
    return answer["data"], checked


@case("blocks by origin and type, as tags are by default: binaries and drivers")
def tags(ctx):
    node = ctx.new_node(flags=("+S", "3:3"))
    node.ask("alloc_facts", "fill", 20000)
    data, equal = compare_tags(ctx, node)
    check(("system", "binary") in equal, f"equal: {sorted(equal)}")
    allocators = by_type(data["allocators"])
    check(allocators["binary_alloc"]["tags"] and not allocators["ets_alloc"]["tags"], f"{allocators}")
    check_equal(allocators["binary_alloc"]["untagged"], 0, "binary_alloc: untagged")
    check_equal(allocators["ets_alloc"]["tagged"], 0, "ets_alloc: tagged")
    check(allocators["ets_alloc"]["untagged"] > 20000, f"ets_alloc: {allocators['ets_alloc']}")
    for key in ("blocks", "blocks_size"):
        total = sum(a["tagged" if key == "blocks" else "tagged_size"] for a in data["allocators"])
        check_equal(sum(row[key] for row in data["tags"]), total, key)
    print(f"    {len(equal)} origins and types equal")


@case("+Muatags true: blocks of all allocators")
def all_tags(ctx):
    node = ctx.new_node(flags=("+S", "2:2", *TAGS_ALL))
    node.ask("alloc_facts", "fill", 5000)
    data, equal = compare_tags(ctx, node)
    check({("system", "db_term"), ("system", "atom_entry"), ("system", "binary")} <= equal, f"{sorted(equal)}")
    print(f"    {len(equal)} origins and types equal")


@case("+Muatags code: by the module whose function ran (OTP 27)")
def code_tags(ctx):
    if int(ctx.otp.split("-")[0]) < 27:
        raise Skip("tags have no functions before OTP 27")
    node = ctx.new_node(flags=("+S", "2:2", "+Muatags", "code"))
    node.ask("alloc_facts", "functions")
    data, equal = compare_tags(ctx, node)
    check(("alloc_facts", "db_tab") in equal, f"{sorted(equal)}")
    print(f"    {len(equal)} origins and types equal")
    data, equal = compare_tags(ctx, node, "allocations_per_mfa", "--by", "function")
    made = [origin for origin, type in equal if type == "db_tab" and origin.startswith("alloc_facts:")]
    check(made, f"functions: {sorted(equal)}")
    check(all(a["function_tags"] for a in data["allocators"] if a["tags"]), f"{data['allocators']}")
    print(f"    {len(equal)} functions and types equal")


@case("by process and by port (OTP 27): as the node says, with their names, also of those that have ended")
def owner_tags(ctx):
    node = ctx.new_node(flags=("+S", "2:2", *TAGS_ALL))
    if int(ctx.otp.split("-")[0]) < 27:
        refused = ctx.ebeam.run("mem", "-p", node.os_pid, "--tags", "--by", "process")
        check_equal(refused.code, 6, str(refused))
        check("since OTP 27" in refused.err, str(refused))
        return
    ended = node.ask("alloc_facts", "owners", 3000)
    data, equal = compare_tags(ctx, node, "allocations_per_process", "--by", "process")
    names = {row["origin"]: row["name"] for row in data["tags"]}
    owner = [origin for origin, name in names.items() if name == "alloc_owner"]
    check(len(owner) == 1 and (owner[0], "binary") in equal, f"alloc_owner: {owner}, {sorted(equal)}")
    check(all((pid, "binary") in equal and names[pid] is None for pid in ended), f"ended: {ended}, {names}")
    print(f"    {len(equal)} processes and types equal")
    data, equal = compare_tags(ctx, node, "allocations_per_port", "--by", "port")
    ports = {origin for origin, _ in equal if origin.startswith("#Port<")}
    names = {row["origin"]: row["name"] for row in data["tags"]}
    living = {port["port"]: port["name"] for port in ctx.ebeam.ok("port", "-p", node.os_pid, "-j").json()["data"]}
    check(ports, f"no ports: {sorted(equal)}")
    check_equal([names[port] for port in ports], [living.get(port) for port in ports], "names of ports")
    print(f"    {len(equal)} ports and types equal")


@case("by NIF and by type: sums of the others; one origin, with the histogram of its blocks")
def other_groups(ctx):
    node = ctx.new_node(flags=("+S", "2:2", *TAGS_ALL))
    node.ask("alloc_facts", "fill", 3000)
    data, equal = compare_tags(ctx, node, "allocations", "--by", "nif")
    check(("prim_file", "process_specific_data") in equal, f"{sorted(equal)}")
    types = by_type(read(ctx, node, "--tags", "--by", "type")["data"]["tags"])
    check(all(row["origin"] is None for row in types.values()), f"{types}")
    sums = {}
    for row in read(ctx, node, "--tags")["data"]["tags"]:
        sums[row["type"]] = sums.get(row["type"], 0) + row["blocks"]
    check_equal(types["db_term"]["blocks"], sums["db_term"], "db_term: blocks")
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "--tags", "--histogram", "prim_file", "-n", "99").out.splitlines()
    check(any(line.startswith("prim_file process_specific_data  ") for line in lines), str(lines))
    check(not any(line.startswith("system ") for line in lines), str(lines))
    refused = ctx.ebeam.run("mem", "-p", node.os_pid, "--tags", "no_such_nif")
    check_equal(refused.code, 1, str(refused))
    check("no blocks are tagged with the module 'no_such_nif'" in refused.err, str(refused))
    refused = ctx.ebeam.run("mem", "-p", node.os_pid, "--by", "process")
    check_equal(refused.code, 2, str(refused))


@case("a node that allocates all the time: hardly a carrier is torn, and sums are about what it counts")
def busy(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.start("ets_heavy", "4")
    left_out = carriers = 0
    for _ in range(5):
        answer = read(ctx, node, "--carriers")
        counters = answer["counters"]
        left_out += counters["torn"] + counters["unreadable"] + counters["lists_truncated"]
        carriers += counters["carriers"]
        for row in answer["data"]["carriers"]:
            check_row(row)
        ets, counted = by_type(answer["data"]["carriers"])["ets_alloc"]["blocks"], counted_blocks(ctx, node)
        check(counted / 2 < ets < 2 * counted + 1000, f"ets_alloc: {ets} blocks, counted {counted}")
        read(ctx, node, "--tags")
    check(left_out * 20 <= carriers, f"{left_out} left out, {carriers} carriers")
    print(f"    {left_out} left out, {carriers} carriers")


def counted_blocks(ctx, node):
    rows = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j").json()["data"]["allocators"]
    return sum(row["blocks"] for row in rows if row["type"] == "ets_alloc")


def sparse_of(row):
    """What of a row is in carriers with less than 30 % in use."""
    return {key: sum(band[key] for band in row["use"][:3]) for key in ("carriers", "carriers_size", "unused")}


def check_holders(data):
    """Holders by allocator and name; no row has more than there is."""
    sparse = {name: sparse_of(row) for name, row in by_type(data["carriers"]).items()}
    check_equal(data["sparse_below"], 30, "sparse_below")
    for row in data["holders"]:
        check(all(row[key] <= sparse[row["allocator"]][key] for key in ("carriers", "carriers_size", "unused")),
              f"{row}, {sparse[row['allocator']]}")
        check(row["alone"] <= row["carriers"] <= row["blocks"], f"{row}")
        check((row["holder"] is None) == (row["holders"] == 0) == (row["kind"] == "other"), f"{row}")
    for name, sums in sparse.items():
        rows = [row for row in data["holders"] if row["allocator"] == name]
        check(sum(row["alone"] for row in rows) <= sums["carriers"], f"{name}: {rows}")
    holders = {(row["allocator"], row["holder"]): row for row in data["holders"]}
    check_equal(len(holders), len(data["holders"]), "holders listed twice")
    return holders, sparse


@case("who keeps carriers after a rush: processes of one function, as many and as large as the node says")
def keepers(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    truth = node.ask("alloc_facts", "rush", 6000, 10)
    holders, sparse = check_holders(read(ctx, node, "--carriers")["data"])
    row, heaps = holders[("eheap_alloc", "alloc_facts:row/2")], sparse["eheap_alloc"]
    check(heaps["carriers"] > 5, f"no carriers that little is used of: {heaps}")
    # Some are in carriers that more is used of; a heap has a header, and the list of its process another block.
    check(0.8 * truth["kept"] <= row["holders"] <= truth["kept"], f"{row}, {truth}")
    check(0.8 * truth["heaps"] <= row["blocks_size"] <= 1.05 * truth["heaps"], f"{row}, {truth}")
    check(row["unused"] >= 0.8 * heaps["unused"], f"{row}, {heaps}")
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "--carriers").out.splitlines()
    said = [line for line in lines if " processes of alloc_facts:row/2 keep " in line]
    check_equal(len(said), 1, str(lines))
    check(lines.index(said[0]) < [line.startswith("ALLOCATOR ") for line in lines].index(True), str(lines))
    print(f"    {row['holders']} of {truth['kept']} in {row['carriers']} of {heaps['carriers']} carriers, "
          f"{row['blocks_size']} of {truth['heaps']} bytes")


@case("who keeps carriers: a table and a process with binaries")
def keepers_of_other_kinds(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("alloc_facts", "fill", 60000)
    node.ask("alloc_facts", "thin", 50)
    holders, sparse = check_holders(read(ctx, node, "--carriers")["data"])
    kept = 60000 // 50
    binaries, table = holders[("binary_alloc", "alloc_holder")], holders[("ets_alloc", "alloc_table")]
    check_equal([binaries["kind"], binaries["holders"]], ["process", 1], "binaries")
    check_equal([table["kind"], table["holders"]], ["table", 1], "table")
    check(0.8 * kept <= binaries["blocks"] <= kept + 5, f"{binaries}")
    # With its buckets.
    check(0.5 * kept <= table["blocks"] <= 1.2 * kept, f"{table}, {sparse['ets_alloc']}")
    check(binaries["unused"] >= 0.8 * sparse["binary_alloc"]["unused"], f"{binaries}, {sparse['binary_alloc']}")
    rest = {name: holders.get((name, None), {"blocks": 0})["blocks"] for name in ("binary_alloc", "ets_alloc")}
    print(f"    {binaries['blocks']} binaries and {table['blocks']} blocks of the table of {kept}; others: {rest}")


@case("who keeps carriers: tables of each kind, with as many blocks as they have objects")
def keepers_tables(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    truth = node.ask("alloc_facts", "tables", 60000, 20)
    holders, _ = check_holders(read(ctx, node, "--carriers")["data"])
    blocks = {name: holders[("ets_alloc", name)]["blocks"] for name in truth}
    check(all(0.8 * objects <= blocks[name] <= 1.2 * objects for name, objects in truth.items()), f"{blocks}, {truth}")
    rest = holders.get(("ets_alloc", None), {"blocks": 0})["blocks"]
    check(rest <= 0.05 * sum(blocks.values()), f"{rest} blocks of nobody, {blocks}")
    print(f"    {blocks} of {truth}; others: {rest}")


@case("--watch: bytes and blocks per second of an origin and of an allocator, as the node grows", alone=True)
def watched_growth(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("alloc_facts", "grow", 20000, 5)
    for what in (("--tags",), ()):
        begun, before = time.monotonic(), node.ask("alloc_facts", "grown")
        out = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j", "--watch", "1s", "-d", "4500ms", *what).out
        rate = (node.ask("alloc_facts", "grown") - before) / (time.monotonic() - begun)
        answers = [json.loads(line)["data"] for line in out.splitlines()]
        check(len(answers) >= 4, f"{len(answers)} answers")
        key = "tags" if what else "allocators"
        rows = [[row for row in answer[key] if row["type"] == ("binary" if what else "binary_alloc")]
                for answer in answers]
        check(all(row["blocks_per_s"] is None and row["blocks_size_grew"] is None for row in rows[0]), f"{rows[0]}")
        seen = [sum(row["blocks_per_s"] for row in answer) for answer in rows[1:]]
        sizes = [sum(row["blocks_size_per_s"] for row in answer) for answer in rows[1:]]
        mean = sum(seen) / len(seen)
        check(0.7 * rate <= mean <= 1.3 * rate, f"{seen} blocks per second, node {rate}")
        check(0.95 * 20000 * mean <= sum(sizes) / len(sizes) <= 1.05 * 20100 * mean, f"{sizes} bytes, {seen} blocks")
        grew = sum(row["blocks_size"] for row in rows[-1]) - sum(row["blocks_size"] for row in rows[0])
        check_equal(sum(row["blocks_size_grew"] for row in rows[-1]), grew, "grew")
        print(f"    {what}: {mean:.1f} blocks per second, node {rate:.1f}")
    out = ctx.ebeam.ok("mem", "-p", node.os_pid, "-j", "--tags", "no_such_nif", "--watch", "500ms", "-d", "1200ms").out
    empty = [json.loads(line)["data"]["tags"] for line in out.splitlines()]
    check(len(empty) >= 2 and not any(empty), f"an origin without blocks, which may have some later: {empty}")
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "--watch", "500ms", "-d", "1800ms").out.splitlines()
    check(any(line.startswith("binary_alloc grew by ") and "ebeam bin" in line for line in lines), str(lines))
    first = [line.split()[0] for n, line in enumerate(lines) if n and lines[n - 1].startswith("ALLOCATOR ")]
    check_equal(first[-1], "binary_alloc", str(lines))
    refused = ctx.ebeam.run("mem", "-p", node.os_pid, "-s", "blocks_per_s")
    check_equal(refused.code, 2, str(refused))


@case("text, columns and order; two questions at once", otp="one")
def text(ctx):
    node = ctx.node
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "--carriers", "-n", "3", "-s", "carriers_size",
                         "-c", "type,carriers_size").out.splitlines()
    check(" carriers hold " in lines[0], lines[0])
    rows = sorted(read(ctx, node, "--carriers")["data"]["carriers"], key=lambda r: -r["carriers_size"])
    table = lines.index(next(line for line in lines if line.startswith("ALLOCATOR ")))
    check_equal([line.split()[0] for line in lines[table + 1:table + 4]], [r["type"] for r in rows[:3]],
                "largest first")
    check(lines[table + 4].startswith("(3 of "), lines[table + 4])
    lines = ctx.ebeam.ok("mem", "-p", node.os_pid, "--tags", "-n", "2").out.splitlines()
    check(lines[0].startswith("Tagged: ") and lines[1].startswith("Not tagged: "), str(lines))
    check_equal(lines[4].split()[:2], ["ORIGIN", "TYPE"], "heading")
    refused = ctx.ebeam.run("mem", "-p", node.os_pid, "--carriers", "--tags")
    check_equal(refused.code, 2, str(refused))
    check("one at a time" in refused.err, str(refused))
    refused = ctx.ebeam.run("mem", "-p", node.os_pid, "--tags", "-s", "unused")
    check_equal(refused.code, 2, str(refused))
