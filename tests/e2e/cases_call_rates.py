# SPDX-License-Identifier: BSD-2-Clause
"""How many calls there were where limits let only some be seen: the node's own count lies in the
interval that `ebeam trace` states."""
import re
import time

from answers import Watch
from harness import case, check, check_equal, check_near

LOADS = """every_ms every_5us every_us full_speed two_at_full_speed bursts_of_20000 bursts_of_1000
bursts_of_100 bursts_of_5 fifty_processes twenty_with_bursts rare random random_bursts slow five_slow
random_work four_with_bursts much_work random_all
bursts_beside_work phases comparing_beside_work""".split()
LIMITS = (1, 10, 3, 40)
SECONDS = 2
SAID = re.compile(r"([\d,]+) of some ([\d,]+) \(([\d,]+) \.\. ([\d,]+)\)")
# Calls between the question to the node and the beginning or end of the trace.
EDGES = 0.02


def number(text):
    return int(text.replace(",", ""))


def compare(ctx, load, limit):
    """Whether the truth lies in what is stated; and a line that says so."""
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("call_rates", "start", load)
    watch = Watch(ctx, node, "call_rates:called/1", "--count", "--max-overhead", limit,
                  command="trace")
    before = node.ask("call_rates", "made")
    time.sleep(SECONDS)
    truth = node.ask("call_rates", "made") - before
    watch.end()
    node.close()
    answer, = watch.answers_so_far()
    said = SAID.search("\n".join(watch.err))
    rows = [row for row in answer["sampled"] if row["kind"] == "call"]
    check_equal(len(rows), 1 if said else 0, f"sampled: {answer['sampled']}; {watch.err}")
    if said:
        seen, estimate, low, high = map(number, said.groups())
        check_near(seen / rows[0]["share"], estimate, 2 + estimate / 100, "share")
        check_near(estimate * rows[0]["error_factor"], high, 2 + high / 100, "factor")
    else:
        seen = estimate = low = high = watch.closing()[0]
    inside = low * (1 - EDGES) - 2 <= truth <= high * (1 + EDGES) + 2
    return inside, (f"{load}, {limit} %: {truth} made, {seen} seen, {estimate} estimated "
                    f"({low} .. {high}){'' if inside else ' <--'}")


def run(ctx, loads):
    rows = [compare(ctx, load, LIMITS[i % len(LIMITS)]) for i, load in enumerate(loads)]
    print("\n".join(text for _, text in rows))
    right = sum(inside for inside, _ in rows)
    # 19 of 20 are to be: of 11 or 12 fewer than 7 are one run of 10,000 or less.
    check(right >= 7, f"{right} of {len(rows)}:\n" + "\n".join(text for _, text in rows))


@case("calls of twelve loads, at limits of 1 to 40 %: as many as the node made, within the interval")
def some_loads(ctx):
    run(ctx, LOADS[::2])


@case("calls of eleven other loads, at limits of 1 to 40 %: as many as the node made, within the interval")
def other_loads(ctx):
    run(ctx, LOADS[1::2])
