# SPDX-License-Identifier: BSD-2-Clause
"""What a case gets: the program, a release, and a shared node of that release."""
import contextlib
import os
import shutil
import subprocess
import tempfile

from harness import Cleanup, Skip, check, check_equal, check_in
from nodes import Node, compile_library, given_releases, matrix_root, run_in

SHARED_FLAGS = ("+S", "2:2")


class Session:
    """What lasts for the whole run: the shared nodes of each release, most often one."""

    def __init__(self, ebeam, workloads, work_dir, otps, name=""):
        """name: is part of those of its nodes, if there are several sessions at a time."""
        self.ebeam, self.workloads, self.work_dir, self.otps = ebeam, workloads, work_dir, otps
        self.name = name
        self.shared = {}

    def node(self, otp, name="shared"):
        node = self.shared.get((otp, name))
        if node is None or not node.alive():
            matrix_root(otp)
            node = Node(self.workloads, otp, name=f"{name}{self.name}{otp}@127.0.0.1", flags=SHARED_FLAGS)
            self.shared[otp, name] = node
        return node

    def drop(self, otp):
        """A case that failed may have left its workload running: the next case starts afresh."""
        for key in [k for k in self.shared if k[0] == otp]:
            self.shared.pop(key).close()

    def close(self):
        for otp in {key[0] for key in self.shared}:
            self.drop(otp)


class Context:
    def __init__(self, session, otp):
        self.session, self.otp = session, otp
        self.release = int(otp.split("-")[0])  # of "25-usdt" 25
        self.own_build = otp in given_releases() or otp.endswith("usdt")  # no package of Debian
        self.ebeam, self.work_dir = session.ebeam, session.work_dir
        self.source = None  # of events: what --source says
        self.cleanup_stack = Cleanup()

    def cleanup(self, function, *args):
        self.cleanup_stack.add(function, *args)

    @property
    def node(self):
        """The shared node: named shared...<OTP>@127.0.0.1, two schedulers, no workload running."""
        return self.session.node(self.otp)

    def new_node(self, **kwargs):
        """A node for this case alone."""
        matrix_root(self.otp)
        node = Node(self.session.workloads, self.otp, **kwargs)
        self.cleanup(node.close)
        return node

    def loaded_node(self, **kwargs):
        """Like copied_node(), started by a dynamic loader with the emulator as its argument."""
        def change(beam):
            os.rename(beam, beam + ".real")
            with open(beam, "w") as f:
                f.write(f'#!/bin/sh\nexec /lib64/ld-linux-x86-64.so.2 {beam}.real "$@"\n')
        node, beam = self.copied_node(change=change, **kwargs)
        check_in("ld-linux", os.readlink(f"/proc/{node.os_pid}/exe"), "executable")
        return node, beam + ".real"

    def copied_node(self, mode=0o755, change=None, by=(), env=None, **kwargs):
        """A node for this case alone that runs a copy of its emulator, a file with this mode: the
        node and the file's path.  change(path) may do something to the file before it runs; `by` runs the command."""
        copy = os.path.join(tempfile.mkdtemp(prefix="erts-", dir=self.work_dir), "bin")
        self.cleanup(shutil.rmtree, os.path.dirname(copy), True)
        # The programs of the release beside each other, links followed.
        done = run_in(self.otp, ["sh", "-c", "cp -rL $(dirname $(readlink -f $(command -v erl)))/../"
                                 f"erts-*/bin {copy}"])
        check_equal(done.returncode, 0, done.stderr)
        root = run_in(self.otp, ["sh", "-c", "dirname $(dirname $(readlink -f $(command -v erl)))"])
        beam = os.path.join(copy, "beam.smp")
        if change:
            change(beam)
        os.chmod(beam, mode)
        node = self.new_node(erl=(*by, os.path.join(copy, "erlexec")), **kwargs,
                             env={**(env or {}), "BINDIR": copy, "ROOTDIR": root.stdout.strip(), "EMU": "beam",
                                  "PROGNAME": "erl"})
        return node, beam

    def library(self, name):
        """The path, without ".so", of drivers/NAME.c, compiled once for the run, if it is not there already."""
        made = self.session.workloads.made
        return compile_library(os.path.join(made or self.work_dir, name), name + ".c")

    def child(self, *command, **kwargs):
        """Another process for this case alone."""
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, **kwargs)
        self.cleanup(end, process)
        return process

    @contextlib.contextmanager
    def workload(self, name, *args, node=None, settle=0.3):
        """Runs a workload in the shared node; the dictionary that it yields has "pids" at once and
        the workload's own report after the block."""
        node = node or self.node
        started = node.start(name, *args, settle=settle)
        truth = {"pids": started["pids"]}
        yield truth
        truth.update(node.stop(name))

    def record_enough(self, wanted, pids, *args, node=None, least=None):
        """A profile with so many samples of these processes, or (None) of the whole node; `least` suffice if it gets
        hardly any CPU."""
        node = node or self.node
        seconds = wanted // 900 + 1
        for _ in range(4):
            profile = self.ebeam.record(node, seconds, *args)
            got = profile.samples if pids is None else profile.count(profile.of_pids(pids))
            if got >= wanted:
                return profile
            # The CPUs of this machine have other things to do.
            seconds = min(60, int(seconds * wanted / max(got, wanted // 8)) + 2)
        check(got >= (least or wanted), f"{got} samples of {pids} in {seconds} s, wanted {wanted}; "
                                        f"hottest: {profile.hottest()}")
        return profile

    def need_root(self):
        if os.geteuid() != 0:
            raise Skip("needs root")


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()
