# SPDX-License-Identifier: BSD-2-Clause
"""Runs the program under test, and looks at profiles that it writes as JSON."""
import base64
import json
import os
import re
import subprocess
import time
import zlib

from harness import Failure, check, check_equal, patience, shorten

KINDS_IDLE = ("wait",)
# Prefixes of a command, for ctx.ebeam.run().
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
# What suffices for all commands from Linux 6.6 on.
FEW_CAPABILITIES = ("CAP_BPF", "CAP_PERFMON", "CAP_SYS_PTRACE")


def as_nobody(*capabilities):
    sets = ",".join(["-all", *("+" + name[4:].lower() for name in capabilities)])
    return (*NOBODY, f"--inh-caps={sets}", f"--ambient-caps={sets}")


class Result:
    def __init__(self, args, code, out, err, seconds):
        self.args, self.code, self.out, self.err, self.seconds = args, code, out, err, seconds

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failure(f"{self}: no JSON: {shorten(self.out)}") from None

    def __str__(self):
        return f"ebeam {' '.join(self.args)} -> exit {self.code}, stderr {shorten(self.err)!r}"


class Ebeam:
    def __init__(self, path, work_dir):
        self.path = os.path.abspath(path)
        self.work_dir = work_dir
        self.count = 0

    def file(self, suffix):
        """A fresh name in the work directory."""
        self.count += 1
        return os.path.join(self.work_dir, f"out-{self.count}{suffix}")

    def popen(self, *args, prefix=(), **kwargs):
        kwargs.setdefault("stdin", subprocess.DEVNULL)
        kwargs.setdefault("stdout", subprocess.PIPE)
        kwargs.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([*prefix, self.path, *map(str, args)], cwd=self.work_dir, **kwargs)

    def run(self, *args, timeout=120, prefix=(), text=True, **kwargs):
        began, timeout = time.monotonic(), patience(timeout)
        process = self.popen(*args, prefix=prefix, **kwargs)
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException as e:
            process.kill()
            process.communicate()
            if isinstance(e, subprocess.TimeoutExpired):
                raise Failure(f"ebeam {' '.join(map(str, args))}: no end in {timeout} s") from None
            raise
        out, err = out or b"", (err or b"").decode("utf-8", "replace")
        return Result([str(a) for a in args], process.returncode,
                      out.decode("utf-8", "replace") if text else out, err,
                      time.monotonic() - began)

    def ok(self, *args, code=0, **kwargs):
        """code: what it is to end with, if that is another answer than all that was asked for."""
        result = self.run(*args, **kwargs)
        check_equal(result.code, code, str(result))
        return result

    def capture(self, node, seconds, *args, freq=999):
        """Records to a capture file; its name."""
        path = self.file(".ebeam")
        self.last = self.ok("record", "-p", node.os_pid, "-d", seconds, "-F", freq, "-o", path,
                            *args, timeout=seconds + 120)
        return path

    def record(self, node, seconds, *args, freq=999):
        """Records by way of a capture; a Profile."""
        return self.report(self.capture(node, seconds, freq=freq), *args)

    def report(self, path, *args):
        return Profile(self.ok("report", path, "-f", "json", "-o", "-", *args).json())


def bpf_descriptors(pid):
    """What the kernel says of each BPF program and link that a process holds (fdinfo)."""
    found = []
    directory = f"/proc/{pid}/fdinfo"
    try:
        for fd in os.listdir(directory):
            with open(os.path.join(directory, fd)) as f:
                fields = dict(line.split(":", 1) for line in f.read().splitlines() if ":" in line)
            if "prog_id" in fields or "link_id" in fields:
                found.append({k: v.strip() for k, v in fields.items()})
    except OSError:
        pass  # it ended, or closed a descriptor meanwhile
    return found


def html_strings(page):
    """Every text in the data of an HTML flame graph (base64 of zlib of JSON)."""
    packed = re.search(r'id="data">([^<]*)<', page)
    check(packed, f"no data in the page: {shorten(page)}")
    return set(json.loads(zlib.decompress(base64.b64decode(packed.group(1))))["strings"])


class Profile:
    """A recording as JSON."""

    def __init__(self, document):
        self.document = document
        self.node = document["node"]
        self.counters = document["counters"]
        self.warnings = document["warnings"]
        data = document["data"]
        self.samples = data["samples"]
        self.complete = data["complete"]
        self.by_kind = data["by_kind"]
        self.by_status = data.get("by_status", {})
        # A NIF is also the Erlang function that calls it: of one name, what counts most.
        self.functions = {f["mfa"]: f for f in sorted(data["functions"], key=lambda f: f["total"])}
        self.processes = {p["pid"]: p for p in data["processes"]}
        self.stacks = data["stacks"]
        self.check_sums()

    def check_sums(self):
        """What must hold of every recording."""
        check_equal(sum(s["count"] for s in self.stacks), self.samples, "sum of stacks")
        check_equal(sum(self.by_kind.values()), self.samples, "sum of by_kind")
        check(self.complete <= self.samples, "complete beyond samples")

    def complete_share(self):
        """Complete or honestly truncated: the stack is right as far as it is shown."""
        whole = self.complete + self.by_status.get("truncated", 0)
        return whole / self.samples if self.samples else 0.0

    def check_complete(self, at_least=0.995):
        """Three stacks that are not prove nothing where samples are few."""
        check(self.samples > 0, "no samples")
        missing = (1 - self.complete_share()) * self.samples
        check(missing <= (1 - at_least) * self.samples + 3,
              f"{missing:.0f} of {self.samples} are not complete: {self.by_status}")

    def only(self, wanted):
        """The stacks for which wanted(stack) holds."""
        return [s for s in self.stacks if wanted(s)]

    def of_pids(self, pids):
        pids = set(pids)
        return self.only(lambda s: s["pid"] in pids)

    def frames(self):
        return {f for s in self.stacks for f in s["frames"]}

    def count(self, stacks=None):
        return sum(s["count"] for s in (self.stacks if stacks is None else stacks))

    def kind_share(self, kind, stacks=None):
        chosen = self.stacks if stacks is None else stacks
        total = self.count(chosen)
        return sum(s["count"] for s in chosen if s["kind"] == kind) / total if total else 0.0

    def share_with(self, mfa, stacks=None):
        """Share of the samples that have the function anywhere in the stack."""
        chosen = self.stacks if stacks is None else stacks
        total = self.count(chosen)
        return sum(s["count"] for s in chosen if mfa in s["frames"]) / total if total else 0.0

    def hottest(self, limit=12):
        """For messages of failed checks."""
        rows = sorted(self.functions.values(), key=lambda f: -f["self"])[:limit]
        return ", ".join(f"{f['mfa']} {f['self']}" for f in rows)
