# SPDX-License-Identifier: BSD-2-Clause
"""Native stacks: a NIF whose C functions call each other in an order that is known, compiled in ways
that make unwinding hard.  At least 995 of 1,000 samples in it have exactly those frames."""
import glob
import lzma
import os
import pathlib
import re
import subprocess

from harness import case, check, check_equal, check_in
from nodes import HERE, compile_library

IN_PAIRS = True

TOP = os.path.dirname(os.path.dirname(HERE))
FNREF = os.path.join(TOP, "build", "tools", "fnref")
REFERENCES = os.path.join(TOP, "src", "target", "references")

CHAIN = ["native_busy", "native_entry", "native_down", "native_down", "native_down", "QSORT",
         "native_compare", "native_large", "native_spin"]
MAP = f"-Wl,--version-script={os.path.join(HERE, 'drivers', 'native_nif.map')}"
BUILDS = {
    "usual": ["-O2"],
    "protected": ["-O2", "-fcf-protection=full", "-fomit-frame-pointer"],
    "untabled": ["-O2", "-fno-asynchronous-unwind-tables"],
    "framed": ["-O2", "-fno-asynchronous-unwind-tables", "-fno-omit-frame-pointer"],
    "stripped": ["-O2", "-Wl,--build-id", MAP],
    **{name: ["-O2", "-Wl,--build-id=none", MAP] for name in ("linked", "compressed", "changed")},
    # A build id of its own: that of "stripped" has a debug file at times.
    "fetched": ["-O2", "-Wl,--build-id=0x6562656d2066657463686564206279206e616d65", MAP],
}


def build(ctx, name):
    return compile_library(os.path.join(ctx.work_dir, f"native_{name}"), "native_nif.c",
                           *BUILDS[name.partition("-")[0]])


def chain_of(frames, library):
    """Frames of the library and what the C library has between them: as many as it likes."""
    chain = []
    for frame in frames:
        name = frame.rpartition(":")[2]
        if frame.startswith("libc") and chain and chain[-1] != "native_spin":
            if chain[-1] != "QSORT":
                chain.append("QSORT")
        elif frame.startswith(library) or frame.startswith("[..."):
            chain.append(name)
    return chain


def check_chain(ctx, node, name, function):
    library = os.path.basename(build(ctx, name)) + ".so"
    started = node.start("native_calls", function)
    profile = ctx.record_enough(1000, started["pids"], node=node, least=250)
    node.stop("native_calls")
    inside = profile.only(lambda s: f"native_calls:{function}/1" in s["frames"] and
                          any(f.startswith(library + ":native_spin") for f in s["frames"]))
    total = profile.count(inside)
    check(total > 200, f"samples in the NIF: {total}; {profile.hottest()}")
    wrong = [s for s in inside if chain_of(s["frames"], library) != CHAIN]
    print(f"{name} {function}: {total} samples, {profile.count(wrong)} with other frames")
    check(profile.count(wrong) <= 0.005 * total, f"{profile.count(wrong)} of {total}: {wrong[:3]}")
    # What calls the NIF is what Erlang called, with nothing of the thread's start before it.
    for s in inside:
        at = s["frames"].index(f"native_calls:{function}/1")
        check(not any("start_thread" in f for f in s["frames"][at:]), f"frames: {s['frames']}")
    check_equal(profile.count(profile.only(lambda s: "start_thread" in s["frames"][0])), 0, "of no thread")


@case("C functions of a NIF, through the C library, a frame of 20 KiB and recursion: compiled as usual")
def usual(ctx):
    node = ctx.new_node()
    node.ask("native_calls", "load", build(ctx, "usual"))
    check_chain(ctx, node, "usual", "busy")
    check_chain(ctx, node, "usual", "busy_dirty")


@case("the same without frame pointers, with -fcf-protection", otp="one")
def protected(ctx):
    node = ctx.new_node()
    node.ask("native_calls", "load", build(ctx, "protected"))
    check_chain(ctx, node, "protected", "busy")


@case("code without unwind information: by frame pointers; else the frames up to it, and that there are more",
      otp="one")
