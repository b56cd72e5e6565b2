# SPDX-License-Identifier: BSD-2-Clause
"""The application environment: what application:get_all_env/1 says of every application; secrets
are masked, wherever they stand."""
import subprocess
import time

from cases_core import stop
from harness import case, check, check_equal, check_in
from reading import difference

SIDE_BY_SIDE = True

FLAGS = ("+S", "2:2")
SECRET = "hunter2"
# What is left of the secrets of env_zoo: as the node writes them, with other words for some.
MASKED = {
    "db_password": "***",
    "secret_key_base": "***",
    "Elixir.My.Repo": '[{username,"me"},{password,***},{pool_size,10}]',
    "deep": '[{a,{b,[#{c => {d,[{"Authorization",***}]}}]}}]',
    "tuple": "{password,***,***,***}",
    "url": '"amqp://me:***@host:5672/vhost"',
    "urls": '[<<"redis://:***@host/0">>,"https://host:443/me@x",<<"http://host:80/path">>]',
    "arguments": '["--password=***","token=***&x=1","--port=80"]',
    "document": r'<<"{\"user\":\"me\",\"password\":\"***\"}">>',
}
CHANGED = {*MASKED, "endpoint", "large"}


def zoo(ctx, **kwargs):
    node = ctx.new_node(flags=FLAGS, **kwargs)
    node.ask("env_zoo", "load")
    return node


def env(ctx, node, *args):
    return ctx.ebeam.ok("env", "-p", node.os_pid, "-j", *args).json()


@case("every key of every application, unmasked")
def every_key(ctx):
    node = zoo(ctx)
    expected = node.ask("env_zoo", "facts")
    answer = env(ctx, node, "--show-secrets")
    check_equal(list(answer["data"]), sorted(expected, key=str.encode), "applications")
    compared = 0
    for name, keys in expected.items():
        check_equal(list(answer["data"][name]), sorted(keys, key=str.encode), f"keys of {name}")
        for key, value in keys.items():
            check_equal(answer["data"][name][key], value, f"{name} {key}")
            compared += 1
    counters = answer["counters"]
    check_equal((counters["applications"], counters["keys"]), (len(expected), compared), "counters")
    check_equal([counters[c] for c in ("masked", "torn", "missing", "unreadable")], [0] * 4,
                "counters")
    print(f"    {len(expected)} applications, {compared} keys compared")


@case("masked: no secret is left, everything else is as the node has it")
def masked(ctx):
    node = zoo(ctx)
    expected = node.ask("env_zoo", "facts")
    result = ctx.ebeam.ok("env", "-p", node.os_pid, "-j")
    check(SECRET not in result.out, "a secret in the answer")
    data = result.json()["data"]
    check_equal({k: data["env_zoo"][k] for k in MASKED}, MASKED, "masked values")
    for key, value in (("secretKeyBase", "***"), ('<<"api-key">>', "***"), ('"auth_token"', "***"),
                       ("http", "[{port,4000}]")):
        check_in(f"{key} => {value}", data["env_zoo"]["endpoint"], "endpoint")
    check_in("token => ***", data["env_zoo"]["large"], "large")
    check_equal(data["env_zoo"]["large"].replace("***", SECRET), expected["env_zoo"]["large"],
                "a large map")
    compared = 0
    for name, keys in expected.items():
        for key, value in keys.items():
            if name != "env_zoo" or key not in CHANGED:
                check_equal(data[name][key], value, f"{name} {key}")
                compared += 1
    check(result.json()["counters"]["masked"] >= len(CHANGED), "counter of masked values")
    for args in ((), ("--elixir",), ("--size", "17"), ("--size", "15"), ("--depth", "2"), ("--elixir", "-j")):
        text = ctx.ebeam.ok("env", "-p", node.os_pid, *args).out
        check("hunt" not in text, f"a secret with {args}")
        check_in("***", text, str(args))
    shown = ctx.ebeam.ok("env", "-p", node.os_pid, "--show-secrets").out
    check_in('db_password "hunter2"', " ".join(shown.split()), "--show-secrets")
    print(f"    {compared} values compared, {len(CHANGED)} masked")


@case("for people: headings with versions, chosen applications, Elixir, what is not there")
def for_people(ctx):
    node = zoo(ctx)
    result = ctx.ebeam.ok("env", "-p", node.os_pid)
    lines = result.out.splitlines()
    facts = node.ask("env_zoo", "facts")
    versions = node.ask("env_zoo", "versions")
    for name, keys in facts.items():
        if keys:
            check_in(f"{name} {versions[name]}" if name in versions else f"{name} (not loaded)",
                     lines, "heading")
    check_equal(lines[-1], "without environment: " +
                ", ".join(sorted(n for n, keys in facts.items() if not keys)), "last line")
    check_in("--show-secrets", result.err, "stderr")
    some = ctx.ebeam.ok("env", "-p", node.os_pid, "env_not_loaded", "env_empty").out
    check_equal(some, "env_empty 0.1\n  (nothing)\n\nenv_not_loaded (not loaded)\n  some  thing\n",
                "two applications")
    check_equal(list(env(ctx, node, "kernel", "env_zoo")["data"]), ["env_zoo", "kernel"], "-j")
    elixir = ctx.ebeam.ok("env", "-p", node.os_pid, "env_zoo", "--elixir").out
    check_in('[username: ~c"me", password: ***, pool_size: 10]', " ".join(elixir.split()), "--elixir")
    check_in("  My.Repo  ", elixir, "--elixir")
    wrong = ctx.ebeam.run("env", "-p", node.os_pid, "kernl")
    check_equal(wrong.code, 1, str(wrong))
    check_in("did you mean 'kernel'", wrong.err, "advice")


@case("a reader that goes away is no error to be reported", otp="one")
def no_reader(ctx):
    node = zoo(ctx)
    for args in ("", "-j"):
        script = f"'{ctx.ebeam.path}' env -p {node.os_pid} --show-secrets {args} | true"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        check_equal(done.stderr, "", args)


@case("a stopped node: the same answer")
def stopped(ctx):
    node = zoo(ctx, name=f"env{ctx.otp}@127.0.0.1")
    expected = node.ask("env_zoo", "facts")
    stop(ctx, node.os_pid)
    check_equal(difference(env(ctx, node, "--show-secrets")["data"], expected), None, "data")


@case("environments that change: what does not is there, nothing is nonsense", alone=True)
def churn(ctx):
    node = zoo(ctx)
    expected = node.ask("env_zoo", "facts")
    node.start("env_zoo")
    deadline = time.monotonic() + 3
    runs = 0
    while time.monotonic() < deadline:
        answer = env(ctx, node, "--show-secrets")
        sure = not answer["counters"]["torn"] and not answer["counters"]["missing"]
        for name, keys in expected.items():
            for key, value in keys.items():
                if sure or key in answer["data"].get(name, {}):
                    check_equal(answer["data"][name][key], value, f"{name} {key}")
        runs += 1
    check(runs >= 3, f"only {runs} runs")
    print(f"    {runs} runs, {node.stop('env_zoo')['rounds']} rounds of the node")
