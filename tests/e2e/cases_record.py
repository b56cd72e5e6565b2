# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam record`: shares of CPU time, whose it was, and the names of all kinds of functions."""
import os
import re
import signal
import time

from cases_faults import start_attached
from harness import Skip, case, check, check_equal, check_in, check_near, patience
from nodes import HERE

IN_PAIRS = True

POINTS = 0.03  # "every share within 3 points at 3,000 samples"


def chance(share, samples):
    """How far off a share may be by chance: of the samples, and some of what the node counts in milliseconds."""
    return 4.5 * (1.5 * share * (1 - share) / samples) ** 0.5


def check_split(profile, truth, points):
    """Shares of the functions of cpu_split, as it has measured its calls; what is between these (its own
    accounts, being scheduled out and in) is no part of that."""
    shares = {**truth["self"], **truth["total"]}
    own = profile.of_pids(truth["pids"])
    calls = [s for s in own if shares.keys() & set(s["frames"])]
    check(profile.count(calls) >= 0.9 * profile.count(own), f"in calls: {profile.count(calls)} of {profile.count(own)}")
    for mfa, share in shares.items():
        check_near(profile.share_with(mfa, calls), share, max(points, chance(share, profile.count(calls))), mfa)


@case("functions of one process: every share within 3 points", timeout=300, alone=True)
def cpu_shares(ctx):
    with ctx.workload("cpu_split") as truth:
        profile = ctx.record_enough(6000, truth["pids"], least=1500)
    check_split(profile, truth, POINTS)
    # To multiply is a fragment of the VM's own in OTP 24 (times_body_shared).
    least = 0.9 if ctx.release >= 25 else 0.75
    for mfa in truth["self"]:
        row = profile.functions[mfa]
        check(row["self"] >= least * row["total"], f"{mfa}: self {row['self']} of {row['total']}")
    profile.check_complete()


@case("processes: every share within 3 points, under their registered names", timeout=300, alone=True)
def process_shares(ctx):
    with ctx.workload("proc_split") as truth:
        profile = ctx.record_enough(6000, truth["pids"], least=1500)
    total = profile.count(profile.of_pids(truth["pids"]))
    for name, share in truth["shares"].items():
        pid = truth["by_name"][name]
        row = profile.processes.get(pid)
        check(row is not None, f"{name} ({pid}) has no samples")
        check_equal(row["registered_name"], name, f"registered name of {pid}")
        check_near(row["samples"] / total, share, max(POINTS, chance(share, total)), name)
    profile.check_complete()


def record_measured(ctx, seconds, *args, freq=999):
    """A profile of the shared node, the seconds of CPU that it used for certain meanwhile, and at most; stderr."""
    path, least, most = ctx.ebeam.file(".ebeam"), [], [ctx.node.cpu_seconds()]
    process, _ = start_attached(ctx, "-d", 600, "-F", freq, "-o", path, *args)
    least.append(ctx.node.cpu_seconds())
    time.sleep(seconds)
    least.append(ctx.node.cpu_seconds())
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=patience(60))[1].decode()
    most.append(ctx.node.cpu_seconds())
    check_equal(process.returncode, 0, err)
    return ctx.ebeam.report(path), least[1] - least[0], most[1] - most[0], err


def check_cpu_seconds(profile, least, most):
    """Samples are lost with the time that a hypervisor takes from the host."""
    check(0.7 * least <= profile.samples / 999 <= 1.1 * most, f"{profile.samples / 999:.2f} CPU seconds of the "
          f"node, which used {least:.2f} to {most:.2f}")


@case("as many samples as CPU time was used", otp="one")
def sample_count(ctx):
    with ctx.workload("cpu_split"):
        profile, least, most, _ = record_measured(ctx, 3)
    check_cpu_seconds(profile, least, most)
    check_equal(profile.counters.get("ring_full", 0), 0, "samples lost")


@case("samples that cost too much are taken at a lower frequency, and count for those left out", alone=True)
def lowered_frequency(ctx):
    with ctx.workload("cpu_split") as truth:
        # It begins with all of them, and finds out what they cost.
        for seconds in (8, 40):
            profile, least, most, err = record_measured(ctx, seconds, "--max-overhead", "0.05")
            if profile.samples > 4000:
                break
    if profile.samples < 2000:
        raise Skip(f"{profile.samples} samples: the node had too little CPU")
    # Of what the node uses: 0.05 % of a core that it has to itself.
    said = [w for w in profile.warnings if re.search(r"--max-overhead allows 0\.0[1-5]\d* %", w)]
    check(said, f"warnings: {profile.warnings}")
    check(all(w in err for w in said), f"while recording: {err}")
    check(profile.counters["hits"] < 0.6 * profile.samples,
          f"{profile.counters['hits']} taken for {profile.samples}")
    check_cpu_seconds(profile, least, most)
    own = profile.of_pids(truth["pids"])
    hottest = max(truth["self"], key=truth["self"].get)
    # What it took to begin with is of the first second, and what stands for many is coarse.
    check_near(profile.share_with(hottest, own), truth["self"][hottest], 0.2, hottest)


