# SPDX-License-Identifier: BSD-2-Clause
"""Limits of the process: each command works, or says which one is in the way and how to raise it; it
never shows nothing as if all were well, and never blames the node, the kernel or privileges."""
from ebeam import FEW_CAPABILITIES, as_nobody
from harness import case, check, check_equal, check_in

SIDE_BY_SIDE = IN_TURN = True

SHORT = ("-d", "300ms")
FOLDED = ("-f", "folded", "-o", "/dev/null")
READERS = (("ps",), ("dump",), ("inspect", "init"), ("mem",), ("sched", "--now"))
PROBERS = (("record", *SHORT, *FOLDED), ("gc", *SHORT), ("record", "--mode", "gc", *SHORT, *FOLDED),
           ("trace", "ets:insert/2", *SHORT), ("top", "-b", "-n", "1", "--watch", "300ms"))
ALL = (("list",), *READERS, *PROBERS)
# What limits must never be taken for.
WRONG = ("not a BEAM node", "No BEAM node", "no BEAM node", "has no BTF", "CAP_", "kernel refuses")


def few(*limits):
    return (*as_nobody(*FEW_CAPABILITIES, "CAP_DAC_READ_SEARCH"), "prlimit", *limits)


def run(ctx, words, prefix):
    target = ("-p", ctx.node.os_pid)  # which starts the node
    return ctx.ebeam.run(*words, *(() if words[0] == "list" else target), prefix=prefix)


def works_or_says(ctx, words, prefix, limit):
    """True if it worked."""
    result = run(ctx, words, prefix)
    for text in WRONG:
        check(text not in result.err, f"'{text}' of {limit}: {result}")
    if result.code in (0, 7):
        if words[0] == "list":
            check_in(str(ctx.node.os_pid), result.out, f"list with {prefix[-1]}: {result}")
        return True
    check_equal(result.code, 1, f"{words} with {prefix[-1]}: {result}")
    check_in(limit, result.err, f"{words} with {prefix[-1]}")
    return False


@case("few open files: ulimit -n is named, by doctor too", otp="one", timeout=300, in_pairs=True)
def open_files(ctx):
    for nr in (4, 5, 7, 20):
        prefix = few(f"--nofile={nr}:{nr}")
        worked = [works_or_says(ctx, words, prefix, "ulimit -n") for words in ALL]
        check(not all(worked), f"all works with {nr} files")
        doctor = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j", prefix=prefix)
        check(doctor.code in (0, 1), str(doctor))
        for row in doctor.json()["data"]["features"]:
            if "oo many open files" in (row["why"] or ""):
                check_in("ulimit -n", row["fix"] or "", str(row))


@case("little memory: said, and nodes are not taken for something else", otp="one", timeout=300,
      in_pairs=True)
def memory(ctx):
    worked = []
    for megabytes in (20, 30, 42, 60, 90):
        prefix = few(f"--as={megabytes * 1000000}:{megabytes * 1000000}")
        if ctx.ebeam.run("version", prefix=prefix).code != 0:
            continue  # not even libraries fit
        worked += [works_or_says(ctx, words, prefix, "ulimit -v") for words in ALL]
        doctor = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, prefix=prefix)
        check(doctor.code in (0, 1), str(doctor))
        check(doctor.code == 0 or "ulimit -v" in doctor.out + doctor.err, str(doctor))
    check(True in worked and False in worked, "no limit mattered, or all did")


@case("no more threads: what needs one says so, and doctor which commands those are", otp="one",
      in_pairs=True)
def threads(ctx):
    prefix = few("--nproc=1:1")
    for words in (*READERS, PROBERS[0]):
        check(works_or_says(ctx, words, prefix, "ulimit -u"), f"{words} needs no thread")
    check(not works_or_says(ctx, ("gc", *SHORT), prefix, "ulimit -u"), "gc keeps its budget without a thread")
    doctor = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j", prefix=prefix)
    rows = {r["feature"]: r for r in doctor.json()["data"]["features"]}
    check_equal(rows["threads"]["state"], "degraded", str(rows["threads"]))
    check_equal(rows["record"]["state"], "available", str(rows["record"]))
    check_equal(rows["gc"]["state"], "missing", str(rows["gc"]))
    check_in("ulimit -u", rows["gc"]["fix"], "fix")


@case("no locked memory, and files of no byte: nothing of it is needed", otp="one", timeout=180,
      alone=True)
def harmless(ctx):
    mlock = "/proc/sys/kernel/perf_event_mlock_kb"
    with open(mlock) as f:
        before = f.read()

    def write(text):
        with open(mlock, "w") as f:
            f.write(text)
    ctx.cleanup(write, before)
    write("4\n")
    for words in ALL:
        for prefix in (few("--memlock=0:0"), few("--fsize=0:0")):
            result = run(ctx, words, prefix)
            # Its standard output is a pipe, and /dev/null no file that grows.
            check(result.code in (0, 7), str(result))


@case("a /tmp that nobody can write to is not needed", otp="one", in_pairs=True)
def no_tmp(ctx):
    readonly = ("unshare", "-m", "--propagation", "private", "sh", "-c",
                'mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp && ! touch /tmp/x 2>/dev/null && exec "$@"',
                "sh")
    for words in (*ALL, ("doctor",)):
        result = run(ctx, words, readonly)
        check(result.code in (0, 7), str(result))


@case("/proc/sys that is not to be seen is no kernel without perf events", otp="one")
def proc_sys(ctx):
    hidden = ("unshare", "-m", "--propagation", "private", "sh", "-c",
              'mount -t tmpfs none /proc/sys && exec "$@"', "sh")
    usual = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid)
    result = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j", prefix=hidden)
    check_equal(result.code, usual.code, str(result))
    row, = [r for r in result.json()["data"]["features"] if r["feature"] == "kernel.perf_event_paranoid"]
    check_equal((row["state"], row["why"]), ("available", None), str(row))
    check_in("cannot be read here", row["seen"], "seen")
    for words in PROBERS:
        check(run(ctx, words, hidden).code in (0, 7), f"{words} without /proc/sys")
