# SPDX-License-Identifier: BSD-2-Clause
"""Which calls a pattern means: the node itself says so, by erl_eval, of random patterns and arguments.

tools/callmatch decides with the functions of `ebeam trace`, on terms that it reads from the node.
"""
import collections
import os
import subprocess

from harness import case, check, check_equal
from nodes import TOP

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


@case("3,000 patterns match what the node says; what cannot be read is undecided, never wrong", timeout=240)
def random_patterns(ctx):
    node = ctx.new_node()
    path = os.path.join(ctx.work_dir, f"patterns-{ctx.otp}")
    made = node.ask("call_patterns", "make", SEED, NUMBER, path, timeout=100)
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t", 1) for line in f]
    os.unlink(path)
    check_equal(len(lines), NUMBER, "patterns that the node made")
    check(min(made["matches"], made["differs"]) >= NUMBER // 4 and made["guarded"] >= NUMBER // 20,
          f"too much of one kind: {made}")
    patterns = [pattern for _, pattern in lines]
    compared = collections.Counter()
    for lose in (0, 5, 20):
        found = callmatch(node, patterns, "--lose", str(lose))
        check_equal(len(found), NUMBER, "verdicts")
        for (wanted, pattern), (verdict, *rejected) in zip(lines, found):
            if lose and verdict == "undecided":
                compared["undecided"] += 1
                continue
            check_equal(verdict, wanted, f"what callmatch --lose {lose} says of {pattern}")
            compared["decided"] += 1
            if rejected:
                check_equal(wanted, "differs", f"what the tests of BPF reject: {pattern}")
                compared["rejected before"] += 1
    check(compared["undecided"] > 0 and compared["rejected before"] > 0, f"{compared}")
    node.ask("call_patterns", "drop")
    print(f"    {made}; " + ", ".join(f"{n} {what}" for what, n in compared.items()))
