# SPDX-License-Identifier: BSD-2-Clause
"""Which calls a pattern means: the node itself says so, by erl_eval or Elixir, of random patterns.

tools/callmatch decides with the functions of `ebeam trace`, on terms that it reads from the node.
"""
import collections
import os
import subprocess

from harness import case, check, check_equal
from nodes import TOP, need_elixir, run_in

SIDE_BY_SIDE = IN_TURN = True

CALLMATCH = os.path.join(TOP, "build", "tools", "callmatch")
NUMBER = 3000
SEED = 1


def callmatch(node, patterns, *args, code=0):
    check(os.path.exists(CALLMATCH), "build/tools/callmatch is not built: make tools")
    done = subprocess.run([CALLMATCH, "-p", str(node.os_pid), "call_patterns", "calls", *args],
                          input="".join(p + "\n" for p in patterns).encode(), capture_output=True,
                          timeout=100)
    check_equal(done.returncode, code, f"exit of callmatch: {done.stderr.decode()}")
    return [line.split() for line in done.stdout.decode().splitlines()]


def made_by(ctx, node, workload, number):
    """Patterns that the node made, each with what it says of it; and how many of what kind."""
    path = os.path.join(ctx.work_dir, f"{workload}-{ctx.otp}")
    made = node.ask(workload, "make", SEED, number, path, timeout=200)
    with open(path, encoding="utf-8") as f:
        lines = [line.split("\t", 1) for line in f.read().removesuffix("\n").split("\n")]
    os.unlink(path)
    check_equal(len(lines), number, "patterns that the node made")
    check(min(made["matches"], made["differs"]) >= number // 4 and made["guarded"] >= number // 20,
          f"too much of one kind: {made}")
    return lines, made


def compare(node, lines, lose):
    """What callmatch says of each, counted; it must be what the node says, or undecided."""
    compared = collections.Counter()
    found = callmatch(node, [pattern for _, pattern in lines], "--lose", str(lose))
    check_equal(len(found), len(lines), "verdicts")
    for (wanted, pattern), (verdict, *rejected) in zip(lines, found):
        if lose and verdict == "undecided":
            compared["undecided"] += 1
            continue
        check_equal(verdict, wanted, f"what callmatch --lose {lose} says of {pattern}")
        compared["decided"] += 1
        if rejected:
            check_equal(wanted, "differs", f"what the tests of BPF reject: {pattern}")
            compared["rejected before"] += 1
    return compared


@case("3,000 patterns match what the node says; what cannot be read is undecided, never wrong", timeout=240)
def random_patterns(ctx):
    node = ctx.new_node()
    lines, made = made_by(ctx, node, "call_patterns", NUMBER)
    compared = sum((compare(node, lines, lose) for lose in (0, 5, 20)), collections.Counter())
    check(compared["undecided"] > 0 and compared["rejected before"] > 0, f"{compared}")
    node.ask("call_patterns", "drop")
    print(f"    {made}; " + ", ".join(f"{n} {what}" for what, n in compared.items()))


@case("3,000 patterns and guards in Elixir's words, and terms as inspect writes them, match what Elixir says",
      timeout=300)
def random_elixir(ctx):
    need_elixir(ctx.otp)
    node = ctx.new_node()
    lines, made = made_by(ctx, node, "elixir_patterns", NUMBER)
    check(made["skipped"] < NUMBER, f"Elixir refused too many: {made}")
    compared = compare(node, lines, 0)
    check_equal(compared["decided"], NUMBER, "verdicts")
    node.ask("call_patterns", "drop")
    print(f"    {made}; " + ", ".join(f"{n} {what}" for what, n in compared.items()))
