# SPDX-License-Identifier: BSD-2-Clause
"""What goes wrong at night: nodes with one incident each, whose own log is the truth.  `ebeam diagnose` names it
first, and the command for it shows it, with default options.  More of diagnose: theme `diagnose`; busy
connections: dist/busy; nodes that hang: theme `hung`; containers: theme `host`; who calls a function: `callers`."""
from cases_diagnose import Diagnosis
from harness import case



@case("many timers: how many, and who will get their messages")
def timers(ctx):
    d = Diagnosis(ctx, "timers")
    truth = d.node.ask("incidents", "log", "timers")
    d.check_first("timers", " timers wait to send a message",
                  f"{truth['own']:,} of them to {truth['pid']} incident_timers",
                  f"{truth['named']:,} of them to {truth['named_pid']} incident_named",
                  f"inspect -p {d.node.os_pid} '{truth['pid']}'")
