# SPDX-License-Identifier: BSD-2-Clause
"""What a thread was doing: the kind of each sample, and threads that are no normal scheduler."""
from harness import case, check, check_in, check_near

SIDE_BY_SIDE = IN_TURN = True


def check_kind(profile, kind, at_least, stacks=None):
    share = profile.kind_share(kind, stacks)
    check(share >= at_least, f"kind {kind}: {share:.3f}, expected {at_least} or more; by kind: "
                             f"{profile.by_kind}; hottest: {profile.hottest()}")


GC = ("gc", "full gc")


def collecting(profile, stacks):
    return sum(profile.kind_share(kind, stacks) for kind in GC)


@case("gc: its share is what the VM's own microstate accounting says")
def gc(ctx):
    with ctx.workload("gc_heavy") as truth:
        profile = ctx.record_enough(2000, truth["pids"])
    chosen = profile.of_pids(truth["pids"])
    # Its clock goes on while a thread waits for a CPU; samples do not.
    check_near(collecting(profile, chosen), truth["gc_share"], 0.1, "share of gc")
    inside = [s for s in chosen if s["kind"] in GC]
    check(profile.share_with("gc_heavy:garbage/2", inside) > 0.5,
          f"the caller of the collector is not shown: {inside[:3]}; hottest: {profile.hottest()}")
    profile.check_complete()


@case("ets: lookups and inserts")
def ets(ctx):
    with ctx.workload("ets_heavy") as truth:
        profile = ctx.record_enough(300, None, least=100)
    check_kind(profile, "ets", 0.5, profile.of_pids(truth["pids"]))
    profile.check_complete()


@case("match specifications are of the process that asks, though the VM has another one meanwhile")
def selects(ctx):
    with ctx.workload("selects") as truth:
        profile = ctx.record_enough(300, None, least=100)
    inside = [s for s in profile.stacks if any("db_prog_match" in f for f in s["frames"])]
    check(profile.count(inside) > 0.2 * profile.count(profile.of_pids(truth["pids"])),
          f"few samples in match specifications: {profile.hottest()}")
    for s in inside:
        check_in(s["pid"], truth["pids"], f"process of {s['frames'][-4:]}")
        check_in("selects:step/1", s["frames"], "who called")
    check_kind(profile, "ets", 0.5, profile.of_pids(truth["pids"]))
    profile.check_complete()


@case("copy: messages with large terms")
def copying(ctx):
    with ctx.workload("messages", "2000"):
        profile = ctx.record_enough(300, None, least=100)
    check_kind(profile, "copy", 0.3)
    profile.check_complete()


@case("port: blocks to an external program and back")
def port(ctx):
    with ctx.workload("ports"):
        profile = ctx.record_enough(500, None, least=100)
    check_kind(profile, "port", 0.2)
    profile.check_complete()


@case("timer: many are set, cancelled and fire")
def timer(ctx):
    with ctx.workload("timers"):
        profile = ctx.record_enough(1500, None, least=100)
    # Most of the time goes into the BIFs; what runs when one fires is short.
    check_kind(profile, "timer", 0.003)
    for bif in ("erlang:send_after/3", "erlang:cancel_timer/1"):
        check(bif in profile.functions, f"no {bif}: {profile.hottest()}")
    profile.check_complete()


@case("code: a module is loaded again and again")
def code(ctx):
    with ctx.workload("code_load"):
        profile = ctx.record_enough(500, None, least=100)
    # While it is loaded others wait, and how schedulers do that depends on what else runs here.
    worked = [s for s in profile.stacks if s["kind"] not in ("scheduler", "poll", "wait")]
    check_kind(profile, "code", 0.3, worked)


@case("nif: hashing in a NIF library")
def nif(ctx):
    with ctx.workload("nif_crypto") as truth:
        profile = ctx.record_enough(300, None, least=100)
    check_kind(profile, "nif", 0.7, profile.of_pids(truth["pids"]))
    profile.check_complete()


@case("bif and erlang: terms, strings and binaries, whole stacks at saved-stack call sites too")
def language(ctx):
    expected = {"terms": ("terms:same/3", "terms:rename/2", "erlang:term_to_binary/1"),
                "strings": ("strings:step/1", "io_lib:format/2"),
                "binaries": ("binaries:append/2", "binaries:sum/2")}
    for workload, names in expected.items():
        with ctx.workload(workload) as truth:
            profile = ctx.record_enough(300, None, least=100)
        own = profile.of_pids(truth["pids"])
        for name in names:
            check(profile.share_with(name, own) > 0.005, f"{workload}: no {name}: "
                                                         f"{profile.hottest()}")
        rooted = profile.share_with("workload:loop/2", own)
        check(rooted >= 0.98, f"{workload}: {rooted:.3f} of the stacks reach workload:loop/2")
        language = ("erlang", "bif", "term format", "binary", "alloc", *GC)
        check(sum(profile.kind_share(kind, own) for kind in language) > 0.8, f"{workload}: {profile.by_kind}")
        # A large heap that shrinks gives its end back to the kernel before Process.stop tells
        # where the stack went (shrink_new_heap(), erl_gc.c): a sample in that munmap() has none.
        profile.check_complete(0.98 if workload == "binaries" else 0.995)


