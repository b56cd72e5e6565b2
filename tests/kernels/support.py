# SPDX-License-Identifier: BSD-2-Clause
"""What plans found in guests, kept below build/, and the table of it in the manual."""
import fnmatch
import hashlib
import json
import os
import subprocess

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(TOP, "build", "tests", "kernels", "results.json")
PAGE = os.path.join(TOP, "doc", "ebeam-support.md")
BEGIN, END = "<!-- kernels -->\n", "<!-- end of kernels -->\n"

# What is said, the plan (a pattern), and its cases (all, if there are none).
ROWS = (
    ("BPF programs that load", "gate", ""),
    ("`list`, `doctor`, `ps`, `inspect`, `dump`, `crashdump`, `core`, `mem`, `bin`, `ets`, `port`, `mod`, "
     "`dist`, `env`",
     "commands", "commands/list* commands/ps* commands/inspect* commands/dump* commands/mem* commands/ets* "
     "commands/port* commands/mod* commands/dist* commands/env* commands/doctor* doctor/* ps/* "
     "inspect/* dump/* crashdump/* core/* mem/* resident/* bin/* ets/* port/* mod/* dist/* env/*"),
    ("`record`, `report`, `diff`, `top`", "commands", "commands/re* commands/diff* commands/top*"),
    ("`events`, `gc`, `msg`, `sched`, `proc`, `alloc`, `locks`, `record --mode`", "commands",
     "events/* gc/* msg/* sched/* proc/* vmkinds/* modes/* allocated/* offcpu/* malloc/* commands/leak commands/locks"),
    ("`trace`", "commands", "trace/* callers/*"),
    ("each kind of event alone", "each", ""),
    ("few privileges, and what `doctor` says of each command", "privileges", ""),
    ("the static program", "static", ""),
    ("32 CPUs (of 7.x eight); a CPU off line and back", "*-cpus", ""),
    ("512 MB of memory", "512-MB", ""),
    ("`lockdown=integrity`", "integrity", ""),
    ("`lockdown=confidentiality`: what needs no BPF, and clear errors", "confidentiality", ""),
    ("all programs, on one CPU, preempted for 10 minutes", "preempt-*", ""),
)


def build():
    """Results are of this program, and of no other."""
    with open(os.path.join(TOP, "build", "ebeam"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def read():
    """{"KERNEL PLAN": {"version", "cases": {name: outcome}, "totals": [passed, failed, skipped]}}"""
    try:
        with open(RESULTS) as f:
            kept = json.load(f)
    except (FileNotFoundError, ValueError):
        return {}
    return kept["plans"] if kept["build"] == build() else {}


def keep(kernel, plan, version, cases, totals):
    plans = read()
    plans[f"{kernel} {plan}"] = {"version": version, "cases": cases, "totals": totals}
    os.makedirs(os.path.dirname(RESULTS), exist_ok=True)
    with open(RESULTS + ".new", "w") as f:
        json.dump({"build": build(), "plans": plans}, f)
    os.replace(RESULTS + ".new", RESULTS)


def versions(matrix):
    """Kernel -> exact version, of tools/kernel-matrix list."""
    rows = subprocess.run([matrix, "list"], capture_output=True, check=True, text=True).stdout
    return {row.split("\t")[0]: row.split("\t")[1].split("-")[0] for row in rows.splitlines()[1:]}


def cell(plans, kernel, plan, patterns):
    passed = tried = 0
    for name, result in plans.items():
        of, its_plan = name.split(" ", 1)
        if of != kernel or not fnmatch.fnmatch(its_plan, plan):
            continue
        if result["cases"]:
            ran = [outcome for case, outcome in result["cases"].items() if outcome != "skip" and
                   (not patterns or any(fnmatch.fnmatch(case, p) for p in patterns.split()))]
            passed += ran.count("ok")
            tried += len(ran)
            # What failed beside its cases: a complaint of the kernel.
            tried += result["totals"][1] > list(result["cases"].values()).count("FAIL")
        else:
            passed += result["totals"][0]
            tried += sum(result["totals"][:2])
    return f"{passed} of {tried}" if tried else "-"


def table(kernels):
    plans = read()
    known = {name.split(" ")[0]: result["version"] for name, result in plans.items()}
    kernels = [k for k in kernels if k in known]
    lines = ["| tried | " + " | ".join(known[k] for k in kernels) + " |", "|---|" + "---|" * len(kernels)]
    for title, plan, patterns in ROWS:
        cells = [cell(plans, kernel, plan, patterns) for kernel in kernels]
        if set(cells) == {"-"}:
            continue
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_table(kernels):
    with open(PAGE) as f:
        text = f.read()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    with open(PAGE, "w") as f:
        f.write(before + BEGIN + table(kernels) + END + after)
