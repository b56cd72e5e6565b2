# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam doctor`: each feature is available, degraded or missing, why, and the fix."""
import json

from harness import case, check, check_equal, check_in

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


@case("doctor is content here, and shows the layout checks of the node one by one")
def content(ctx):
    result = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid, "-j")
    text = json.dumps(result.json())
    check_in(ctx.node.name, text, "doctor -j")
    check_in("init", text, "a layout check by its name")
    people = ctx.ebeam.ok("doctor", "-p", ctx.node.os_pid).out
    for word in ("BTF", ctx.node.name):
        check_in(word, people, "doctor")


@case("doctor without root: exit 4 and the fix", otp="one")
def no_root(ctx):
    result = ctx.ebeam.run("doctor", prefix=NOBODY)
    check_equal(result.code, 4, str(result))
    check("root" in result.out + result.err or "CAP_" in result.out + result.err, str(result))


@case("doctor leaves nothing behind", otp="one")
def leaves_nothing(ctx):
    from cases_faults import bpf_show
    # Other programs of this machine may load something meanwhile; doctor's own come and go.
    known = {what: {row["id"] for row in bpf_show(what)} for what in ("prog", "link")}
    ctx.ebeam.ok("doctor", "-j")
    for what in ("prog", "link"):
        left = [r for r in bpf_show(what) if r["id"] not in known[what]
                and str(r.get("name", "")).startswith(("feature", "probe", "sample"))]
        check_equal(left, [], f"BPF {what}s after doctor")
