# SPDX-License-Identifier: BSD-2-Clause
"""Captures: `report` from one shows what was recorded, in every format; damage is shown as such."""
import collections
import gzip
import json
import os
import random
import re
import shutil
import subprocess

from ebeam import NOBODY, html_strings
from harness import Skip, case, check, check_equal, check_in

SIDE_BY_SIDE = True
IN_TURN = True

FORMATS = ("html", "svg", "folded", "pprof", "speedscope", "json", "text")


def record_mixed(ctx, seconds=2):
    with ctx.workload("cpu_split"), ctx.workload("ets_heavy"), ctx.workload("otp_tree"):
        return ctx.ebeam.capture(ctx.node, seconds)


def folded_total(text):
    return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())


@case("report gives the same bytes every time, without root and without the node, in all formats",
      otp="one")
def deterministic(ctx):
    path = record_mixed(ctx)
    os.chmod(path, 0o644)
    elsewhere = ctx.ebeam.file(".ebeam")
    shutil.copy(path, elsewhere)
    for fmt in FORMATS:
        first = ctx.ebeam.ok("report", path, "-f", fmt, "-o", "-", text=False)
        again = ctx.ebeam.ok("report", elsewhere, "-f", fmt, "-o", "-", text=False,
                             prefix=NOBODY)
        check(first.out, f"{fmt}: empty")
        check(first.out == again.out, f"{fmt}: two reports differ")
        target = ctx.ebeam.file("." + fmt)
        ctx.ebeam.ok("report", path, "-f", fmt, "-o", target)
        with open(target, "rb") as f:
            check(f.read() == first.out, f"{fmt}: -o FILE and -o - differ")


@case("the same recording has the same totals in folded, JSON, pprof, speedscope and summary",
      otp="one")
def same_totals(ctx):
    path = record_mixed(ctx)
    summary = ctx.ebeam.last.err
    profile = ctx.ebeam.report(path)
    check_in(f"Samples: {profile.samples:,} ", summary, "summary")
    out = ctx.ebeam.ok("report", path, "-f", "folded", "-o", "-").out
    check_equal(folded_total(out), profile.samples, "sum of folded")
    scope = ctx.ebeam.ok("report", path, "-f", "speedscope", "-o", "-").json()
    weights = sum(sum(p["weights"]) for p in scope["profiles"])
    unit = scope["profiles"][0]["unit"]
    if unit == "none":
        check_equal(weights, profile.samples, "sum of speedscope's weights")
    else:
        check(weights > 0, f"speedscope's weights in {unit}: {weights}")
    # Stacks agree too, not only their sum.
    from_json = collections.Counter()
    for s in ctx.ebeam.report(path, "--by", "none").stacks:
        from_json[";".join(f.replace(";", "\\x3b") for f in s["frames"])] += s["count"]
    from_folded = collections.Counter()
    out = ctx.ebeam.ok("report", path, "-f", "folded", "-o", "-", "--by", "none").out
    for line in out.splitlines():
        stack, _, count = line.rpartition(" ")
        from_folded[stack] += int(count)
    differing = [k for k in from_json | from_folded if from_json[k] != from_folded[k]]
    check(not [k for k in differing if k and from_json[k] and from_folded[k]],
          f"counts differ: {differing[:3]}")


@case("pprof says of which build the node's files are", otp="one")
def build_ids(ctx):
    with ctx.workload("cpu_split"):
        path = ctx.ebeam.capture(ctx.node, 1)
    target = ctx.ebeam.file(".pb.gz")
    ctx.ebeam.ok("report", path, "-o", target)
    notes = subprocess.run(["readelf", "-n", f"/proc/{ctx.node.os_pid}/exe"], capture_output=True, text=True,
                           check=True).stdout
    build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
    with gzip.open(target) as f:
        check_in(build_id.encode(), f.read(), "the strings of the profile")


