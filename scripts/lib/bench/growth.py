"""A filtered, sorted page of a class of a million rows, against one of ten thousand."""
import concurrent.futures
import os
import time

from measuring import load
from measuring.figures import Target, Workload
from measuring.suite import Failed, find_path
from measuring.turns import say

ROWS_MANY, ROWS_FEW = int(os.environ.get("BENCH_ROWS", "1000000")), 10_000
GROUPS = 50
ROWS_AT_ONCE = 5000
IMPORTS_AT_ONCE = 3
# Seconds for a service to notice frequent queries and to build an index for them.
WARM_SECONDS = int(os.environ.get("BENCH_WARM_SECONDS", "300"))
NEAR = 3


def growth(turns):
    """The time of a page, one request at a time. A warm-up comes first; its duration is printed."""
    with turns.suite({"SATCHEL_READ_CACHE": "0"}, demo=False) as suite:
        few, many = Shelf(suite, ROWS_FEW), Shelf(suite, ROWS_MANY)
        warm = warm_up(few, many)
        workload = Workload(
            "growth", f"page of 20 by group and name of {ROWS_MANY:,} rows, cache off", unit="ms", better="less",
            limit=f"{ROWS_FEW:,} rows", target=Target(NEAR, of="ratio"),
            note=f"{many.seconds:.0f} s to fill, {warm}")
        turns.measure(
            workload, suite, lambda: many.pages(turns.seconds), lambda: few.pages(turns.seconds).p50,
            figure=lambda load: load.p50)
        yield workload


def warm_up(few, many):
    """Asks for the page until the large class is as quick as it is expected to be, or the time is over."""
    start = time.monotonic()
    for shelf in (few, many):
        shelf.ask_as_shop()
    while True:
        try:
            is_quick = many.pages(1).p50 <= NEAR * few.pages(1).p50
        except Failed:  # it took so long that it was given up
            is_quick = False
        passed = time.monotonic() - start
        if is_quick:
            return f"{passed:.0f} s until the page was quick"
        if passed > WARM_SECONDS:
            return f"not quick after {passed:.0f} s"


class Shelf:
    """A class with so many rows in groups of one size."""

    def __init__(self, suite, rows):
        self.suite, self.rows = suite, rows
        self.name = f"BenchRows{rows}"
        self.requests = suite.path(f"{self.name}.requests")
        self.paths = [
            find_path(self.name, {"group": f"group {group}"}, order="name", limit=20) for group in range(GROUPS)]
        load.write_requests(self.requests, load.gets("/parse" + path for path in self.paths))
        start = time.monotonic()
        self.fill()
        self.seconds = time.monotonic() - start

    def fill(self):
        say(f"  fills {self.name}")
        parts = range(0, self.rows, ROWS_AT_ONCE)
        # The first alone: it makes the class.
        self.load(parts[0])
        with concurrent.futures.ThreadPoolExecutor(IMPORTS_AT_ONCE) as pool:
            for done, _ in enumerate(pool.map(self.load, parts[1:]), 2):
                if done % 40 == 0:
                    say(f"  {done * ROWS_AT_ONCE} rows")

    def load(self, start):
        rows = [row(number) for number in range(start, min(start + ROWS_AT_ONCE, self.rows))]
        self.suite.call("POST", f"/import/{self.name}", rows)

    def ask_as_shop(self):
        """Asks for some pages with the master key: an index is made for what the shop itself needs, or clients of many
        networks, and wrk is one client."""
        for path in self.paths[:10]:
            self.suite.call("GET", path)

    def pages(self, seconds):
        """Pages of all groups, asked for one at a time."""
        return load.wrk(self.suite.port, self.requests, seconds, connections=1)


def row(number):
    # Knuth's multiplicative hash: names in no order of their making, and each its own.
    return {
        "name": f"Row {number * 2654435761 % 2**32:010}", "group": f"group {number % GROUPS}", "rank": number,
        "detail": "A row of a benchmark. " * 8,
    }