def untabled(ctx):
    node = ctx.new_node()
    node.ask("native_calls", "load", build(ctx, "framed"))
    check_chain(ctx, node, "framed", "busy")
    node = ctx.new_node()
    node.ask("native_calls", "load", build(ctx, "untabled"))
    started = node.start("native_calls", "busy")
    profile = ctx.record_enough(1000, started["pids"], node=node, least=250)
    inside = profile.only(lambda s: s["frames"][-1].endswith(":native_spin"))
    check(profile.count(inside) > 200, f"samples in the NIF: {profile.hottest()}")
    for s in inside:
        check_equal(s["frames"][-3:], ["native_calls:busy/1", "[... native frames: no unwind information ...]",
                                       "native_untabled.so:native_spin"], "frames")


def debug_path(library):
    notes = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


@case("a stripped library: static functions have the names that its debug file has, by build id")
def debug_file(ctx):
    library = build(ctx, f"stripped-{ctx.otp}") + ".so"
    node = ctx.new_node()
    place = f"/proc/{node.os_pid}/root{debug_path(library)}"
    made = [d for d in map(str, pathlib.Path(place).parents[:4]) if not os.path.isdir(d)]
    for directory in reversed(made):  # the innermost is removed first
        ctx.cleanup(os.rmdir, directory)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    ctx.cleanup(os.remove, place)
    subprocess.run(["objcopy", "--only-keep-debug", library, place], check=True)
    subprocess.run(["strip", library], check=True)
    node.ask("native_calls", "load", library.removesuffix(".so"))
    check_chain(ctx, node, f"stripped-{ctx.otp}", "busy")
    name = os.path.basename(library)
    node.start("native_calls", "busy")
    path = ctx.ebeam.capture(node, 1)
    node.stop("native_calls")
    sources = {mfa: f["symbol_source"] for mfa, f in ctx.ebeam.report(path).functions.items()}
    check_equal(sources[f"{name}:native_spin"], "debug file", "symbol_source")
    check_equal({s for f, s in sources.items() if f.startswith(name + ":native_")}, {"debug file"}, "symbol_source")
    check_equal(sources["native_calls:busy/1"], None, "of Erlang functions")
    text = ctx.ebeam.ok("report", path, "-f", "text", "--symbol-source").out
    check_in("SYMBOL SOURCE", text, "heading")
    check(re.search(rf"native +debug file +{name}:native_spin", text), text)
    os.rename(place, place + ".away")
    ctx.cleanup(os.rename, place + ".away", place)
    node.start("native_calls", "busy")
    without = ctx.ebeam.record(node, 1)
    check(any(f.startswith(name + "+0x") for f in without.frames()), f"frames: {without.hottest()}")
    check(not any("native_spin" in f for f in without.frames()), f"frames: {without.hottest()}")
    callers = set()
    for mfa, function in without.functions.items():
        if mfa.startswith(name + "+0x"):  # what the C library's qsort() calls, too
            callers.add(function["caller"].partition(":")[0])
        elif "+0x" not in mfa:
            check_equal(function["caller"], None, f"caller of {mfa}")
    check_equal(callers, {"native_calls", "libc.so.6"}, "callers of what has no name")


@case("symbols by .gnu_debuglink, if the CRC is right, and of .gnu_debugdata", otp="one")
def linked(ctx):
    for name in ("linked", "compressed", "changed"):
        library = build(ctx, name) + ".so"
        debug = library + ".debug"
        subprocess.run(["objcopy", "--only-keep-debug", library, debug], check=True)
        subprocess.run(["strip", library], check=True)
        if name == "compressed":
            subprocess.run(["objcopy", "--strip-debug", debug, debug + ".mini"], check=True)
            pathlib.Path(debug + ".xz").write_bytes(lzma.compress(pathlib.Path(debug + ".mini").read_bytes()))
            os.remove(debug)
            subprocess.run(["objcopy", f"--add-section=.gnu_debugdata={debug}.xz", library], check=True)
        else:
            subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", library], check=True)
            os.makedirs(os.path.join(ctx.work_dir, ".debug"), exist_ok=True)
            os.rename(debug, os.path.join(ctx.work_dir, ".debug", os.path.basename(debug)))
        node = ctx.new_node()
        node.ask("native_calls", "load", library.removesuffix(".so"))
        if name != "changed":
            check_chain(ctx, node, name, "busy")
            continue
        with open(os.path.join(ctx.work_dir, ".debug", os.path.basename(debug)), "ab") as file:
            file.write(b"x")
        node.start("native_calls", "busy")
        frames = ctx.ebeam.record(node, 1).frames()
        check(any(f.startswith("native_changed.so+0x") for f in frames), f"frames: {frames}")
        check(not any("native_spin" in f for f in frames), f"frames: {frames}")


