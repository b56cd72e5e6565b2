# SPDX-License-Identifier: BSD-2-Clause
"""Hosts that lack something: privileges, parts of the kernel; and the installation on a host."""
import ctypes
import fcntl
import os
import signal
import subprocess
import time

from harness import Skip, case, check, check_equal, check_in
from nodes import TOP

CAPABILITIES = "bpf,+perfmon,+sys_ptrace"
NO_BTF = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
          'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh")


@case("not root, with the capabilities that the refusal names: list and record work", otp="one")
def capabilities(ctx):
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
              f"--inh-caps=-all,+{CAPABILITIES}", f"--ambient-caps=-all,+{CAPABILITIES}")
    tried = subprocess.run([*prefix, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise Skip(f"setpriv: {tried.stderr.strip()}")
    rows = ctx.ebeam.ok("list", "-j", prefix=prefix).json()["data"]
    check(any(r["os_pid"] == ctx.node.os_pid and r["supported"] for r in rows), f"list: {rows}")
    with ctx.workload("cpu_split"):
        result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 1, "-F", 499, "-f", "folded",
                               "-o", "-", prefix=prefix)
    check_equal(result.code, 0, str(result))
    check_in("cpu_split:gamma/2", result.out, "profile")


@case("a kernel without BTF: exit 5 and the reason; list still works; doctor says so", otp="one")
def no_btf(ctx):
    tried = subprocess.run([*NO_BTF, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        raise Skip(f"cannot hide the kernel's BTF: {tried.stderr.strip()}")
    result = ctx.ebeam.run("record", "-p", ctx.node.os_pid, "-d", 1, "-f", "folded", "-o", "-",
                           prefix=NO_BTF)
    check_equal(result.code, 5, str(result))
    check_in("BTF", result.err, "text of the refusal")
    rows = ctx.ebeam.ok("list", "-j", prefix=NO_BTF).json()["data"]
    check(any(r["os_pid"] == ctx.node.os_pid for r in rows), "list without BTF")
    doctor = ctx.ebeam.run("doctor", prefix=NO_BTF)
    check_equal(doctor.code, 5, str(doctor))
    check_in("BTF", doctor.out + doctor.err, "doctor")


# ---- CPUs that come and go -----------------------------------------------------------------------
#
# No CPU is taken offline.  What ebeam sees then is: the kernel's list of online CPUs, and events that
# the kernel has turned off.  Both can be brought about for ebeam alone.

ONLINE = "/sys/devices/system/cpu/online"
PERF_EVENT_IOC_DISABLE = 0x2401  # linux/perf_event.h
PIDFD_GETFD = 438


def followed(ctx, change, prefix=()):
    """A recording in which `change` is made after two of six seconds; CPU seconds of the node."""
    path = ctx.ebeam.file(".ebeam")
    process = ctx.ebeam.popen("record", "-p", ctx.node.os_pid, "-d", 30, "-F", 499, "-o", path,
                              prefix=prefix)
    ctx.cleanup(process.kill)
    with ctx.workload("proc_split"):
        while not perf_events(process.pid) and process.poll() is None:
            time.sleep(0.1)
        before = ctx.node.cpu_seconds()
        time.sleep(2)
        change(process.pid)
        time.sleep(4)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        used = ctx.node.cpu_seconds() - before
    check_equal(process.returncode, 0, err.decode())
    return ctx.ebeam.report(path), used


@case("a CPU that comes online while recording is sampled from then on", otp="one")
def cpu_comes(ctx):
    with open(ONLINE) as f:
        everything = f.read()
    if os.cpu_count() < 2:
        raise Skip("one CPU")
    listed = ctx.ebeam.file(".online")
    with open(listed, "w") as f:
        f.write("0\n")
    hidden = ("unshare", "--mount", "--propagation", "private", "sh", "-c",
              f'mount --bind {listed} {ONLINE} && exec "$@"', "sh")
    if subprocess.run([*hidden, "true"], capture_output=True).returncode != 0:
        raise Skip("the list of CPUs cannot be hidden")

    def come(_):
        with open(listed, "w") as f:
            f.write(everything)

    alone, _ = followed(ctx, lambda _: None, hidden)
    check("cpus_added" not in alone.counters, f"CPUs came: {alone.counters}")
    profile, _ = followed(ctx, come, hidden)
    check_equal(profile.counters.get("cpus_added"), os.cpu_count() - 1, "CPUs that came")
    check("ring_full" not in profile.counters, f"lost: {profile.counters}")
    check("cpus_unsampled" not in profile.counters, f"not sampled: {profile.counters}")


def perf_events(pid):
    directory, found = f"/proc/{pid}/fd", []
    for fd in os.listdir(directory):
        try:
            if os.readlink(os.path.join(directory, fd)) == "anon_inode:[perf_event]":
                found.append(int(fd))
        except OSError:
            pass  # closed meanwhile
    return found


@case("a CPU that was away for a moment: its event is dead, and a new one takes its place",
      otp="one")
def cpu_back(ctx):
    ctx.need_root()
    libc = ctypes.CDLL(None, use_errno=True)
    killed = []

    def turn_off(pid):
        pidfd = os.pidfd_open(pid)
        for fd in perf_events(pid):
            ours = libc.syscall(PIDFD_GETFD, pidfd, fd, 0)
            if ours < 0:
                raise Skip(f"pidfd_getfd: {os.strerror(ctypes.get_errno())}")
            # Some of them are of the uprobe: turning it off ends the watch on code, no more.
            fcntl.ioctl(ours, PERF_EVENT_IOC_DISABLE, 0)
            os.close(ours)
            killed.append(fd)
        os.close(pidfd)

    profile, used = followed(ctx, turn_off)
    check(len(killed) >= os.cpu_count(), f"events: {killed}")
    check_equal(profile.counters.get("cpus_added"), os.cpu_count(), "events made anew")
    # It went on: without that there would be a third of it.
    check(profile.samples / 499 > 0.5 * used, f"{profile.samples} samples of {used} s")


@case("make install and make uninstall: the program, its page and completions, and nothing left",
      otp="one", timeout=300)
def install(ctx):
    if not os.path.exists(os.path.join(TOP, "build", "ebeam")):
        raise Skip("nothing is built in build/")
    root = ctx.ebeam.file(".root")
    for target in ("install", "uninstall"):
        done = subprocess.run(["make", "--no-print-directory", target, f"DESTDIR={root}",
                               "PREFIX=/usr"], cwd=TOP, capture_output=True, text=True)
        check_equal(done.returncode, 0, f"make {target}: {done.stdout}{done.stderr}")
        files = {os.path.relpath(os.path.join(d, f), root): os.path.getsize(os.path.join(d, f))
                 for d, _, names in os.walk(root) for f in names}
        if target == "install":
            check_equal(len(files), 5, f"files: {files}")
            check(all(files.values()), f"an empty file: {files}")
            version = subprocess.run([os.path.join(root, "usr/bin/ebeam"), "version"],
                                     capture_output=True, text=True)
            check_in("ebeam", version.stdout, "the installed program")
        else:
            check_equal(files, {}, "files after uninstall")
