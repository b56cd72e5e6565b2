# SPDX-License-Identifier: BSD-2-Clause
"""Hosts that lack something: privileges, parts of the kernel; and the installation on a host."""
import os
import subprocess

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