@case("an idle node: nearly no samples, and that is no error")
def idle(ctx):
    profile = ctx.ebeam.record(ctx.node, 1)
    check(profile.samples < 300, f"{profile.samples} samples of an idle node")


@case("schedulers that spin for work: in the picture, but in no function unless --idle", otp="one")
def spinning(ctx):
    node = ctx.new_node(flags=("+sbwt", "very_long"))
    with ctx.workload("paced", node=node):
        for seconds in (2, 10, 30):
            path = ctx.ebeam.capture(node, seconds)
            profile = ctx.ebeam.report(path)
            if profile.by_kind["wait"] > 20:
                break  # it had a CPU for that
    spins = [s for s in profile.stacks if s["kind"] == "wait"]
    check_equal(profile.count(spins), profile.by_kind["wait"], "stacks of spinning schedulers")
    check(profile.by_kind["wait"] > 0 and all("[wait]" in s["frames"] for s in spins),
          f"none spins: {profile.by_kind}")
    check_equal(sum(f["self"] for f in profile.document["data"]["functions"]),
                profile.samples - profile.by_kind["wait"], "samples in functions")
    check("[wait]" not in profile.functions, "[wait] among functions")
    text = ctx.ebeam.ok("report", path, "-f", "text", "-o", "-").out
    check_in("are schedulers that spin while they wait for work ([wait])", text, "text")
    everything = ctx.ebeam.report(path, "--idle")
    check_equal(everything.functions["[wait]"]["total"], profile.by_kind["wait"], "with --idle")


@case("grouping by process, name, initial call, scheduler and none", otp="one")
def grouping(ctx):
    with ctx.workload("proc_split") as truth:
        path = ctx.ebeam.capture(ctx.node, 2)
    pids = truth["by_name"]
    groups = {}
    for by in ("process", "name", "initial-call", "scheduler", "none"):
        profile = ctx.ebeam.report(path, "--by", by)
        groups[by] = {s["group"] for s in profile.of_pids(pids.values())}
    check_equal(groups["none"], {None}, "--by none")
    for name, pid in pids.items():
        check(any(pid in g for g in groups["process"]), f"--by process: no {pid}")
        check(any(name in g for g in groups["name"]), f"--by name: no {name}")
    check(groups["initial-call"] == {"workload:worker/4"}, f"--by initial-call: {groups}")
    check(all(re.search(r"scheduler \d", g) for g in groups["scheduler"]), f"{groups}")


@case("lines: of the function that runs, from the source")
def lines(ctx):
    with ctx.workload("cpu_split"):
        profile = ctx.record_enough(300, None, "--lines", least=100)
    with open(os.path.join(HERE, "workloads", "cpu_split.erl")) as f:
        source = f.read().split("\n")
    expected = {n for n, text in enumerate(source, 1) if text.startswith("gamma(")}
    seen = {int(m.group(1)) for f in profile.frames()
            if (m := re.fullmatch(r"cpu_split:gamma/2:(\d+)", f))}
    check(seen and seen <= expected, f"lines of gamma/2: seen {seen}, source {expected}")


@case("Elixir: modules, odd names and anonymous functions as Elixir writes them")
def elixir(ctx):
    with ctx.workload("elixir_work") as truth:
        profile = ctx.record_enough(500, None, least=100)
    frames = profile.frames()
    for name in truth["names"]:
        check(name in frames, f"no {name}; frames: {sorted(frames)[:60]}")
    check(any(p["registered_name"] == truth["registered"] for p in profile.processes.values()),
          f"no process registered as {truth['registered']}")
    check(not any("'Elixir." in f for f in frames), "an Elixir module in Erlang's spelling")
    profile.check_complete()


@case("funs and comprehensions carry the compiler's names")
def funs(ctx):
    with ctx.workload("funs") as truth:
        profile = ctx.record_enough(300, None, least=100)
    own = profile.of_pids(truth["pids"])
    for name in truth["names"].values():
        check(profile.share_with(name, own) > 0.05, f"no {name}; hottest: {profile.hottest()}")
    # lists has helpers of its own, map_1/2 and foldl_1/3, which differ between releases.
    for outer in ("lists:map", "lists:foldl", "funs:step/1", "workload:loop/2"):
        under = [s for s in own if any(f.startswith(outer) for f in s["frames"])]
        check(profile.count(under) > 0.05 * profile.count(own), f"no {outer} in the stacks")
    profile.check_complete()


