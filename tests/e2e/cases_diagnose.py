# SPDX-License-Identifier: BSD-2-Clause
"""`ebeam diagnose`: nodes with something wrong, by the workload `incidents`, which must be found with who
and where; and nodes with nothing wrong.  Single incidents, with the command that shows more: theme `incidents`; busy
ports: port/pipes; busy connections: dist/busy."""
import html.parser
import signal
import time

from cases_hung import kill
from harness import Skip, case, check, check_equal, check_in, check_near

SIDE_BY_SIDE = IN_TURN = True

FLAGS = ("+S", "2:2", "+SDio", "4", "+SDcpu", "2")
# Other cases run meanwhile: that is true, and no fault of the node.
OF_THE_HOST = ("cpu_short", "cpu_throttled")
FIELDS = {"id", "severity", "certainty", "weight", "title", "evidence", "commands"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.text, self.sections = [], []

    def handle_data(self, data):
        self.text.append(data)

    def handle_starttag(self, tag, attrs):
        if tag == "section":
            self.sections.append(dict(attrs)["class"])


class Diagnosis:
    def __init__(self, ctx, *incidents, node=None, flags=FLAGS, seconds="2", settle=1):
        self.node = node or ctx.new_node(flags=flags)
        if not node:
            ctx.cleanup(kill, self.node)
        self.pids = []
        for incident in incidents:
            self.pids += self.node.start("incidents", incident, settle=settle)["pids"]
        self.ctx, self.repeated = ctx, False
        self.diagnose(seconds)

    def diagnose(self, seconds):
        ctx = self.ctx
        said = ctx.ebeam.ok("diagnose", "-p", self.node.os_pid, "-d", seconds, "-j").json()["data"]
        check(float(seconds) * 0.9e9 <= said["duration_ns"] <= float(seconds) * 3e9, f"duration: {said}")
        weights = [f["weight"] for f in said["findings"]]
        check_equal(weights, sorted(weights, reverse=True), "weights, heaviest first")
        for f in said["findings"]:
            check_equal(set(f), FIELDS, f"fields of {f}")
            check_equal(f["severity"], "critical" if f["weight"] >= 80 else
                        "warning" if f["weight"] >= 40 else "note", f"severity of {f}")
            check(f["evidence"] and f["commands"], f"evidence and commands of {f}")
        # Few samples of a node that hardly gets a CPU: what they lack is searched for once more, for longer.
        self.short = any(f["id"] in (*OF_THE_HOST, "few_samples") for f in said["findings"])
        self.all = [f for f in said["findings"] if f["id"] not in OF_THE_HOST]
        self.limits = {x["what"]: x["limit"] for x in said["limits"]}
        self.ids = [f["id"] for f in self.all]
        print(self.ids, flush=True)

    def check_found(self, name, *texts, severity=None, note=False):
        """It was found, and says all of this; note: it may be no more than that, on a slow machine."""
        found = [f for f in self.all if f["id"] == name]
        if not found and self.short and not self.repeated:
            self.repeated = True
            self.diagnose("10")
            found = [f for f in self.all if f["id"] == name]
            if not found and "few_samples" in self.ids:
                raise Skip(f"the host had no CPU for samples: {self.all}")
        check(found, f"{name} was not found: {self.all}")
        said = "\n".join(line for f in found for line in (f["title"], *f["evidence"], *f["commands"]))
        for text in texts:
            check_in(text, said, f"what is said of {name}")
        if severity:
            check_equal(found[0]["severity"], severity, f"severity of {found[0]}")
        check(note or found[0]["severity"] != "note", f"severity of {found[0]}")

    def check_first(self, name, *texts, **kwargs):
        self.check_found(name, *texts, **kwargs)
        # A host that is short of CPU makes notes of its own: timers that are late, slices that are long.
        first = [f["id"] for f in self.all if f["id"] == name or not (self.short and f["severity"] == "note")]
        check_equal(first[:1], [name], f"the first finding of {self.all}")


@case("several things at once are all found, with who and where, a deadlock first", in_pairs=True)
def several(ctx):
    d = Diagnosis(ctx, "ets", "deadlock", "mailbox", "bottleneck", "restarts", "atoms", "memory", settle=0.5,
                  seconds="4")
    a, b, server, slow, owner = (
        f"{d.node.ask('incidents', 'pid', name)} {name}" for name in
        ("incident_a", "incident_b", "incident_server", "incident_slow", "incident_owner"))
    d.check_first("deadlock", "deadlock of 2 processes", f"{a} waits for the answer of {b}, in gen:do_call/4",
                  f"{b} waits for the answer of {a}, in gen:do_call/4", "dump", severity="critical")
    # Mostly timer:sleep/1, but on a busy host they may be about to run.
    d.check_found("mailbox_grows", f"the mailbox of {slow} has", f"{slow} is ", "--mailbox")
    d.check_found("bottleneck", f"processes wait for the answer of {server}", f"{server} is ")
    d.check_found("restart_loop", "incident_worker is started again and again", "incident_sup starts these processes")
    d.check_found("atoms_grow", "a new atom: incident_")
    d.check_found("ets_grows", "the ETS table incident_table grows", f"its owner is {owner}", note=True)
    d.check_found("memory_grows", "processes: ", "the heap of <", "workload:worker/4 grew by", note=True)


@case("a node whose schedulers are all stuck")
def stuck(ctx):
    d = Diagnosis(ctx, "stuck", settle=4)  # it cannot say when it is
    d.check_first("schedulers_stuck", "all 2 schedulers are stuck", "normal scheduler 1 ran", "normal scheduler 2 ran",
                  "erts_debug:set_internal_state/2", "and still does", severity="critical")


@case("binaries that are kept: by whom")
def binaries(ctx):
    d = Diagnosis(ctx, "binaries")
    d.check_found("binaries", "incident_holder refers to 150.0 MiB in 300 off-heap binaries",
                  " of these 150.0 MiB: its terms are parts of binaries")
    check_equal({f["certainty"] for f in d.all if f["id"] == "binaries"}, {"certain"}, "certainty")


@case("more to run than schedulers, and a limit that is near")
def limits(ctx):
    d = Diagnosis(ctx, "limit", "run_queue", flags=("+S", "2:2", "+P", "1024"))
    limit = d.node.ask("incidents", "process_limit")
    check_equal(d.limits["processes"], limit, "the limit of processes")
    d.check_found("limit", "% of the limit of processes are used", f" of {limit:,}", severity="critical")
    d.check_found("run_queues", "processes waited for each scheduler")


@case("schedulers that are offline do not hide that the others are stuck, taken or not enough",
      long=True)
def offline(ctx):
    flags = ("+S", "8:2", "+SDcpu", "8:2")
    d = Diagnosis(ctx, "run_queue", flags=flags)
    d.check_found("run_queues", "processes waited for each scheduler")
    waited, = [e for f in d.all for e in f["evidence"] if "waited for each scheduler" in e]
    # 150 processes that never wait, two of which run.
    check_near(float(waited.split()[0]), 74, 8, waited)
    d = Diagnosis(ctx, "dirty_pool", flags=flags)
    d.check_found("dirty_pool_taken", "all 2 dirty CPU schedulers are busy")
    d = Diagnosis(ctx, "stuck", flags=flags)
    d.check_found("schedulers_stuck", "all 2 schedulers are stuck", severity="critical")


@case("nodes with nothing wrong have nothing above a note, and text says so")
def healthy(ctx):
    for incidents in (["healthy"], ["busy"], ["healthy", "busy"], []):
        d = Diagnosis(ctx, *incidents)
        check([f for f in d.all if f["severity"] != "note"] == [], f"{incidents}: {d.all}")
    text = ctx.ebeam.ok("diagnose", "-p", d.node.os_pid, "-d", "1").out.splitlines()
    check_in("nonode@nohost", text[0], "the heading")
    check_in("samples of schedulers", text[0], "the heading")
    check(text[1].startswith("usage of limits: processes "), f"text: {text}")
    check(len(text) > 2 and (text[2].startswith("nothing found") or "short of CPU" in text[3]), f"text: {text}")


@case("text: each finding with severity, evidence and a command that runs", otp="one")
def text(ctx):
    node = ctx.new_node(flags=FLAGS)
    ctx.cleanup(kill, node)
    node.start("incidents", "deadlock", settle=1)
    lines = ctx.ebeam.ok("diagnose", "-p", node.os_pid, "-d", "1").out.splitlines()
    check_in("critical: deadlock of 2 processes (certain)", lines, "the finding")
    more = [line.split("more: ebeam ", 1)[1] for line in lines if "more: ebeam dump" in line]
    check_equal(more, [f"dump -p {node.os_pid} --waits"], "the command")
    check_in("DEADLOCK: 2 processes wait for each other", ctx.ebeam.ok(*more[0].split()).out, "what it shows")
    page = ctx.ebeam.ok("diagnose", "-p", node.os_pid, "-d", "1", "-f", "html", "-o", "-").out
    parsed = Page()
    parsed.feed(page)
    for wanted in ("deadlock of 2 processes", "incident_a waits for the answer of <", f"ebeam dump -p {node.os_pid}"):
        check_in(wanted, "".join(parsed.text), "the text of the page")
    check_equal(parsed.sections[0], "critical", "the first section of the page")
    long = ctx.ebeam.popen("diagnose", "-p", node.os_pid, "-d", "10m", text=True)
    time.sleep(2)
    long.send_signal(signal.SIGINT)
    out, _ = long.communicate(timeout=30)
    check_equal(long.returncode, 0, "exit code after Ctrl-C")
    check_in("critical: deadlock of 2 processes (certain)", out.splitlines(), "what it found until Ctrl-C")
    wrong = ctx.ebeam.run("diagnose", "-p", node.os_pid, "-d", "11m")
    check_equal(wrong.code, 2, "exit code of -d 11m")