@case("symbols that the debuginfod client has in its cache", otp="one")
def fetched(ctx):
    library = build(ctx, "fetched") + ".so"
    build_id = debug_path(library).removeprefix("/usr/lib/debug/.build-id/").removesuffix(".debug").replace("/", "")
    cache = os.path.join(ctx.work_dir, "debuginfod")
    os.makedirs(os.path.join(cache, build_id))
    subprocess.run(["objcopy", "--only-keep-debug", library, os.path.join(cache, build_id, "debuginfo")], check=True)
    subprocess.run(["strip", library], check=True)
    node = ctx.new_node()
    node.ask("native_calls", "load", library.removesuffix(".so"))
    node.start("native_calls", "busy")
    for place, found in ((cache, True), (ctx.work_dir, False)):
        out = ctx.ebeam.ok("record", "-p", node.os_pid, "-d", "1", "-f", "folded", "-o", "-",
                           env=dict(os.environ, DEBUGINFOD_CACHE_PATH=place)).out
        check_equal("native_fetched.so:native_spin" in out, found, f"named by {place}: {out[-600:]}")


@case("--native: all frames of C code, the innermost, or none; --no-native", otp="one")
def option(ctx):
    node = ctx.new_node()
    node.ask("native_calls", "load", build(ctx, "usual"))
    node.start("native_calls", "busy")
    path = ctx.ebeam.capture(node, 1)
    whole, leaf, none, off = (ctx.ebeam.report(path, *args) for args in
                              ((), ("--native", "leaf"), ("--native", "none"), ("--no-native",)))
    check_equal(whole.samples, leaf.samples, "samples")
    spin = [s for s in leaf.stacks if s["frames"][-1].endswith(":native_spin")]
    check(spin, f"frames: {leaf.hottest()}")
    for s in spin:
        check_equal(sum(".so:" in f for f in s["frames"]), 1, f"native frames of {s['frames']}")
    check_equal(whole.functions["native_usual.so:native_spin"]["self"],
                leaf.functions["native_usual.so:native_spin"]["self"], "self")
    check(not any(".so:" in f or "beam.smp" in f for f in none.frames()), f"frames: {none.frames()}")
    check_equal(none.stacks, off.stacks, "--no-native")
    refused = ctx.ebeam.run("report", path, "--native", "some")
    check_equal(refused.code, 2, refused.err)


def half(reference, file, *least):
    """(right, wrong, missing) names of a file of which one half of the exported ones is hidden at a time."""
    done = subprocess.run([FNREF, "--half", reference, file, *least], text=True, capture_output=True, timeout=60)
    print(os.path.basename(reference), done.stdout.rstrip())
    sums = re.search(r"(\d+) right, (\d+) wrong, (\d+) missing", done.stdout)
    check(sums, f"{reference}: {done.stdout} {done.stderr}")
    return tuple(map(int, sums.groups()))


@case("names by a reference build: with one half of the exported ones hidden at a time none is wrong")
def references(ctx):
    paths = glob.glob(os.path.join(REFERENCES, f"otp-{ctx.release}-*.gz"))
    check_equal(len(paths), 2, f"references of OTP {ctx.release}")
    for path in paths:
        right, wrong, missing = half(path, f"/proc/{ctx.node.os_pid}/exe")
        check_equal(wrong, 0, f"wrong names by {path}")
        check(right > 0, "names")
        if "debian" in path:  # as these nodes are
            check(missing <= 0.01 * right, f"{path}: {missing} of {right + missing} are missing")