@case("dirty CPU schedulers: key generation in a NIF, under its Erlang caller")
def dirty_cpu(ctx):
    dirty(ctx, "cpu", "dirty cpu", "dirty_cpu", "crypto:")


@case("dirty IO schedulers: reading a file, under its Erlang caller")
def dirty_io(ctx):
    dirty(ctx, "io", "dirty io", "dirty_io", "prim_file:")


def dirty(ctx, mode, thread, truth_key, module):
    with ctx.workload("dirty", mode) as truth:
        profile = ctx.record_enough(500, None, least=100)
    on_dirty = profile.only(lambda s: s["thread"].startswith(thread)
                            and s["kind"] not in ("scheduler", "wait", "poll"))
    own = [s for s in on_dirty if s["pid"] in truth["pids"]]
    all_own = profile.of_pids(truth["pids"])
    check(profile.count(own) >= 0.95 * profile.count(on_dirty),
          f"{profile.count(own)} of {profile.count(on_dirty)} samples of {thread} have the process")
    seen = profile.count(on_dirty) / max(1, profile.count(all_own))
    check(seen > 0.5 * truth["busy"][truth_key], f"{thread}: {seen:.2f} of the process's samples; "
                                                 f"the VM says {truth['busy']}")
    check(profile.share_with("dirty:step/1", own) > 0.95, f"stacks: {own[:3]}")
    named = [s for s in own if any(f.startswith(module) for f in s["frames"])]
    check(profile.count(named) > 0.9 * profile.count(own), f"stacks: {own[:3]}")
    profile.check_complete()


@case("collections of a huge heap, which run on dirty schedulers, are gc")
def dirty_gc(ctx):
    with ctx.workload("dirty", "gc") as truth:
        profile = ctx.record_enough(500, None, least=100)
    own = profile.of_pids(truth["pids"])
    check(collecting(profile, own) >= 0.8, f"{profile.by_kind}; hottest: {profile.hottest()}")
    profile.check_complete()


@case("full sweeps and other collections, regular expressions, the term format and binaries are told apart")
def finer(ctx):
    with ctx.workload("finer_kinds") as truth:
        # Names of C functions are compared in the first half second.
        ctx.record_enough(300, None, least=100)
        profile = ctx.record_enough(2000, truth["pids"])
    process_of = dict(zip(("full", "minor", "regexp", "term format", "binary"), truth["pids"]))
    for name, pid in process_of.items():
        own = profile.of_pids([pid])
        print(name, {s["kind"]: round(profile.kind_share(s["kind"], own), 3) for s in own})
        if name in ("full", "minor"):
            share = profile.kind_share("full gc", [s for s in own if s["kind"] in GC])
            check(share > 0.95 if name == "full" else share < 0.5, f"{name}: full sweeps are {share:.3f}")
            check(collecting(profile, own) > (0.9 if name == "full" else 0.1),
                  f"{name}: {[(s['frames'][-2:], s['kind'], s['count']) for s in own[:9]]}")
        else:
            check_kind(profile, name, 0.7, [s for s in own if s["kind"] not in GC])
    # Large heaps shrink all the time: see language().
    profile.check_complete(0.98)


@case("lock: two writers of one table")
def locks(ctx):
    with ctx.workload("finer_kinds", "locks") as truth:
        profile = ctx.record_enough(300, truth["pids"], least=100)
    check_kind(profile, "lock", 0.02, profile.of_pids(truth["pids"]))
    profile.check_complete()


@case("--idle adds waiting, and nothing else changes")
def idle(ctx):
    with ctx.workload("proc_split"):
        path = ctx.ebeam.capture(ctx.node, 1)
    without, with_idle = ctx.ebeam.report(path), ctx.ebeam.report(path, "--idle")
    check(with_idle.samples >= without.samples, "fewer samples with --idle")
    for kind, count in without.by_kind.items():
        if kind != "wait":
            check_near(with_idle.by_kind[kind], count, 0, f"--idle: samples of kind {kind}")