@case("a stack is what the node says it is, from root to leaf")
def stack_order(ctx):
    with ctx.workload("funs") as truth:
        profile = ctx.record_enough(300, None, "--by", "none", least=100)
    wanted = ["workload:worker/4", "workload:loop/2", "funs:step/1", "lists:foldl/3",
              truth["names"]["folded"], "funs:spin/2"]
    # worker/4 ends in a tail call: it leaves no frame.
    stacks = [s["frames"] for s in profile.of_pids(truth["pids"]) if "lists:foldl/3" in s["frames"]]
    check(stacks, "no stack with lists:foldl/3")
    check(any(contains_in_order(s, wanted[2:]) for s in stacks), f"stacks: {stacks[:3]}")
    spins = [s for s in stacks if s[-1] == "funs:spin/2"]
    check(spins and all(s.index("funs:step/1") < s.index("lists:foldl/3") for s in spins),
          f"stacks: {spins[:3]}")


def contains_in_order(stack, wanted):
    rest = iter(stack)
    return all(name in rest for name in wanted)


@case("supervisors and servers: registered names, and the initial call behind proc_lib")
def otp_tree(ctx):
    with ctx.workload("otp_tree") as truth:
        profile = ctx.record_enough(500, None, least=100)
    servers = [p for p in truth["processes"] if p["initial_call"] == "otp_tree:init/1"]
    check_equal(len(servers), 3, "servers of the workload")
    for server in servers:
        row = profile.processes.get(server["pid"])
        check(row is not None, f"{server} has no samples")
        check_equal(row["registered_name"], server["registered"], f"name of {server['pid']}")
        check_equal(row["initial_call"], server["initial_call"], f"call of {server['pid']}")
        check_equal(row["name"], server["registered"] or server["initial_call"],
                    f"display name of {server['pid']}")
    frames = profile.frames()
    for mfa in ("otp_tree:handle_call/3", "gen_server:handle_msg/6", "proc_lib:init_p_do_apply/3"):
        check(mfa in frames or mfa.startswith("gen_server:handle_msg"), f"no {mfa}")
    profile.check_complete()


@case("process labels (OTP 27 and later)")
def labels(ctx):
    if ctx.release < 27:
        raise Skip(f"OTP {ctx.otp} has no process labels")
    with ctx.workload("labels") as truth:
        profile = ctx.record_enough(500, None, least=100)
    for pid, label in truth["labels"].items():
        row = profile.processes.get(pid)
        check(row is not None, f"{pid} ({label}) has no samples")
        check_equal(row["label"], label, f"label of {pid}")
        check_equal(row["name"], label, f"display name of {pid}")


@case("names of processes: registered and initial call equal the node's own, for all that ran")
def process_names(ctx):
    with ctx.workload("messages"):
        profile = ctx.ebeam.record(ctx.node, 1)
        truth = ctx.node.processes()
    compared = 0
    for pid, row in profile.processes.items():
        own = truth.get(pid)
        if not own or not own["alive"]:
            continue
        compared += 1
        check_equal(row["registered_name"], own["registered"], f"registered name of {pid}")
        check_equal(row["initial_call"], own["initial_call"], f"initial call of {pid}")
    check(compared >= 2, f"only {compared} processes to compare")


@case("BIFs and a NIF stand between their Erlang caller and the native leaf")
def called_from_erlang(ctx):
    expected = (("messages", "erlang:send/2", "bif", ("messages:step/1", "messages:peer/0")),
                ("ets_heavy", "ets:lookup/2", "bif", ("ets_heavy:work/6",)),
                ("ets_heavy", "ets:insert/2", "bif", ("ets_heavy:work/6",)),
                ("nif_crypto", "crypto:hash_nif/", "nif", ("crypto:hash/2", "crypto:hash/4")))
    profiles = {}
    for workload, prefix, kind, callers in expected:
        if workload not in profiles:
            with ctx.workload(workload) as truth:
                profiles[workload] = ctx.record_enough(300, None, least=100)
        check_caller(profiles[workload], prefix, kind, callers)
    native = [f for f in profiles["nif_crypto"].frames() if "libcrypto" in f or "crypto.so" in f]
    check(native, f"no native frame of libcrypto: {profiles['nif_crypto'].hottest()}")
    for profile in profiles.values():
        profile.check_complete()


