# SPDX-License-Identifier: BSD-2-Clause
"""Where calls of functions arrive: all functions of a node, found from outside, and hits of breakpoints
there, which are equal to the calls that the node made, whatever their kind."""
import json
import os
import subprocess

from harness import Skip, case, check, check_equal
from nodes import TOP

SIDE_BY_SIDE = True
TOOL = os.path.join(TOP, "build", "tools", "calltargets")
TIMES = 1000


def tool():
    if not os.path.exists(TOOL):
        raise Skip("build/tools/calltargets is not built (make tools)")
    return TOOL


def listed(node, *patterns):
    done = subprocess.run([tool(), str(node.os_pid), *patterns], capture_output=True, text=True,
                          timeout=120)
    check_equal(done.stderr, "", "calltargets")
    check_equal(done.returncode, 0, "calltargets")
    return [json.loads(line) for line in done.stdout.splitlines()]


def refused(node, pattern):
    done = subprocess.run([tool(), str(node.os_pid), pattern], capture_output=True, text=True,
                          timeout=120)
    check(done.returncode != 0, f"{pattern} is refused")
    return done.stderr.strip()


def counted(ctx, node, patterns, work):
    """Hits of each pattern while work() is done, and what it returned."""
    counter = subprocess.Popen([tool(), str(node.os_pid), "--count", *patterns], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ctx.cleanup(counter.kill)
    check_equal(counter.stdout.readline(), "ready\n", f"calltargets --count {patterns}")
    truth = work()
    out, _ = counter.communicate("\n", timeout=120)
    check_equal(counter.returncode, 0, "calltargets --count")
    return [json.loads(line)["hits"] for line in out.splitlines()], truth


def new_node(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("call_kinds", "prepare")
    return node


@case("every function of every module: name, exported or not, BIF or NIF")
def all_functions(ctx):
    node = new_node(ctx)
    node.start("elixir_work")
    node.stop("elixir_work")
    node.ask("call_kinds", "functions")  # what the answer needs is loaded now
    bifs = {tuple(mfa) for mfa in node.ask("call_kinds", "bifs")}
    truth = {tuple(row[:3]): row[3:] for row in node.ask("call_kinds", "functions")}
    rows = {(r["module"], r["function"], r["arity"]): r for r in listed(node)}
    loaded = {name for name, _, _ in truth}
    bare = {mfa for mfa in bifs if mfa[0] not in loaded}
    check_equal(rows.keys() - truth.keys(), bare, "BIFs of modules that are not loaded")
    check_equal(truth.keys() - rows.keys(), set(), "functions not found")
    kinds = dict.fromkeys(("erlang", "bif", "inlined_bif", "nif"), 0)
    for mfa, (exported, nif, builtin) in truth.items():
        r = rows[mfa]
        kinds[r["kind"]] += 1
        check_equal(r["exported"], exported, f"{mfa}: exported")
        check_equal(r["kind"] != "nif" and r["c_function"] is not None, mfa in bifs, f"{mfa}: BIF")
        # apply/2, apply/3 and yield/0 are no BIFs, but built in.
        if exported:
            check_equal(r["kind"] in ("bif", "inlined_bif"), builtin, f"{mfa}: is_builtin")
        check(r["kind"] != "nif" or nif, f"{mfa}: NIF")
        check(r["entry"] is not None and r["serial"] > 0, f"{mfa}: entry")
        check((r["c_function"] is None) or "offset" in r, f"{mfa}: where its C function is: {r}")
    for module in ("crypto", "prim_file", "zlib"):
        nifs = {mfa for mfa, row in truth.items() if mfa[0] == module and row[1]}
        check_equal({mfa for mfa in nifs if rows[mfa]["kind"] == "nif"}, nifs, f"NIFs of {module}")
    check(len({r["entry"] for r in rows.values() if r["entry"]}) == len(truth), "entries differ")
    check(all(rows[mfa]["file"].endswith("crypto.so") for mfa in truth
              if mfa[0] == "crypto" and rows[mfa]["kind"] == "nif"), "NIFs of crypto: file")
    print(f"    {len(truth)} functions of {len(loaded)} modules: {kinds}; {len(bare)} BIFs more")


# What is called, and by which kinds of calls.
KINDS = {
    "target/1": ("local", "tail", "external", "external_tail", "apply", "apply_tail", "apply_fixed",
                 "local_fun", "external_fun", "apply_fun", "callback", "spawn", "spawn_fun",
                 "spawn_link"),
    "woken/1": ("hibernate",),
    "down/1": ("recursion",),
    "sum/1": ("body_recursion",),
    "hidden/1": ("hidden",),
    "throws/1": ("throws",),
    "wide/9": ("wide",),
    "-anonymous/0-fun-0-/1": ("anonymous",),
    "-closure/1-fun-0-/2": ("closure",),
}


def check_hits(ctx, hits, made, what):
    """At the entry, and behind the prologue: there a process of OTP 24 goes on, too, that had yielded
    at the entry (emit_i_test_yield() of jit/x86/instr_common.cpp)."""
    entry, behind = hits
    check_equal(entry, made, f"{what}: hits of the entry")
    if ctx.release == 24:
        check(made <= behind <= made + made // 100 + 1, f"{what}: {behind} hits behind the prologue")
    else:
        check_equal(behind, made, f"{what}: hits behind the prologue")


def hits_by_kind(ctx, node, function, kind, times):
    """At the entry, and behind the prologue."""
    pattern = f"call_kinds:{function}"
    hits, made = counted(ctx, node, (pattern, pattern + "+8"),
                         lambda: node.ask("call_kinds", "run", kind, times))
    print(f"    {kind}: {made} calls, {hits[0]} hits of the entry, {hits[1]} behind the prologue")
    check(made >= times, f"{kind}: calls made")
    check_hits(ctx, hits, made, kind)


@case("breakpoints count calls of every kind exactly", in_pairs=True)
def kinds_of_calls(ctx):
    node = new_node(ctx)
    for function, kinds in KINDS.items():
        for kind in kinds:
            hits_by_kind(ctx, node, function, kind, TIMES)


@case("processes that are sent away at the entry and come back count once", in_pairs=True,
      long=True)
def yielding(ctx):
    node = new_node(ctx)
    hits_by_kind(ctx, node, "target/1", "yield", 50000)
    hits_by_kind(ctx, node, "down/1", "recursion", 100000)


@case("functions that are traced in the node too count once, and as often as its tracer says",
      in_pairs=True)
def traced(ctx):
    node = new_node(ctx)
    for how in ("local", "global", "return", "exception", "count", "time"):
        for kind in ("external", "external_tail", "apply"):
            hits, (made, seen) = counted(ctx, node, ("call_kinds:target/1", "call_kinds:target/1+8"),
                                         lambda: node.ask("call_kinds", "traced", how, kind, TIMES))
            print(f"    {how}, {kind}: {made} calls, tracer {seen}, hits {hits}")
            check_equal((made, seen), (TIMES, TIMES), f"{how}, {kind}: the node's own tracer")
            check_hits(ctx, hits, TIMES, f"{how}, {kind}")


@case("uprobes on the C functions of BIFs and NIFs count their calls exactly", in_pairs=True)
def c_functions(ctx):
    node = new_node(ctx)
    for kind, function in (("insert", "ets:insert/2"), ("nif", "crypto:strong_rand_bytes_nif/1"),
                           ("static_nif", "zlib:open_nif/0"), ("spawned_bif", "erlang:phash2/1"),
                           ("dirty_nif", "prim_file:read_info_nif/2")):
        (hits, stub), made = counted(ctx, node, (function, function + "@entry"),
                                     lambda: node.ask("call_kinds", "run", kind, TIMES))
        print(f"    {kind}: {made} calls of {function}, {hits} hits, {stub} of its Erlang stub")
        check_equal(hits, made, kind)
    # Others send now and then, the one that answers here first of all.
    hits, made = counted(ctx, node, ("erlang:send/2",),
                         lambda: node.ask("call_kinds", "run", "send", TIMES))
    print(f"    send: {made} calls, {hits[0]} hits")
    check(made <= hits[0] <= made + TIMES / 10, f"send: {made} calls, {hits} hits")


@case("BIFs whose calls are instructions: what compiled code calls, each of them", in_pairs=True, long=True)
def instructions(ctx):
    node = new_node(ctx)
    guards = [f"erlang:{name}/{arity}" for name, arity in node.ask("call_kinds", "compile_guards")]
    kinds = {f"erlang:{r['function']}/{r['arity']}": r["kind"] for r in listed(node, "erlang:_")}

    def work():
        node.ask("call_kinds", "guards", "compiled", TIMES)
        node.ask("call_kinds", "guards", "apply", 10 * TIMES)
    hits, _ = counted(ctx, node, guards, work)
    called = {}
    for name, number in zip(guards, hits):
        check(number >= 10 * TIMES, f"{name}: calls by apply reach the C function: {number}")
        called[name] = number >= 11 * TIMES
        check(called[name] or number < 10.5 * TIMES, f"{name}: {number} hits")
        check(called[name] or kinds[name] == "inlined_bif",
              f"{name} is {kinds[name]}, and compiled code does not call it")
    print(f"    C sees compiled code call: {' '.join(n for n in guards if called[n])}")
    print(f"    and never: {' '.join(n for n in guards if not called[n])}")
    print(f"    kind: {' '.join(n for n in guards if kinds[n] == 'bif')}")
    check(len(guards) > 40, f"guard BIFs: {len(guards)}")


@case("a module that is loaded again has other places, and says so")
def reloaded(ctx):
    node = new_node(ctx)
    serials, entries = set(), set()
    for version in range(1, 6):
        check_equal(node.ask("call_kinds", "version", version), version, "version")
        row, = listed(node, "versioned:what/0")
        serials.add(row["serial"])
        entries.add(row["entry"])
    check(len(entries) > 1, f"entries {entries}")
    print(f"    5 loads: {len(entries)} addresses")


@case("near names: of a module, a function, an arity")
def near_names(ctx):
    node = new_node(ctx)
    node.start("elixir_work")
    node.stop("elixir_work")
    for pattern, words in (("list:map/2", ("list", "'lists'")), ("Lists:map/2", ("'lists'",)),
                           ("Enun:map/2", ("'Enum'",)), ("enum:map/2", ("'Enum'",)),
                           ("lists:mpa/2", ("mpa/2", "'map'")), ("lists:map/7", ("map/7", "arity 2")),
                           ("lists:seq/9", ("2 and 3",)), ("xyzzy:plugh/1", ("xyzzy",))):
        text = refused(node, pattern)
        print(f"    {text}")
        for word in words:
            check(word in text, f"{pattern}: {text}")
    check_equal(len(listed(node, "Enum:map/2")), 1, "Enum")
