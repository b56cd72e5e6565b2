# SPDX-License-Identifier: BSD-2-Clause
"""-o FILE: the file is there when it is whole, and else as it was; why, and what to do, is said the
same way by all commands."""
import os
import threading

from harness import case, check, check_equal, check_in, shorten

SIDE_BY_SIDE = True
IN_TURN = True

SHORT = ("-d", "200ms")
WRITERS = (("dump", "-f", "html"), ("dump", "--waits", "-f", "text"), ("record", "-f", "svg", *SHORT),
           ("top", "-b", "-n", "1"), ("gc", *SHORT), ("msg", "-j", *SHORT),
           ("record", "--mode", "gc", "-f", "perfetto", *SHORT))
# A file system of one page, which the file that is there already fills.
FULL = """mkdir -p full && mount -t tmpfs -o size=4k none full && cd full &&
head -c 4096 /dev/zero >x || exit 99
"$@"; code=$?
ls -A; cmp -n 4096 x /dev/zero >&2; exit $code"""


def inside(script):
    return ("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh")


@case("a full disk: said with the way out, nothing is left behind, and the file is as it was", otp="one",
      timeout=180)
def full_disk(ctx):
    ctx.need_root()
    for words in WRITERS:
        result = ctx.ebeam.run(*words, "-p", ctx.node.os_pid, "-o", "x", prefix=inside(FULL))
        check_equal(result.code, 1, str(result))
        check_in("No space left on device. Make room (df, df -i), or write it elsewhere", result.err,
                 str(words))
        check_equal(result.out.splitlines()[-1:], ["x"], f"files after {words}: {result}")
        check("differ" not in result.err and "EOF" not in result.err, f"the old file: {result}")


@case("where no file can be made: said before anything is measured", otp="one")
def no_place(ctx):
    for path, why in (("/proc/x", "No file can be created in its directory"),
                      ("none/x", "Its directory does not exist"), ("/", "Give a file name with -o"),
                      ("n" * 300, "Choose a shorter name")):
        for words in (("record", "-f", "html", "-d", "1h"), ("events", "-d", "1h"), ("dump", "-f", "html")):
            result = ctx.ebeam.run(*words, "-p", ctx.node.os_pid, "-o", path)
            check_equal(result.code, 1, str(result))
            check_in(f"cannot write '{path}'", result.err, str(words))
            check_in(why, result.err, str(words))


@case("a pipe: written into as it is; a reader that goes away is reported, as it is not standard output",
      otp="one")
def fifo(ctx):
    def read(size):
        with open(path, "rb") as f:
            got.append(f.read(size))

    path, got = ctx.ebeam.file(".fifo"), []
    os.mkfifo(path)
    for size in (-1, 10):
        reader = threading.Thread(target=read, args=(size,))
        reader.start()
        result = ctx.ebeam.run("dump", "-p", ctx.node.os_pid, "-f", "html", "-o", path)
        reader.join()
        check_equal(result.code, 0 if size < 0 else 1, str(result))
    check(got[0].startswith(b"<!doctype html>") and got[0].rstrip().endswith(b"</html>"), shorten(got[0]))
    check_in("Broken pipe. The program that reads it has exited", result.err, "why")
    check(not os.path.isfile(path), "the pipe was replaced")