def check_caller(profile, prefix, kind, callers):
    names = [m for m in profile.functions if m == prefix or prefix.endswith("/")
             and m.startswith(prefix)]
    check(names, f"no frame {prefix}: {profile.hottest()}")
    check_equal(profile.functions[names[0]]["kind"], kind, f"kind of {names[0]}")
    above = {s["frames"][s["frames"].index(names[0]) - 1] for s in profile.stacks
             if names[0] in s["frames"][1:]}
    check(above and above <= set(callers), f"callers of {names[0]}: {above}, expected {callers}")


@case("a native name is never the nearest exported neighbour: each one covers what it names")
def native_names(ctx):
    with ctx.workload("ets_heavy"):
        profile = ctx.record_enough(300, None, least=100)
    native = [f for f in profile.functions.values() if f["kind"] == "native"]
    check(native, "no native frames")
    hottest = max(native, key=lambda f: f["self"])
    # ets:lookup copies terms and searches tables in many functions: no single one can hold it all.
    check(hottest["self"] < 0.8 * profile.samples, f"{hottest}")
    # The executables are stripped: those of OTP 29 hide even what others export.
    ours = [f for f in native if f["mfa"].startswith("beam.smp")]
    nameless = sum(f["self"] for f in ours if re.search(r"\+0x[0-9a-f]+$", f["mfa"]))
    check(nameless <= 0.02 * sum(f["self"] for f in ours), f"{nameless} samples in functions of the "
          f"VM without a name: {sorted(ours, key=lambda f: -f['self'])[:10]}")


@case("+JPperf true: frame pointers in the stacks change nothing", otp="one", alone=True, long=True)
def jpperf(ctx):
    without_change(ctx, "+JPperf", "true")


@case("+JMsingle true: JIT memory that is not mapped twice changes nothing, nor with +JPperf true", alone=True,
      long=True)
def jmsingle(ctx):
    if ctx.release < 26:
        raise Skip("OTP 26 was the first to have +JMsingle")
    without_change(ctx, "+JMsingle", "true", "+JPperf", "true")


def without_change(ctx, *flags):
    node = ctx.new_node(flags=("+S", "2:2", *flags))
    ctx.cleanup(remove_maps, node)
    with ctx.workload("cpu_split", node=node) as truth:
        profile = ctx.record_enough(4500, truth["pids"], node=node)
    check_split(profile, truth, 0.045)
    with ctx.workload("messages", node=node):
        other = ctx.ebeam.record(node, 1)
    check_caller(other, "erlang:send/2", "bif", ("messages:step/1", "messages:peer/0"))
    for p in (profile, other):
        p.check_complete()


def remove_maps(node):
    for name in (f"perf-{node.inner_pid}.map", f"jit-{node.inner_pid}.dump"):
        try:
            os.unlink(os.path.join("/tmp", name))
        except OSError:
            pass


@case("+S 64:64 on few CPUs", otp="one")
def many_schedulers(ctx):
    node = ctx.new_node(flags=("+S", "64:64"))
    with ctx.workload("proc_split", node=node) as truth:
        profile = ctx.record_enough(1000, truth["pids"], node=node)
    profile.check_complete()
    check(profile.share_with("proc_split:spin/2") > 0.3, f"hottest: {profile.hottest()}")
    threads = {s["thread"] for s in profile.stacks}
    check(all(re.match(r"(scheduler|dirty|erts|beam|\d|async|aux|poll)", t) for t in threads),
          f"threads: {threads}")


@case("the lowest and the highest frequency", otp="one")
def frequencies(ctx):
    with ctx.workload("cpu_split"):
        slow = ctx.ebeam.report(ctx.ebeam.capture(ctx.node, 2, freq=1))
        fast, least, _, _ = record_measured(ctx, 2, freq=4999)
    check(slow.samples <= 12, f"{slow.samples} samples at 1 Hz in 2 s")
    check(fast.samples > 0.5 * 4999 * least, f"{fast.samples} samples at 4999 Hz in {least} s of CPU")
    fast.check_complete()


@case("the summary on standard error: samples, complete, lost, own CPU")
def summary(ctx):
    with ctx.workload("cpu_split"):
        result = ctx.ebeam.ok("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "folded", "-o", "-")
    check(re.search(r"Samples: [\d,]+ ", result.err), f"no count of samples: {result.err!r}")
    check_in("complete", result.err, "summary")
    check_in("CPU", result.err, "summary")
    check(result.out and all(re.search(r" \d+$", line) for line in result.out.splitlines()),
          "folded output")