@case("go tool pprof reads the profile and comes to the same totals", otp="one")
def pprof_totals(ctx):
    if not shutil.which("go"):
        raise Skip("go is not installed")
    path = record_mixed(ctx)
    profile = ctx.ebeam.report(path)
    target = ctx.ebeam.file(".pb.gz")
    ctx.ebeam.ok("report", path, "-o", target)
    with gzip.open(target) as f:
        check(f.read(1), "an empty profile")
    environment = dict(os.environ, HOME=ctx.work_dir, PPROF_TMPDIR=ctx.work_dir)

    def pprof(*args):
        done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", *args, target],
                              capture_output=True, text=True, env=environment, timeout=60)
        check_equal(done.returncode, 0, f"go tool pprof {args}: {done.stderr}")
        return done.stdout

    raw = pprof("-raw")
    total = sum(int(line.split(":")[0].split()[0]) for line in raw_samples(raw))
    check_equal(total, profile.samples, "samples by pprof")
    top = pprof("-top", "-sample_index=samples", "-nodecount=400", "-nodefraction=0")
    seen = {}
    for line in top.splitlines():
        words = line.split(None, 5)
        if len(words) == 6 and words[0].isdigit():
            seen[words[5]] = (int(words[0]), int(words[3]))
    for mfa in ("cpu_split:gamma/2", "ets:lookup/2", "otp_tree:spin/2"):
        row = profile.functions[mfa]
        check_equal(seen.get(mfa), (row["self"], row["total"]), f"{mfa}: flat and cumulative")
    tags = pprof("-tags")
    for label in ("erlang.pid", "erlang.name", "kind", "scheduler"):
        check_in(label, tags, "labels")


def raw_samples(raw):
    """Lines of the samples in `pprof -raw`, e.g. "   12   12012000: 5 4 3"."""
    inside = False
    for line in raw.splitlines():
        if line.startswith("Locations"):
            return
        if inside and ":" in line and line.split(":")[0].replace(" ", "").isdigit():
            yield line
        if line.startswith("samples/") or "samples/count" in line:
            inside = True


@case("a capture cut at any place: what is before the cut, and exit 7", otp="one")
def cut(ctx):
    path = record_mixed(ctx)
    with open(path, "rb") as f:
        data = f.read()
    whole = folded_total(ctx.ebeam.ok("report", path, "-f", "folded", "-o", "-").out)
    rng = random.Random(1)
    places = sorted({0, 1, 8, 31, 32, 33, 47, 48, len(data) - 1, len(data) - 16}
                    | {rng.randrange(len(data)) for _ in range(25)})
    damaged = ctx.ebeam.file(".ebeam")
    last = 0
    for place in places:
        with open(damaged, "wb") as f:
            f.write(data[:place])
        result = ctx.ebeam.run("report", damaged, "-f", "folded", "-o", "-", timeout=20)
        check(result.code in (1, 7), f"cut at {place} of {len(data)}: {result}")
        check(result.err.startswith("ebeam: ") or result.code == 7, f"cut at {place}: {result}")
        total = folded_total(result.out)
        check(last <= total <= whole,
              f"cut at {place}: {total} samples after {last}, {whole} in all")
        last = total
    check(last > 0, "nothing readable however late the cut")


@case("a capture with any bit flipped: no crash, no hang, no name that was not there", otp="one")
def flipped(ctx):
    path = record_mixed(ctx)
    with open(path, "rb") as f:
        data = f.read()
    names = ctx.ebeam.report(path).frames()
    rng = random.Random(2)
    damaged = ctx.ebeam.file(".ebeam")
    noticed = 0
    for place in list(range(0, 64)) + [rng.randrange(len(data)) for _ in range(60)]:
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        with open(damaged, "wb") as f:
            f.write(changed)
        result = ctx.ebeam.run("report", damaged, "-f", "json", "-o", "-", timeout=20)
        # 6: another version of the format, for all that can be known.
        check(result.code in (0, 1, 6, 7), f"bit flipped at {place}: {result}")
        noticed += result.code != 0
        if result.out:
            seen = {f for s in result.json()["data"]["stacks"] for f in s["frames"]}
            check(seen <= names, f"bit flipped at {place}: names {sorted(seen - names)[:5]}")
    check(noticed > 60, f"only {noticed} of 124 flipped bits were noticed")


@case("what is no capture is refused with exit 1", otp="one")
def no_capture(ctx):
    for content in (b"", b"hello world\n" * 20, b"EBEAMCAP", b"\x7fELF" + bytes(100)):
        path = ctx.ebeam.file(".ebeam")
        with open(path, "wb") as f:
            f.write(content)
        result = ctx.ebeam.run("report", path, "-f", "folded", "-o", "-")
        check(result.code in (1, 7), str(result))
        check_in(path, result.err, "text")
    result = ctx.ebeam.run("report", "/nonexistent.ebeam")
    check_equal(result.code, 1, str(result))


@case("bytes per sample of the bundled demo node: at most 60", otp="one", long=True)
def bytes_per_sample(ctx):
    from cases_demo import demo_node
    node = demo_node(ctx)
    path = ctx.ebeam.file(".ebeam")
    # As many samples as 99 Hz gives in a minute and a half; definitions weigh less in a longer one.
    for seconds in (9, 20, 40):  # where the node gets less of the CPUs
        ctx.ebeam.ok("record", "-p", node.process.pid, "-d", seconds, "-F", 999, "-o", path, timeout=90)
        profile = ctx.ebeam.report(path)
        if profile.samples > 4000:
            break
    size = os.path.getsize(path)
    check(profile.samples > 2000, f"{profile.samples} samples")
    check(size / profile.samples <= 60, f"{size} bytes for {profile.samples} samples")


