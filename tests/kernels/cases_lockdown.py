# SPDX-License-Identifier: BSD-2-Clause
"""A kernel that is locked down: what works goes on working, what cannot says why."""
from harness import Skip, case, check, check_equal, check_in


def confidential():
    try:
        with open("/sys/kernel/security/lockdown") as f:
            if "[confidentiality]" in f.read():
                return
    except OSError:
        pass
    raise Skip("this kernel is not locked down to confidentiality")


@case("confidentiality: what reads the node's memory alone works", otp="one")
def memory(ctx):
    confidential()
    node = ctx.node
    rows = ctx.ebeam.ok("list", "-j").json()["data"]
    check_equal([r["name"] for r in rows if r["os_pid"] == node.os_pid], [node.name], "name")
    names = {p["registered_name"] for p in ctx.ebeam.ok("ps", "-p", node.os_pid, "-j").json()["data"]}
    check({"init", "code_server"} <= names, f"ps: {names}")


@case("confidentiality: what needs BPF says that the lockdown forbids it, and ends with 4 or 5",
      otp="one")
def refused(ctx):
    confidential()
    for command in (("record", "-d", 1, "-o", "/dev/null", "-f", "folded"),
                    ("events", "-d", 1, "-e", "message_send"), ("gc", "-d", 1),
                    ("trace", "-d", 1, "lists:seq/2")):
        result = ctx.ebeam.run(command[0], "-p", ctx.node.os_pid, *command[1:])
        check(result.code in (4, 5), str(result))
        check_in("lockdown", result.err, f"{result}: the reason")
    said = ctx.ebeam.run("doctor", "-p", ctx.node.os_pid, "-j")
    check_equal(said.code, 5, str(said))
    for row in said.json()["data"]["features"]:
        if row["group"] == "commands":
            check_in("lockdown", row["why"], row["feature"])
