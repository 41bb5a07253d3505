"""The suite as processes: memory and start."""
import json
import os
import time

import reads
import writes
from checkouts import SETTINGS, Buyers
from measuring import load
from measuring.figures import Target, Workload
from measuring.turns import say

# Seconds for processes to return unused memory.
QUIET_SECONDS = int(os.environ.get("BENCH_QUIET_SECONDS", "20"))


def memory(turns):
    """PSS of all processes, the process manager too: after the start, and after each kind of load."""
    with turns.suite(SETTINGS) as suite:
        time.sleep(QUIET_SECONDS)
        yield workload("memory-idle", "memory (PSS) of all processes, idle", suite.pss_megabytes(), 90)
        everything(turns, suite)
        time.sleep(QUIET_SECONDS)
        yield workload("memory-loaded", "memory (PSS) of all processes, after load", suite.pss_megabytes(), 140)


def workload(name, title, number, target):
    return Workload(name, title, unit="MB", better="less", rounds=[number], target=Target(target))


def everything(turns, suite):
    """Objects, pages, creates, events and checkouts, as long as one round each."""
    products = suite.find("Product", {"brand": {"$exists": True}}, limit=50, keys="brand")
    paths = [f"/parse/classes/Product/{product['objectId']}" for product in products]
    pages = ["/parse" + reads.page_path(product["brand"]["objectId"], 0) for product in products]
    loads = {
        "objects": load.gets(paths), "pages": load.gets(pages),
        "creates": [("POST", "/parse/classes/BenchNote", json.dumps(writes.note(1)))],
        "events": [("POST", "/parse/events/BenchOpened", json.dumps({"dimensions": {"source": "bench"}}))],
    }
    for name, requests in loads.items():
        say(f"  {name}")
        path = suite.path(f"{name}.requests")
        load.write_requests(path, requests)
        load.wrk(suite.port, path, turns.seconds)
    say("  checkouts")
    Buyers(turns, suite).buy()


def start(turns):
    """How long `scripts/up --no-build` takes with a shop that is there, until all is healthy."""
    with turns.suite() as suite:
        found = Workload(
            "start", "all healthy after scripts/up --no-build", unit="s", better="less", target=Target(2))
        for _ in range(turns.rounds):
            suite.down()
            found.rounds.append(suite.up())
            say(f"  start: {found.rounds[-1]:.2f} s")
        yield found
