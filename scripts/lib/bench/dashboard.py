"""The dashboard in a browser: scrolling in the data browser through a million rows, and what the first view weighs."""
import json
import os
import subprocess
import time

from growth import ROWS_MANY, Shelf
from measuring.figures import Target, Workload, percentile
from measuring.suite import Failed
from measuring.turns import say

# Pages of the keyboard for each order, half of them at the top and half of them deep inside.
STEPS = int(os.environ.get("BENCH_STEPS", "200"))
# The row down to which it goes from page to page of the server in between.
DEEP_ROW = min(int(os.environ.get("BENCH_DEEP_ROW", "20000")), ROWS_MANY - 1000)
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dashboard_visit.py")
# An index of a million rows takes seconds, in which nothing else is written.
INDEX_SECONDS = 120
STEP_MILLISECONDS, TAB_MEGABYTES, FIRST_VIEW_KILOBYTES = 100, 150, 150
ORDERS = {"newest": "the newest first", "indexed": "sorted by a field with an index"}
MOVES = {"page": "a page of the keyboard", "next": "a page of the server"}
FIGURES = {"median": 0.5, "p95": 0.95, "max": 1}


def dashboard(turns):
    """The times until rows are painted, the memory of the tab after all of that, and the bytes of the first view."""
    python = os.path.join(turns.root, ".build", "peers", "bin", "python")
    if not os.path.exists(python):
        raise Failed("Playwright is missing in .build/peers; scripts/test installs it")
    with turns.suite() as suite:
        shelf = Shelf(suite, ROWS_MANY)
        say(f"  {shelf.seconds:.0f} s to fill it; makes an index")
        make_index(suite, shelf.name)
        visits = []
        for number in range(turns.rounds):
            visits.append(visit(python, turns.root, suite, shelf.name))
            say(f"  visit {number + 1}: " + ", ".join(
                f"{order} {move} {percentile(times(visits[-1], order, move), 0.95):.0f} ms"
                for order in ORDERS for move in MOVES))
    yield from (scrolling(visits, order, move, name) for order in ORDERS for move in MOVES for name in FIGURES)
    yield from memory(visits)
    yield Workload(
        "dashboard-today", "the first view of today with its modules and answers, compressed", unit="KB",
        better="less", rounds=[one["today"] / 1000 for one in visits], target=Target(FIRST_VIEW_KILOBYTES))


def make_index(suite, class_name):
    """An index over `name`, and the wait for it."""
    end = time.monotonic() + INDEX_SECONDS
    try:
        suite.call("PUT", f"/schemas/{class_name}", {"className": class_name, "indexes": {"by_name": {"name": 1}}})
    except Failed as failure:
        say(f"  {failure}")  # Nobody waited for its end, which comes.
    while "by_name" not in suite.call("GET", f"/schemas/{class_name}").get("indexes", {}):
        if time.monotonic() > end:
            raise Failed("the index is not made")
        time.sleep(0.5)


def visit(python, root, suite, class_name):
    """What one browser measured, as `dashboard_visit.py` prints it."""
    with open(os.path.join(suite.data, "admin.password"), encoding="ascii") as file:
        password = file.read().strip()
    given = {
        "base": suite.url.removesuffix("/parse"), "password": password, "class": class_name, "steps": STEPS,
        "deep": DEEP_ROW, "orders": {"newest": "", "indexed": "name"},
    }
    done = subprocess.run(
        [python, "-B", SCRIPT, os.path.join(root, "Tests", "Peers", "pages")], input=json.dumps(given), capture_output=True,
        text=True, check=False)
    if done.returncode:
        raise Failed(f"the browser's visit failed: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout)
    if found["problems"]:
        raise Failed(f"the page has problems: {'; '.join(found['problems'])[:1000]}")
    return found


def times(one, order, move):
    """Milliseconds of each step of a visit."""
    return one["orders"][order][move]


def scrolling(visits, order, move, name):
    """One figure of the steps of one kind, of each visit."""
    return Workload(
        f"dashboard-{order}-{move}-{name}",
        f"{name} until {MOVES[move]} is painted, {ORDERS[order]}, {ROWS_MANY:,} rows", unit="ms",
        better="less", rounds=[percentile(times(one, order, move), FIGURES[name]) for one in visits],
        target=Target(STEP_MILLISECONDS),
        note="" if name != "median" else f"{len(times(visits[0], order, move))} steps a visit, down to row "
        f"{min(one['orders'][order]['last'] for one in visits):,}")


def memory(visits):
    """The bound is of the whole process of the tab, of which the heap of JavaScript is a part."""
    yield Workload(
        "dashboard-memory", "memory (PSS) of the tab's process after all of that, garbage included", unit="MB",
        better="less", rounds=[one["pss"] for one in visits], target=Target(TAB_MEGABYTES),
        note=f"at most {max(one['rows'] for one in visits)} rows are elements at a time; an empty page has "
        f"{max(one['empty'] for one in visits):.0f} MB")
    yield Workload(
        "dashboard-memory-held", "the same after its garbage was collected", unit="MB", better="less",
        rounds=[one["held"] for one in visits], target=Target(TAB_MEGABYTES))
    yield Workload(
        "dashboard-heap", "JavaScript's heap in use before that, a part of it", unit="MB", better="less",
        rounds=[one["heap"] for one in visits])
