# SPDX-License-Identifier: BSD-2-Clause
"""What `ebeam doctor` says of each command is what the command does: here, with few privileges, and
on a kernel that refuses some programs.  Also run on other kernels (tests/kernels)."""
import os
import re
import shutil
import subprocess

from ebeam import FEW_CAPABILITIES, NOBODY, as_nobody
from harness import Failure, Skip, case, check, check_equal, check_in, shorten

SIDE_BY_SIDE = IN_TURN = True

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = "combined stack size of 4 calls is 544. Too large"

# Row of doctor -> the command for a moment, in each way that may be missing by itself: it is degraded
# where they differ.
SHORT = ("-d", "500ms")
COMMANDS = {
    "record": [("record", "-f", "folded", "-o", "/dev/null", *SHORT)],
    "record --mode": [("record", "--mode", mode, "-f", "folded", "-o", "/dev/null", *SHORT)
                      for mode in ("gc", "alloc", "msg", "malloc")],
    "locks": [("locks", *SHORT),
              ("record", "--mode", "offcpu", "-f", "folded", "-o", "/dev/null", *SHORT)],
    "top": [("top", "-b", "-n", "2", "--watch", "500ms"),
            ("top", "-b", "-n", "2", "--watch", "500ms", "--panel", "events")],
    "events": [("events", *SHORT)],
    "gc": [("gc", *SHORT)],
    "msg": [("msg", *SHORT)],
    "sched": [("sched", *SHORT)],
    "proc": [("proc", *SHORT)],
    "alloc": [("alloc", *SHORT)],
    "port --io": [("port", "--io", *SHORT)],
    # By breakpoints, and by uprobes.
    "trace": [("trace", "lists:map/2", *SHORT), ("trace", "erlang:md5/1", *SHORT)],
}
# What is missing of a command that goes on without: kinds of events, by name.
SAID = re.compile(r"^ebeam: no ([a-z_, ]+): |^ebeam: not in this OTP \S+ build: ([a-z_, ]+) \(", re.M)
WHY = re.compile(r"no ([a-z]+_[a-z_, ]+): ")
# Samples that are missing, or names of theirs.
LACKING = re.compile(r"no samples|code that is loaded while recording will have no names")


def names(found):
    return {name for some in found for name in re.split(r", ", some) if "_" in name}


def rows(ctx, prefix):
    result = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j", prefix=prefix)
    all_rows = result.json()["data"]["features"]
    return {row["feature"]: row for row in all_rows if row["group"] == "commands"}


def does(ctx, words, prefix):
    """state, the kinds of events that are said to be missing, and what it said"""
    result = ctx.ebeam.run(*words, "-p", ctx.node.os_pid, prefix=prefix)
    check(result.code in (0, 4, 5, 6, 7), str(result))  # 7: a limit tripped
    if result.code not in (0, 7):
        return "missing", set(), result.err
    kinds = names(a or b for a, b in SAID.findall(result.err))
    lacking = kinds or LACKING.search(result.out + result.err)
    return "degraded" if lacking else "available", kinds, result.err


def compare(ctx, prefix=()):
    said = rows(ctx, prefix)
    check_equal(set(said), set(COMMANDS), "commands of doctor")
    wrong = []
    for name, ways in COMMANDS.items():
        row = said[name]
        states, kinds, texts = zip(*(does(ctx, words, prefix) for words in ways))
        kinds = set().union(*kinds)
        state = states[0] if len(set(states)) == 1 else "degraded"
        if name == "top" and (state, row["state"]) == ("available", "degraded") and \
           not LACKING.search(row["why"]):
            state = "degraded"  # its panel says which kinds of events are missing
        if state != row["state"]:
            wrong.append(f"{name}: doctor says {row['state']} ({row['why']}), it is {state} "
                         f"{sorted(kinds)}: {' | '.join(shorten(text) for text in texts)}")
        elif name != "top" and state == "degraded" and name != "record --mode":
            check_equal(names(WHY.findall(row["why"])), kinds, f"{name}: kinds that are missing")
        if row["state"] != "available":
            check(row["why"], f"{name}: why")
    check_equal(wrong, [], "verdicts")
    return said


def refusing(ctx, *programs):
    """A prefix: the kernel refuses these programs."""
    out = os.path.join(ctx.work_dir, "refuse.so")
    if not shutil.which("cc"):
        raise Skip("no compiler for a library that refuses programs")
    if not os.path.exists(out):
        done = subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", out,
                               os.path.join(HERE, "refuse.c"), "-ldl"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"refuse.c does not compile: {done.stderr}")
    return ("env", f"LD_PRELOAD={out}", f"REFUSE={','.join(programs)}")


@case("what doctor says of each command is what the command does", timeout=300)
def commands(ctx):
    said = compare(ctx)
    print(", ".join(f"{name} {row['state']}" for name, row in said.items()))


@case("with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE alone, too", otp="one", timeout=300, long=True)
def few_privileges(ctx):
    compare(ctx, as_nobody(*FEW_CAPABILITIES))


@case("without any privilege, too", otp="one", timeout=300)
def no_privileges(ctx):
    said = rows(ctx, NOBODY)
    check_equal({row["state"] for row in said.values()}, {"missing"}, "states")
    # With all but the one for its memory a node cannot be watched either.
    blind = rows(ctx, as_nobody("CAP_BPF", "CAP_PERFMON"))
    check_equal({row["state"] for row in blind.values()}, {"missing"}, "states, without CAP_SYS_PTRACE")
    check_in("CAP_SYS_PTRACE", blind["gc"]["fix"], "fix")
    for name, ways in COMMANDS.items():
        for words in ways:
            check_equal(does(ctx, words, NOBODY)[0], "missing", str(words))


# Names as the kernel keeps them, at most 15 characters.
REFUSED = (("event_gc_return", "event_exit", "event_queue_pro", "sample_cpu"),
           ("call_breakpoint", "event_carrier_f", "event_port_outp", "event_schedule"))


@case("on a kernel that refuses some programs, too", otp="one", timeout=600, long=True)
def refused(ctx):
    for programs in REFUSED:
        said = compare(ctx, refusing(ctx, *programs))
        check(any(row["state"] != "available" for row in said.values()), f"without {programs}")


@case("a refused program: its kinds of events are missing by name, and the others are there", otp="one")
def refused_kind(ctx):
    result = ctx.ebeam.ok("events", "-p", ctx.node.os_pid, "-d", "1s", "--count", "-j",
                          prefix=refusing(ctx, "event_gc_return", "event_exit"))
    check_in(f"no process_exit: erts_do_exit_process cannot be probed: the kernel refuses event_exit: "
             f"{WORDS}", result.err, "what is missing")
    check_in("long_gc: erts_garbage_collect_nobump cannot be probed: the kernel refuses "
             f"event_gc_return: {WORDS}", result.err, "what is missing")


@case("without it nothing is left: exit 5, the program, the verifier's last words, what to do", otp="one")
def refused_command(ctx):
    pid = ctx.node.os_pid
    for program, words in (("event_gc_return", ("gc", "-p", pid, "-d", "1s")),
                           ("sample_cpu", ("record", "-p", pid, "-d", "1s", "-o", "/dev/null",
                                           "-f", "folded")),
                           ("call_breakpoint", ("trace", "-p", pid, "-d", "1s", "lists:map/2"))):
        result = ctx.ebeam.run(*words, prefix=refusing(ctx, program))
        check_equal(result.code, 5, str(result))
        check_in(f"the kernel refuses {program}: {WORDS} (ebeam doctor", result.err, str(words))
