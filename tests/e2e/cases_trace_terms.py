# SPDX-License-Identifier: BSD-2-Clause
"""Arguments of traced calls: what they print as is what the node itself writes, up to the limits."""
import os

from answers import Watch
from cases_terms import TYPES, UNICODE, ask
from cases_trace import NO_LIMITS
from harness import case, check, check_equal

SIDE_BY_SIDE = IN_TURN = True

MADE, LEAST = 4000, 2000


def arguments(ctx, node):
    """Calls of taken/1 with each of the terms, and their texts as the node writes them."""
    path = ctx.ebeam.file(".texts")
    ask(node, "texts", path)
    trace = Watch(ctx, node, "many_terms:taken/1", "-n", "1000000", *NO_LIMITS, "--size",
                  "16384", command="trace")
    pid = ask(node, "pass")["pid"]
    with open(path, "rb") as f:
        texts = f.read().decode().split("\n")[:-1]
    return [line for line in trace.events() if line["pid"] == pid], texts, trace


@case("2,000 arguments of every type are printed as the node prints them", timeout=240)
def types(ctx):
    node = ctx.new_node(flags=UNICODE, name=f"arguments{ctx.otp}@127.0.0.1")
    made = ask(node, "make", "7", str(MADE), "erlang")["types"]
    calls, texts, trace = arguments(ctx, node)
    check_equal(len(calls), len(texts), f"calls; {trace.err}")
    equal = []
    for n, (call, text) in enumerate(zip(calls, texts)):
        have = call["args"][0]
        if call["truncated"]:
            check("..." in have, f"argument {n} says that it was cut: {have[:100]}")
            continue
        at = len(os.path.commonprefix([have, text]))
        part = slice(max(0, at - 60), at + 100)
        check_equal(have[part], text[part], f"argument {n} at character {at}")
        equal.append(n)
    path = ctx.ebeam.file(".numbers")
    with open(path, "w") as f:
        f.write("".join(f"{n}\n" for n in equal))
    # A reference does not show that something is behind it: of those the node knows how many it made.
    seen = {**ask(node, "types_of", path), "magic_ref": made["magic_ref"]}
    ask(node, "drop")
    print(f"    {len(equal)} texts are equal, {len(calls) - len(equal)} are beyond the limits; in "
          "them: " + ", ".join(f"{n} {t}" for t, n in sorted(seen.items())))
    check(len(equal) >= LEAST, f"{len(equal)} texts compared")
    for wanted in [*TYPES, "local_fun"]:
        check(seen.get(wanted, 0) >= 50, f"too few {wanted}: {seen}")


@case("bytes that were appended to are read from where they are now")
def grown(ctx):
    node = ctx.new_node()
    ask(node, "pass_grown", "1", "8000")
    trace = Watch(ctx, node, "many_terms:taken/1", "-n", "1000000", *NO_LIMITS, "--size", "512",
                  command="trace")
    pid = ask(node, "pass_grown", "50", "8000")["pid"]
    seen = [line["args"][0] for line in trace.events() if line["pid"] == pid]
    check_equal(len(seen), 50, f"calls; {trace.err}")
    for text in seen:
        check_equal(text[:20], "<<7,0,0,0,0,0,0,0,0,", "bytes")
        check_equal(set(text) - set("<>0,."), {"7"}, "bytes, and where they are cut")
