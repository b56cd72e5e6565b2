# SPDX-License-Identifier: BSD-2-Clause
"""How many calls there were where limits let only some be seen: the node's own count lies in the
interval that `ebeam trace` states."""
import os
import re
import subprocess
import time

from answers import Watch
from context import end
from harness import case, check, check_equal, check_near

LOADS = """every_ms every_5us every_us full_speed two_at_full_speed bursts_of_20000 bursts_of_1000
bursts_of_100 bursts_of_5 fifty_processes twenty_with_bursts rare random random_bursts slow five_slow
random_work four_with_bursts much_work random_all bursts_beside_work phases comparing_beside_work
three_callers three_callers_in_turn""".split()
SOME_LOADS = LOADS[::4]
OF_C_CODE = """full_speed bursts_of_20000 two_at_full_speed bursts_beside_work every_us random_all
three_callers fifty_processes random_bursts much_work four_with_bursts""".split()
LIMITS = (1, 10, 3, 40)
SECONDS = 2
ERLANG, C_CODE = "call_rates:called/1", "erts_internal:counters_add/3"
SAID = re.compile(r"([\d,]+) of about ([\d,]+) \((?:a guess|([\d,]+) (?:\.\. ([\d,]+)|or more))[,)]")
# Calls between the question to the node and the beginning or end of the trace.
EDGES = 0.02


def number(text):
    return int(text.replace(",", ""))


def check_sampled(answer, said, kind):
    """The same in JSON."""
    rows = [row for row in answer["sampled"] if row["kind"] == kind]
    check_equal(len(rows), 1 if said else 0, f"sampled: {answer['sampled']}")
    if said:
        seen, estimate = number(said[1]), number(said[2])
        check_near(seen / rows[0]["share"], estimate, 2 + estimate / 100, "share")
        check_equal(rows[0]["error_factor"] is None, said[4] is None, f"{rows} and {said[0]}")
    if said and said[4]:
        low, high, factor = number(said[3]), number(said[4]), rows[0]["error_factor"]
        check_near(low, max(estimate / factor, seen), 2 + low / 100, "factor")
        # How many calls the time had room for may be a lower bound than the error gives.
        check(high <= 1.01 * estimate * factor + 2, f"{said[0]}, factor {factor}")


def start(ctx, load):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("call_rates", "start", load)
    return node


def compare(ctx, node, load, limit, function=ERLANG):
    """Whether the truth lies in what is stated; how many times the truth the estimate is; and a line
    that says so."""
    first = node.ask("call_rates", "made")
    watch = Watch(ctx, node, function, "--count", "--max-overhead", limit, command="trace")
    before = node.ask("call_rates", "made")
    time.sleep(SECONDS)
    truth = node.ask("call_rates", "made") - before
    watch.end()
    most = node.ask("call_rates", "made") - first
    answer, = watch.answers_so_far()
    said = SAID.search("\n".join(watch.err))
    check_sampled(answer, said, "call" if function == ERLANG else "c_call")
    if said:
        check(function == C_CODE or said[4], said[0])
        low, high = number(said[3] or said[1]), number(said[4]) if said[4] else float("inf")
        most = truth
    else:
        low = high = watch.closing()[0]
    inside = low * (1 - EDGES) - 2 <= most and truth <= high * (1 + EDGES) + 2
    ratio = (number(said[2]) if said else low) / max(truth, 1)
    return inside, ratio, (f"{load}, {limit} %: {truth} made, {said[0] if said else f'{low} seen'}"
                           f"{'' if inside else ' <--'}")


def run(ctx, loads, function=ERLANG):
    rows = []
    for i, load in enumerate(loads):
        node = start(ctx, load)
        rows.append(compare(ctx, node, load, LIMITS[i % len(LIMITS)], function))
        node.close()
    print("\n".join(text for *_, text in rows))
    right = sum(inside for inside, *_ in rows)
    # 19 of 20 are to be: half of 6 or more are wrong in one run of 500 or less.
    check(2 * right > len(rows), f"{right} of {len(rows)}:\n" + "\n".join(text for *_, text in rows))


@case("calls of some loads, at limits of 1 to 40 %: as many as the node made, within the interval",
      long=True)
def some_loads(ctx):
    run(ctx, SOME_LOADS)


@case("calls of all other loads, at limits of 1 to 40 %: as many as the node made, within the interval",
      timeout=240, long=True)
def other_loads(ctx):
    run(ctx, [load for load in LOADS if load not in SOME_LOADS])


@case("calls of C code of some loads: as many as the node made, within the interval or beyond the least",
      long=True)
def of_c_code(ctx):
    run(ctx, OF_C_CODE[::2], C_CODE)


@case("calls of C code of other loads: as many as the node made, within the interval or beyond the least",
      long=True)
def of_c_code_other_loads(ctx):
    run(ctx, OF_C_CODE[1::2], C_CODE)


@case("calls at full speed beside twice as many busy threads as CPUs: the estimate is not too low", otp="one",
      timeout=300, long=True)
def on_an_overloaded_host(ctx):
    node = start(ctx, "full_speed")
    for _ in range(2 * len(os.sched_getaffinity(0))):
        ctx.cleanup(end, subprocess.Popen(["sh", "-c", "while :; do :; done"]))
    rows = [compare(ctx, node, "full_speed", 1) for _ in range(3)]
    text = "\n".join(f"{ratio:.2f} times as many: {text}" for _, ratio, text in rows)
    print(text)
    check(sum(inside for inside, *_ in rows) >= 2, text)
    # The first hit of a window takes longer there than others; that is no time without calls.
    check(0.75 < sorted(ratio for _, ratio, _ in rows)[1] < 1.33, text)