@case("diff of two captures: what grew and what shrank", otp="one")
def diff(ctx):
    with ctx.workload("cpu_split"):
        before = ctx.ebeam.capture(ctx.node, 1)
    with ctx.workload("cpu_split"), ctx.workload("strings"):
        after = ctx.ebeam.capture(ctx.node, 1)
    rows = {}
    document = ctx.ebeam.ok("diff", before, after, "-f", "json", "-o", "-").json()
    for row in document["data"]["functions"]:
        rows[row["mfa"]] = row
    check(rows["strings:step/1"]["delta_total"] > 0, f"{rows['strings:step/1']}")
    check_equal(rows["strings:step/1"]["total_a"], 0, "samples before")
    check(rows["cpu_split:gamma/2"]["delta_total"] < 0, f"{rows['cpu_split:gamma/2']}")
    same = ctx.ebeam.ok("diff", before, before, "-f", "json", "-o", "-").json()
    check(all(r["delta_self"] == 0 and r["delta_total"] == 0 for r in same["data"]["functions"]),
          "a capture differs from itself")
    html = ctx.ebeam.ok("diff", before, after, "-f", "html", "-o", "-").out
    check_in("strings:step/1", html_strings(html), "differential flame graph")
    folded = ctx.ebeam.ok("diff", before, after, "-f", "folded", "-o", "-").out
    check(all(len(line.rsplit(" ", 2)) == 3 for line in folded.splitlines()), "two counts a line")


@case("options of report: --lines, --no-native, --no-kernel, --kinds, -n", otp="one")
def options(ctx):
    path = record_mixed(ctx, 1)
    plain = ctx.ebeam.report(path)
    native = {f["mfa"] for f in plain.functions.values() if f["kind"] == "native"}
    check(native, "no native frames to leave out")
    without = ctx.ebeam.report(path, "--no-native")
    check_equal(without.samples, plain.samples, "samples with --no-native")
    check(not any(f["kind"] == "native" for f in without.functions.values()), "--no-native")
    no_kernel = ctx.ebeam.report(path, "--no-kernel")
    check(not any(f["kind"] == "kernel" for f in no_kernel.functions.values()), "--no-kernel")
    kinds = ctx.ebeam.ok("report", path, "-f", "folded", "--kinds", "-o", "-").out
    check(any(word in kinds for word in ("[ets]", "[ETS]")), "--kinds: no root frame for ets")
    check_equal(folded_total(kinds), plain.samples, "samples with --kinds")
    text = ctx.ebeam.ok("report", path, "-f", "text", "-n", "5").out
    check_in(max(plain.functions.values(), key=lambda f: f["self"])["mfa"], text, "-f text")


@case("svg and html are one well-formed file without a link to anywhere", otp="one")
def self_contained(ctx):
    import xml.dom.minidom
    path = record_mixed(ctx, 1)
    svg = ctx.ebeam.ok("report", path, "-f", "svg", "-o", "-").out
    document = xml.dom.minidom.parseString(svg)
    check(len(document.getElementsByTagName("rect")) > 10, "few rectangles")
    html = ctx.ebeam.ok("report", path, "-f", "html", "-o", "-").out
    for text in (svg, html):
        for what in ("src=\"http", "href=\"http", "@import", "url(http"):
            check(what not in text, f"the file loads from elsewhere: {what}")
    check_in("cpu_split:gamma/2", html_strings(html), "html")


@case("JSON: the envelope of the contract", otp="one")
def envelope(ctx):
    path = record_mixed(ctx, 1)
    document = json.loads(ctx.ebeam.ok("report", path, "-f", "json", "-o", "-").out)
    check_equal(document["schema"], 1, "schema")
    check_equal(document["tool"], "ebeam", "tool")
    facts = ctx.node.facts()
    check_equal(document["node"]["name"], facts["name"], "node.name")
    check_equal(str(document["node"]["otp"]), facts["otp"], "node.otp")
    check_equal(document["node"]["erts"], facts["erts"], "node.erts")
    check_equal(document["node"]["os_pid"], ctx.node.os_pid, "node.os_pid")
    for field in ("version", "command", "time", "warnings", "counters"):
        check(field in document, f"no {field}")
