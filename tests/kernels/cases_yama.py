# SPDX-License-Identifier: BSD-2-Clause
"""kernel.yama.ptrace_scope, from 0 to 3, which cannot be taken back before the next boot."""
import os

from cases_privileges import run
from ebeam import as_nobody
from harness import Skip, case, check, check_equal, check_in

SCOPE = "/proc/sys/kernel/yama/ptrace_scope"


@case("scopes 1 and 2 leave all to CAP_SYS_PTRACE; 3 nothing to anybody, and that is said", otp="one")
def scopes(ctx):
    # On a host it would last until it is booted again.
    if not os.path.abspath(__file__).startswith("/ebeam/tests/kernels/") or not os.path.exists(SCOPE):
        raise Skip("only in a guest of tools/kernel-matrix, whose kernel has Yama")
    node = ctx.node
    for scope in (1, 2):
        with open(SCOPE, "w") as f:
            f.write(f"{scope}\n")
        result = run(ctx, "ps", as_nobody("CAP_SYS_PTRACE"), node)
        check_equal(result.code, 0, str(result))
    with open(SCOPE, "w") as f:
        f.write("3\n")
    for prefix in ((), as_nobody("CAP_SYS_PTRACE")):
        result = run(ctx, "ps", prefix, node)
        check_equal(result.code, 4, str(result))
        check_in("kernel.yama.ptrace_scope is 3", result.err, "why")
        check("as root" not in result.err, "nobody is told to be root")
