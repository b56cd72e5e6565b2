# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam trace` while code is loaded, and while others hold debug registers: calls are those that
their callers made, once they are said to be seen again."""
import re
import time

from answers import Watch
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True

HOT = "traced_hot:f/1"


class Trace(Watch):
    """Begins with traced_hot loaded; says how often its code was followed."""
    waits_for_out = True  # from the beginning: what is waited for may be there before

    def __init__(self, ctx, node, *patterns):
        node.ask("traced_code", "load", 1, 0)
        super().__init__(ctx, node, "-n", "1000000", "--rate", "1000000", *patterns, command="trace")

    def followed(self):
        return sum("its calls are seen again" in line for line in self.err)

    def wait_followed(self, above):
        self.wait_for(lambda: self.followed() > above, "code was followed")

    def calls(self, said):
        """Arguments of the calls of a process that the workload speaks of."""
        return [line["args"][0] for line in self.seen if line["pid"] == said["pid"]
                and line["kind"] == "call"]

    def finish(self):
        self.seen = self.events()
        return self.seen


def numbers(first, last):
    return [str(n) for n in range(first, last + 1)]


@case("code that is loaded 100 times: all calls of each load", timeout=240)
def hundred(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, HOT)
    said = []
    for n in range(100):
        before = trace.followed()
        node.ask("traced_code", "load", n + 2, 0)
        trace.wait_followed(before)
        said.append(node.ask("traced_code", "call", 10 * n, 10 * n + 9))
    trace.finish()
    for n, of in enumerate(said):
        check_equal(trace.calls(of), numbers(10 * n, 10 * n + 9), f"calls after load {n}")
    loads = re.search(r"was loaded (\d+) times: calls in the ([0-9.]+ \S+) until",
                      "\n".join(trace.err))
    check(loads and int(loads[1]) >= 100, f"what is reported: {trace.err[-3:]}")


@case("an on_load function of 200 ms: the old code until it is done, then the new one")
def on_load(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, HOT)
    for n in range(3):
        before = trace.followed()
        node.ask("traced_code", "load_slowly", n + 2, 200)
        trace.wait_followed(before)
        old = node.ask("traced_code", "call", 1, 20)
        check_equal({text.split(",")[1] for text in old["said"]}, {f"{{{n + 2}"}, "version that is called")
        if n == 2:
            trace.finish()
            check_equal(trace.calls(old), numbers(1, 20), "calls")


@case("modules that are loaded all the while, each few milliseconds, keep nothing from being followed")
def bursts(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, HOT)
    node.ask("traced_code", "burst", 3)
    said = []
    for n in range(10):
        before = trace.followed()
        node.ask("traced_code", "load", n + 2, 0)
        trace.wait_followed(before)
        said.append(node.ask("traced_code", "call", 1, 20))
    node.ask("traced_code", "stop")
    trace.finish()
    for of in said:
        check_equal(trace.calls(of), numbers(1, 20), "calls")


@case("a function that is gone has no breakpoint: what stands there now is not its calls; it may return")
def gone(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, f"{HOT} -> return")
    first = node.ask("traced_code", "call", 1, 20)
    before = trace.followed()
    node.ask("traced_code", "without", 2)
    trace.wait_followed(before)
    check(any(f"{HOT} does not exist any more" in line for line in trace.err), f"reported: {trace.err}")
    check(node.ask("traced_code", "fill", 100, 10)["calls"] == 3000, "calls of others")
    before = trace.followed()
    node.ask("traced_code", "load", 3, 0)
    trace.wait_followed(before)
    again = node.ask("traced_code", "call", 1, 20)
    trace.finish()
    for of in (first, again):
        check_equal(trace.calls(of), numbers(1, 20), "calls")
    check_equal({line["pid"] for line in trace.seen}, {first["pid"], again["pid"]}, "who called")
    results = {line["result"] for line in trace.seen if line["kind"] == "return"}
    check(results <= {f"{{{v},{n}}}" for v in (1, 3) for n in range(1, 21)}, f"results: {results}")


@case("what comes to stand where a function was, sooner than that is noticed, is not its calls")
def swapped(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    trace = Trace(ctx, node, HOT)
    node.ask("traced_code", "swap", 600, timeout=100)
    trace.finish()
    args = {line["args"][0] for line in trace.seen}
    check_equal(args, {"1", "2", "3"}, f"arguments of {len(trace.seen)} calls")


@case("a function that becomes a NIF is seen where its calls pass")
def becomes_nif(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("traced_code", "nif", "erlang")
    trace = Trace(ctx, node, "asn1rt_nif:encode_ber_tlv/1 -> return")
    node.ask("traced_code", "to_nif")
    trace.wait_followed(0)
    node.ask("traced_code", "nif", 5)  # where they return to is learned
    trace.wait_for(lambda: trace.out.count(b'"call"') >= 5, "calls")
    said = node.ask("traced_code", "nif", 30)
    trace.finish()
    check_equal(trace.calls(said), [f"{{{n},<<1>>}}" for n in range(1, 31)], "calls")
    results = [line["result"] for line in trace.seen
               if line["kind"] == "return" and line["pid"] == said["pid"]]
    check_equal(results, [text.rsplit(",", 1)[0][1:] for text in said["said"]], "results")


@case("registers that another holds: reported once, with the reason; ends are seen once they are free")
def held(ctx):
    node = ctx.new_node(flags=("+S", "2:2"))
    node.ask("traced", "warm", "none")
    other = Trace(ctx, node, "traced:plain/2", "traced:rec/1", "traced:tail/2")
    trace = Trace(ctx, node, f"{HOT} -> return")
    said = node.ask("traced_code", "call", 1, 50)
    trace.wait_for(lambda: trace.out.count(b'"call"') >= 50, "calls")
    other.end()
    # It is tried again with calls, once a second.
    for _ in range(100):
        node.ask("traced_code", "call", 1, 2)
        time.sleep(0.2)
        if b'"return"' in trace.out:
            break
    trace.finish()
    check_equal(trace.calls(said), numbers(1, 50), "calls")
    check(not [line for line in trace.seen if line["pid"] == said["pid"] and line["kind"] != "call"],
          "ends while others hold the registers")
    check(any(line["kind"] == "return" for line in trace.seen), f"ends later; {trace.err}")
    reported = [line for line in trace.err if "returns and exceptions are not seen for now" in line]
    check_equal(len(reported), 1, "times that it is reported")
    check_in("no free debug register", reported[0], "why")
    by_cause = [line for line in trace.err if "another program uses the debug registers" in line]
    check_equal(len(by_cause), 1, f"causes; {trace.err}")
    check(int(re.search(r"how (\d+) calls", by_cause[0])[1]) >= 50, by_cause[0])
