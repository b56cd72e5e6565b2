# SPDX-License-Identifier: BSD-2-Clause
"""doc/ebeam-json.md names each field that the commands write, in the section of the command."""
import json
import os
import re

from harness import case, check, check_equal
from nodes import TOP

SIDE_BY_SIDE = IN_TURN = True

SHORT = ("-d", "500ms")
COMMANDS = {
    "list": (("list",),), "doctor": (("doctor",),), "diagnose": (("diagnose", *SHORT),),
    "ps": (("ps",), ("ps", "--watch", "300ms", "-d", "700ms")),
    "inspect": (("inspect", "init", "--heap", "--mailbox", "--terms"), ("inspect", "code_server")),
    "dump": (("dump",), ("dump", "--waits"), ("dump", "--old-code")),
    "mem": (("mem",),), "ets": (("ets",), ("ets", "ac_tab", "-n", "1")),
    "port": (("port",), ("port", "--io", *SHORT)), "mod": (("mod", "-n", "3"),), "dist": (("dist",),),
    "record": (("record", "--mode", "wall", *SHORT, "-f", "json", "-o", "-"),
               ("record", *SHORT, "-f", "json", "-o", "-")),
    "top": (("top", "-n", "2", "--watch", "300ms"),
            ("top", "-n", "2", "--watch", "300ms", "--panel", "events")),
    "events": (("events", "--count", *SHORT),),
    "trace": (("trace", "lists:reverse/1", "--count", "--histogram", "--args", *SHORT),),
    "sched": (("sched", *SHORT), ("sched", "--now")),
    **{name: ((name, *SHORT),) for name in ("gc", "msg", "proc", "alloc")},
}
# As the page says, fields of one command are another's, too.
SHARED = {"inspect": ("ps",), "top": ("ps", "events")}
# Their keys are words of the node or of the kernel, not of ebeam.
OPEN = {"counters"}


def page():
    """Heading -> text."""
    with open(os.path.join(TOP, "doc", "ebeam-json.md"), encoding="utf-8") as f:
        parts = re.split(r"^## (.*)\n", f.read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def keys(value):
    if isinstance(value, list):
        return set().union(*map(keys, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(v) for k, v in value.items() if k not in OPEN))


def objects(text):
    """A stream has one a line, all others are one."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


@case("each field of JSON is in the manual, in the section of its command", otp="one", timeout=400)
def fields(ctx):
    ctx.node.facts()  # one that list shows
    sections = page()
    common = sections.pop("Envelope")
    missing = []
    for name, runs in COMMANDS.items():
        reported = [text for title, text in sections.items() if name in title.split(", ")]
        check_equal(len(reported), 1, f"sections of {name}")
        known = set(re.findall(r"[a-z_0-9]+", common + reported[0]))
        for other in SHARED.get(name, ()):
            known |= set(re.findall(r"[a-z_0-9]+", sections[other]))
        known |= {k for k in re.findall(r"[a-z]+(?:: | )[a-z]+", reported[0])}
        for words in runs:
            target = () if name == "list" else ("-p", ctx.node.os_pid)
            as_json = () if "-f" in words else ("-j",)
            result = ctx.ebeam.run(*words, *target, *as_json)
            check(result.code in (0, 7), str(result))
            seen = set().union(*map(keys, objects(result.out)))
            check(len(seen) > 9, f"{name}: {seen}")
            missing += [f"{' '.join(words)}: {key}" for key in sorted(seen - known)]
    check_equal(missing, [], "fields that doc/ebeam-json.md does not name")


@case("each command that takes -j has a section, and each section a command", otp="one")
def commands(ctx):
    titles = {name for title in page() if title != "Envelope" for name in title.split(", ")}
    takes = {line.split()[1] for line in ctx.ebeam.ok("help", "--list").out.splitlines()
             if line.startswith("1 ") and line.split()[1] != "ebeam"
             and "--json" in ctx.ebeam.ok("help", line.split()[1]).out}
    check_equal(titles, takes, "sections")
