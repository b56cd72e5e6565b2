# SPDX-License-Identifier: BSD-2-Clause
"""Cases, their outcome and their cleaning up.

A case is a function with @case("what must hold"); it takes a Context and asserts with check() and
friends.  A case that cannot run here raises Skip with the reason.  Whatever a case starts is
registered with ctx.cleanup() and undone, last first, however the case ends.
"""
import platform
import re
import signal
import time
import traceback


class Skip(Exception):
    """A prerequisite is missing; the text says which."""


class Failure(Exception):
    """What was expected and what was seen instead."""


class CaseTimeout(Exception):
    """A case took longer than it may."""


LEAST_TIMEOUT = 300  # seconds: it is for what hangs, and no case is wrong because others have the CPUs

CASES = []
slowness = 1  # of this machine: each limit of time is that many times as long


def linux():
    """The kernel that runs: (6, 1)."""
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups()))


def patience(seconds):
    return seconds * slowness


def be_patient(times):
    global slowness
    slowness = times



def case(title, otp="each", timeout=120, alone=False, in_pairs=False, in_turn=False, long=False):
    """otp: "each" = on every release of the run, "one" = on the first of them only,
    "usdt" = on builds with USDT probes.

    Cases of a theme whose module says SIDE_BY_SIDE = True hold however little CPU they and their nodes
    get: they run while those of other themes and releases do.  Those of one that says IN_PAIRS = True
    need some half of a CPU: they run three at a time.  in_pairs: this one does.  alone: nothing
    runs beside this one.

    timeout: seconds that it may take; nothing ends it before LEAST_TIMEOUT.

    long: `make test` leaves it to `make test-long`, as it takes long for what it shows beside the
    other cases of its theme.

    With --in-turn (see run) they still run on each release, unless the module says IN_TURN = True,
    or the case in_turn; all other cases run on one release."""

    def register(function):
        theme = function.__module__.rsplit(".", 1)[-1].removeprefix("cases_")
        in_pair = not alone and (function.__globals__.get("IN_PAIRS", False) or in_pairs)
        beside = function.__globals__.get("SIDE_BY_SIDE", False) and not alone and not in_pair
        turns = in_turn or not beside or function.__globals__.get("IN_TURN", False)
        CASES.append({"title": title, "otp": otp, "timeout": timeout, "run": function,
                      "theme": theme, "name": f"{theme}/{function.__name__}", "beside": beside,
                      "in_pairs": in_pair, "in_turn": turns, "long": long})
        return function

    return register


def check(condition, message):
    if not condition:
        raise Failure(message)


def check_equal(seen, expected, what):
    check(seen == expected, f"{what}: expected {expected!r}, seen {seen!r}")


def check_near(seen, expected, tolerance, what):
    check(abs(seen - expected) <= tolerance,
          f"{what}: expected {expected:.4g} +- {tolerance:.4g}, seen {seen:.4g}")


def check_in(part, text, what):
    check(part in text, f"{what}: no {part!r} in {shorten(text)}")


def shorten(value, limit=600):
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[:limit] + " ..."


class Cleanup:
    """A stack of functions to call; each is called once, even if others fail."""

    def __init__(self):
        self.stack = []

    def add(self, function, *args):
        self.stack.append((function, args))

    def run(self):
        errors = []
        while self.stack:
            function, args = self.stack.pop()
            try:
                function(*args)
            except Exception as e:  # every one must get its turn
                errors.append(f"cleanup: {e}")
        return errors


def run_case(entry, context):
    """Outcome ("ok", "FAIL" or "skip"), a text, and the seconds that it took."""

    def on_alarm(_signal, _frame):
        raise CaseTimeout()

    began = time.monotonic()
    outcome, text = "ok", ""
    timeout = patience(max(LEAST_TIMEOUT, entry["timeout"]))
    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(timeout)
    try:
        entry["run"](context)
    except Skip as e:
        outcome, text = "skip", str(e)
    except Failure as e:
        outcome, text = "FAIL", str(e)
    except CaseTimeout:
        outcome, text = "FAIL", f"no end within {timeout} s\n{traceback.format_exc()}"
    except Exception:  # a broken case is a failed one
        outcome, text = "FAIL", traceback.format_exc()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
        errors = context.cleanup_stack.run()
    if errors and outcome == "ok":
        outcome, text = "FAIL", "\n".join(errors)
    return outcome, text, time.monotonic() - began
