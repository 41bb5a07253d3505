"""Cloud code: a function, a trigger before a write, classes without triggers, and the memory of its processes."""
import contextlib
import json
import os
import tempfile
import time

from measuring import load, machine
from measuring.figures import Target, Workload
from measuring.suite import Failed
from measuring.turns import say
from processes import QUIET_SECONDS
from writes import note

CODE = """
Parse.Cloud.define('hello', (request) => `Hello ${request.params.name}`);
Parse.Cloud.beforeSave('BenchMarked', (request) => { request.object.set('marked', true); });
"""
BODIES = 1000
START_SECONDS = 30


def cloud(turns):
    """Figures with code beside figures of the same suite without it."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="satchel-bench-code.", dir="/tmp"))
        with open(os.path.join(folder, "main.js"), "w", encoding="utf-8") as file:
            file.write(CODE)
        plain = stack.enter_context(turns.suite(demo=False))
        suite = stack.enter_context(turns.suite({"SATCHEL_CLOUD_CODE": folder}, demo=False))
        wait_for_code(suite)
        yield from functions(turns, suite)
        yield from writes(turns, suite)
        yield from without_triggers(turns, suite, plain)
        time.sleep(QUIET_SECONDS)
        yield Workload(
            "cloud-memory", "memory (PSS) of an idle pool of two Node processes", unit="MB", better="less",
            rounds=[machine.pss_megabytes(node_processes(suite))], target=Target(130))


def wait_for_code(suite):
    """Until the function answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return suite.call("POST", "/functions/hello", {"name": "you"})
        except Failed:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


def node_processes(suite):
    """The children of `cloud`."""
    found = machine.children(suite.pids["cloud-1"])
    if len(found) != 2:
        raise Failed(f"cloud has {len(found)} processes and not two")
    return found


def functions(turns, suite):
    """A function that answers a text, at many connections and at one."""
    path = suite.path("hello.requests")
    load.write_requests(path, [
        ("POST", "/parse/functions/hello", json.dumps({"name": f"customer {number}"})) for number in range(BODIES)])
    many = Workload(
        "cloud-hello", "a function of cloud code that answers a text, 64 connections", target=Target(4000, "least"))
    turns.measure(many, suite, lambda: load.wrk(suite.port, path, turns.seconds))
    yield many
    one = Workload(
        "cloud-hello-p50", "the same, one connection: p50", unit="ms", better="less", target=Target(1))
    for _ in range(turns.rounds):
        one.rounds.append(load.wrk(suite.port, path, turns.seconds, 1).p50)
    say(f"  {one.name}: {one.value:.2f} ms")
    yield one


def writes(turns, suite):
    """Creates in a class whose beforeSave sets a field, against creates in a class without triggers: one connection."""
    paths = {name: requests(suite, name) for name in ("BenchMarked", "BenchPlain")}
    added = Workload(
        "cloud-before-save", "what a beforeSave that sets a field adds to a create, one connection: p50", unit="ms",
        better="less", target=Target(1))
    for turn in range(turns.rounds):
        names = sorted(paths, reverse=turn % 2 == 1)
        took = {name: load.wrk(suite.port, paths[name], turns.seconds, 1).p50 for name in names}
        added.rounds.append(took["BenchMarked"] - took["BenchPlain"])
    say(f"  {added.name}: {added.value:.2f} ms")
    yield added


def without_triggers(turns, suite, plain):
    """Creates in a class without triggers, against a suite without cloud code."""
    ours, theirs = requests(suite, "BenchPlain"), requests(plain, "BenchPlain")
    workload = Workload(
        "cloud-without-triggers",
        "durable creates of a class without triggers, where there is cloud code, 64 connections",
        limit="the same without cloud code", target=Target.share(0.95))
    turns.finer().measure(
        workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds),
        lambda: load.wrk(plain.port, theirs, turns.seconds).rate)
    yield workload


def requests(suite, class_name):
    """The file of creates of a class."""
    path = suite.path(f"{class_name}.requests")
    load.write_requests(path, [
        ("POST", f"/parse/classes/{class_name}", json.dumps(note(number))) for number in range(BODIES)])
    return path
