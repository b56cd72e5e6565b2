# SPDX-License-Identifier: BSD-2-Clause
"""The same work through other eyes: `perf` with the node's own perf map."""
import collections
import os
import re
import shutil
import subprocess

from cases_record import remove_maps
from harness import Skip, case, check, check_equal, shorten

POINTS = 0.03


@case("perf (+JPperf true): the top 20 functions agree within 3 points", long=True)
def perf(ctx):
    if not shutil.which("perf"):
        raise Skip("perf is not installed")
    node = ctx.new_node(flags=("+S", "2:2", "+JPperf", "true"))
    ctx.cleanup(remove_maps, node)
    works = ("cpu_split", "funs")
    for name in works:
        node.start(name)
    for seconds in (5, 40):  # a machine that does other things needs longer for enough samples
        ours, theirs = both_record(ctx, node, seconds)
        total_ours, total_theirs = sum(ours.values()), sum(theirs.values())
        if min(total_ours, total_theirs) > 2000:
            break
    for name in works:
        node.stop(name)
    check(total_ours > 2000 and total_theirs > 2000, f"samples: {total_ours}, perf {total_theirs}")
    for name, count in theirs.most_common(20):
        share = count / total_theirs
        seen = ours[name] / total_ours
        check(abs(seen - share) <= POINTS, f"{name}: perf {share:.3f}, ebeam {seen:.3f}")


def both_record(ctx, node, seconds):
    """Erlang functions and their samples, as ebeam and perf see nearly the same seconds."""
    data = ctx.ebeam.file(".perf")
    peer = subprocess.Popen(["perf", "record", "-e", "cpu-clock", "-F", "999", "-q", "-o", data,
                             "-p", str(node.os_pid), "--", "sleep", str(seconds + 1)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    profile = ctx.ebeam.record(node, seconds)
    said = peer.communicate(timeout=seconds + 50)[0].decode()
    if peer.returncode != 0:
        raise Skip(f"perf record fails here: {shorten(said)}")
    return erlang_of_ebeam(profile), erlang_of_perf(ctx, node, data)


def erlang_of_ebeam(profile):
    """Samples by the function in JIT code that ran, when it ran itself."""
    counts = collections.Counter()
    kinds = {m: f["kind"] for m, f in profile.functions.items()}
    for stack in profile.stacks:
        leaf = stack["frames"][-1] if stack["frames"] else ""
        if kinds.get(leaf) == "erlang":
            counts[leaf] += stack["count"]
    return counts


def erlang_of_perf(ctx, node, data):
    """The same of perf's samples; its names come from the map that the node wrote."""
    done = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym", "--no-inline"],
                          capture_output=True, text=True, timeout=60)
    check_equal(done.returncode, 0, f"perf script: {shorten(done.stderr)}")
    counts = collections.Counter()
    for line in done.stdout.splitlines():
        match = re.match(r"\s*[0-9a-f]+ \$(.+?)(?:\+0x[0-9a-f]+)?$", line)
        if match and re.search(r":.*/\d+$", match.group(1)):
            counts[match.group(1)] += 1
    if not counts:
        raise Skip(f"perf resolves no Erlang name here (perf-{node.inner_pid}.map): "
                   f"{shorten(done.stdout, 200)}, map there: "
                   f"{os.path.exists(f'/tmp/perf-{node.inner_pid}.map')}")
    return counts