@case("names of functions of libraries by a reference: of this version most, of others none that is wrong")
def libraries(ctx):
    for library, soname in (("libcrypto", "libcrypto.so.3"), ("libz", "libz.so.1"), ("libc", "libc.so.6")):
        file = f"/proc/{ctx.node.os_pid}/root/usr/lib/x86_64-linux-gnu/{soname}"
        paths = glob.glob(os.path.join(REFERENCES, f"{library}-*.gz"))
        check_equal(len(paths), 3, f"references of {library}")
        shares = []
        for path in paths:
            right, wrong, missing = half(path, file)
            shares.append(right / (right + missing))
            if shares[-1] < 0.5:  # SAME_VERSION_SHARE: small functions get no name
                wrong = half(path, file, "100")[1]
            check_equal(wrong, 0, f"wrong names by {path}")
        check(max(shares) > 0.8, f"{file}: {shares}")


@case("a node that works in libcrypto and libz: their hidden functions have names, also without comparing again")
def library_names(ctx):
    cache = os.path.join(ctx.work_dir, f"cache-{ctx.otp}")
    os.makedirs(cache)
    environment = dict(os.environ, XDG_CACHE_HOME=cache, DEBUGINFOD_URLS="")

    def record():
        out = os.path.join(ctx.work_dir, f"library-{ctx.otp}.ebeam")
        err = ctx.ebeam.ok("record", "-p", node.os_pid, "-d", "2", "-v", "-o", out, env=environment).err
        profile = ctx.ebeam.report(out)
        nameless = [f["mfa"] for f in profile.functions.values()
                    if re.search(r"\+0x[0-9a-f]+$", f["mfa"]) and f["self"] > 0.01 * profile.samples]
        check_equal(nameless, [], f"nameless rows: {profile.hottest()}")
        for name in ("libcrypto.so.3:sha256_block", "libz.so.1.*:(deflate_slow|longest_match)"):
            found = {f["symbol_source"] for f in profile.functions.values() if re.match(name, f["mfa"])}
            check_equal(found, {"reference"}, f"{name}: {profile.hottest()}")
        return err

    node = ctx.new_node()
    node.start("finer_kinds", "libraries")
    check("names of functions of" in record() and os.listdir(cache) == ["ebeam"], "first time")
    err = record()
    check(", found before" in err and " by OTP" not in err, f"kept: {err}")
    for name in os.listdir(os.path.join(cache, "ebeam")):
        os.truncate(os.path.join(cache, "ebeam", name), 100)
    err = record()
    check(", found before" not in err and " by OTP" in err, f"damaged: {err}")
    os.chmod(os.path.join(cache, "ebeam"), 0o777)
    err = record()
    check(", found before" not in err and "another user owns or can write it" in err, f"of others: {err}")


@case("nearly all functions of a stripped node have names, and ebeam says where they come from")
def named(ctx):
    err = ctx.ebeam.ok("record", "-p", ctx.node.os_pid, "-d", "1", "-vv", "-f", "text", "-o", "/dev/null",
                       env=dict(os.environ, XDG_CACHE_HOME=ctx.work_dir)).err
    found = re.findall(r"names of functions of .*beam.smp by (.*): (\d+) of (\d+)", err)
    check_equal(len(found), 1, f"the first reference that is tried is of this build: {err}")
    (_, nr, of), = found
    check(int(nr) > 0.98 * int(of), f"{found}")
    with ctx.workload("gc_heavy"):
        profile = ctx.ebeam.record(ctx.node, 2)
    for name, source in (("full_sweep_heaps", "reference"), ("garbage_collect", "reference")):
        # Functions that are exported have their name from there.
        found = {f["symbol_source"] for f in profile.functions.values() if f["mfa"].startswith(f"beam.smp:{name}")}
        check(source in found and found <= {source, "dynsym"}, f"{name}: {found}; {profile.hottest()}")
