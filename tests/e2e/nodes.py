# SPDX-License-Identifier: BSD-2-Clause
"""Real nodes of several OTP releases, and the workloads in them.

Nodes are started through tools/otp-matrix (the host's own release, or a chroot in a mount namespace
of its own) and end with their standard input, so that none outlives the run.
"""
import concurrent.futures
import contextlib
import functools
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness import Failure, Skip, patience

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
MATRIX = os.path.join(TOP, "tools", "otp-matrix")
ELIXIR = "/usr/lib/elixir/lib/elixir/ebin"


def compile_library(path, source, *flags):
    """Makes path.so of drivers/SOURCE, if it is not there already; returns the path."""
    if not os.path.exists(path + ".so"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        done = subprocess.run(["cc", *(flags or ["-O1"]), "-shared", "-fPIC", "-o", path + ".so",
                               os.path.join(HERE, "drivers", source)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"{source} does not compile: {done.stderr}")
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return str(s.getsockname()[1])


EPMD_PORT = free_port()  # an epmd of this run's own, not the host's


def matrix_root(otp):
    """Root directory of a release, or Skip."""
    found = subprocess.run([MATRIX, "root", otp], capture_output=True, text=True)
    if found.returncode != 0:
        raise Skip(found.stderr.strip() or f"OTP {otp} is not there")
    return found.stdout.strip()


def given_releases():
    """Those that EBEAM_OTP_DIRS names (tools/otp-matrix)."""
    return [entry.partition("=")[0] for entry in os.environ.get("EBEAM_OTP_DIRS", "").split(":")]


def run_in(otp, command, **kwargs):
    return subprocess.run([MATRIX, "run", otp, "--", *command], capture_output=True, text=True,
                          **kwargs)


@functools.cache
def has_elixir(otp):
    """There is one, and this release loads it."""
    done = run_in(otp, ["elixir", "--version"], env=dict(os.environ, ERL_CRASH_DUMP="/dev/null"))
    return done.returncode == 0


def need_elixir(otp):
    if not has_elixir(otp):
        raise Skip("no Elixir that runs on this release")


class Workloads:
    """Compiles the workloads once per release, for all processes of the run, but for those that
    are made already: ebin-RELEASE in that directory."""

    def __init__(self, work_dir, made=None):
        self.made = made
        self.source = os.path.join(work_dir, "workloads")  # seen from the chroots by way of /tmp
        self.work_dir = work_dir
        shutil.copytree(os.path.join(HERE, "workloads"), self.source)

    def ebin(self, otp):
        if self.made and os.path.isdir(os.path.join(self.made, f"ebin-{otp}")):
            return os.path.join(self.made, f"ebin-{otp}")
        out = os.path.join(self.work_dir, f"ebin-{otp}")
        if not os.path.isdir(out):
            os.rename(self.compile(otp), out)
        return out

    def compile_all(self, otps):
        """At the same time, before several processes want them."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(self.ebin, otp) for otp in otps]:
                with contextlib.suppress(Failure, Skip):  # the cases say so
                    done.result()

    def compile(self, otp):
        out = tempfile.mkdtemp(dir=self.work_dir)
        os.chmod(out, 0o755)
        names = sorted(os.path.basename(f) for f in glob.glob(self.source + "/*.erl"))
        names.remove("workload.erl")
        script = (f"cd {self.source} && erlc -o {out} workload.erl && "
                  f"erlc -pa {out} -o {out} {' '.join(names)}")
        if has_elixir(otp):
            script += f" && ERL_FLAGS='-pa {out}' elixirc -o {out} elixir_work.ex"
        done = run_in(otp, ["sh", "-c", script])
        if done.returncode != 0:
            raise Failure(f"workloads do not compile on OTP {otp}:\n{done.stdout}{done.stderr}")
        return out


def start_epmd():
    """An epmd for the nodes of this run; a process that the caller ends."""
    epmd = subprocess.Popen(["epmd", "-port", EPMD_PORT, "-address", "127.0.0.1"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", int(EPMD_PORT)), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    return epmd


trapped = []  # nodes that SIGTRAP ended, of this process


class Node:
    """One node with an agent in it that starts and stops workloads.  os_pid is the host's."""

    def __init__(self, workloads, otp, name=None, flags=(), prefix=(), erl=("erl",), env=None):
        self.otp = otp
        self.name = name or "nonode@nohost"
        command = [*prefix, MATRIX, "run", otp, "--", *erl, "-noshell"]
        if name:
            command += ["-name", name, "-setcookie", "ebeam-e2e"]
        command += [*flags, "-pa", workloads.ebin(otp), "-pa", ELIXIR,
                    "-run", "workload", "main", "agent"]
        environment = dict(os.environ, ERL_EPMD_PORT=EPMD_PORT, ERL_CRASH_DUMP="/dev/null",
                           ERL_EPMD_ADDRESS="127.0.0.1", **(env or {}))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=environment, cwd="/tmp")
        self.buffer = b""
        self.noise = []
        self.inner_pid = self.wait("ready", 120)["os_pid"]
        self.os_pid = self.find_pid()

    def find_pid(self):
        """The pid of beam.smp on the host: what was started, or its descendant (PID namespace)."""
        pid = self.process.pid
        for _ in range(8):
            try:
                exe = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
                if "beam" in exe or exe.startswith("ld-"):
                    return pid
                with open(f"/proc/{pid}/task/{pid}/children") as f:
                    pid = int(f.read().split()[0])
            except (OSError, IndexError):
                break
        raise Failure(f"no beam below pid {self.process.pid}")

    def wait(self, event, timeout=30):
        """The next answer of that kind."""
        deadline = time.monotonic() + patience(timeout)
        while True:
            line = self.read_line(deadline)
            if line is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(5 if time.monotonic() < deadline else 0)
                code = self.process.poll()
                why = f"{timeout} s have passed" if code is None else f"it ended, exit code {code}"
                raise Failure(f"node (OTP {self.otp}): no '{event}': {why}; "
                              f"it said: {self.said()}")
            try:
                answer = json.loads(line)
            except ValueError:
                answer = None
            if not isinstance(answer, dict):  # what compilers and code of random words print
                self.noise.append(line)
                continue
            if answer.get("event") == "error":
                raise Failure(f"node (OTP {self.otp}): {answer['reason']}")
            if answer.get("event") == event:
                return answer

    def read_line(self, deadline):
        while b"\n" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                return None
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def said(self):
        return " | ".join(self.noise[-20:])[-2000:]

    def tell(self, *words):
        self.process.stdin.write((" ".join(words) + "\n").encode())
        self.process.stdin.flush()

    def start(self, workload, *args, settle=0.3):
        if workload == "elixir_work":
            need_elixir(self.otp)
        self.tell("start", workload, *args)
        answer = self.wait("started", 120)
        time.sleep(settle)
        return answer

    def stop(self, workload):
        """Ends a workload; what it says of itself."""
        self.tell("stop", workload)
        return self.wait("truth", 120)["truth"]

    def ask(self, module, function, *args, timeout=120):
        """What a function of a workload returns; it takes strings."""
        self.tell("ask", module, function, *map(str, args))
        return self.wait("answer", timeout)["answer"]

    def facts(self):
        self.tell("facts")
        return self.wait("facts")

    def processes(self):
        self.tell("processes")
        return {p["pid"]: p for p in self.wait("processes")["processes"]}

    def alive(self):
        return self.process.poll() is None

    def cpu_seconds(self):
        with open(f"/proc/{self.os_pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
                self.process.wait(1)  # one with output that nobody takes does not end
            except (OSError, subprocess.TimeoutExpired):
                pid = getattr(self, "os_pid", self.process.pid)
                for victim in {pid, self.process.pid}:
                    try:
                        os.kill(victim, 9)
                    except OSError:
                        pass
                self.process.wait()
        if self.process.returncode in (-signal.SIGTRAP, 128 + signal.SIGTRAP):
            trapped.append(self)
        self.process.stdout.close()
