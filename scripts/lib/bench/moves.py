"""A move from another server: the tool's run from a hosted Parse's export into the suite's staging tables."""
import json
import os
import subprocess
import time
from collections import namedtuple

from measuring import limits
from measuring.figures import Target, Workload
from measuring.suite import APPLICATION, Failed
from measuring.turns import say

ROWS = int(os.environ.get("BENCH_ROWS", "200000"))
DOCUMENT_BYTES = 1000
ROWS_A_COMMIT = 5000
CLASS = "BenchMoved"
TIME = "2020-05-17T08:30:00.000Z"

Figure = namedtuple("Figure", "rate requests")


def move_in(turns):
    """Rows of 1 KB from a file until all are staged, against plain SQLite that inserts rows of that size."""
    with turns.suite(demo=False) as suite:
        folder = suite.path("export")
        os.makedirs(folder)
        say(f"  writes {ROWS} rows")
        write_export(os.path.join(folder, f"{CLASS}.json"))
        workload = Workload(
            "move-in", f"{ROWS:,} rows of 1 KB from a JSON export into staging",
            limit=f"plain SQLite, {ROWS_A_COMMIT} rows a commit", target=Target.share(0.4))
        turns.measure(
            workload, suite, lambda: staged(turns, suite, folder),
            lambda: limits.raw_sqlite(turns, suite.folder, ROWS_A_COMMIT, DOCUMENT_BYTES))
        yield workload


def staged(turns, suite, folder):
    """Drops the rows of the last run, and measures another."""
    if suite.call("GET", "/moves")["phase"] != "empty":
        tool(turns, suite, "--undo")
    start = time.perf_counter()
    tool(turns, suite, folder)
    seconds = time.perf_counter() - start
    rows = sum(entry["rows"] for entry in suite.call("GET", "/moves")["classes"])
    if rows != ROWS:
        raise Failed(f"{rows} of {ROWS} rows are staged")
    return Figure(ROWS / seconds, ROWS)


def tool(turns, suite, *arguments):
    variables = {
        "SATCHEL_MOVE_URL": suite.url, "SATCHEL_MASTER_KEY": suite.master_key, "SATCHEL_APP_ID": APPLICATION}
    done = subprocess.run(
        [f"{turns.binaries}/satchel-move-in", *arguments], env=suite.environment | variables, cwd=suite.folder,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"satchel-move-in failed: {(done.stderr or done.stdout).strip()[-500:]}")


def write_export(path):
    with open(path, "w", encoding="ascii") as file:
        file.write('{"results":[\n')
        for number in range(ROWS):
            file.write((",\n" if number else "") + json.dumps(row(number), separators=(",", ":")))
        file.write("\n]}\n")


def row(number):
    # Knuth's multiplicative hash: ids in another order than the rows.
    members = {
        "objectId": f"row{number * 2654435761 % 2**32:010}", "createdAt": TIME, "updatedAt": TIME,
        "name": f"Row {number}", "rank": number, "price": number % 1000 / 4, "active": number % 3 > 0,
        "brand": {"__type": "Pointer", "className": "BenchBrand", "objectId": f"brand{number % 100}"}, "tags": ["a", "b"],
    }
    # 12 bytes of `,"detail":""`.
    missing = DOCUMENT_BYTES - len(json.dumps(members, separators=(",", ":"))) - 12
    return members | {"detail": ("A row of a benchmark. " * 50)[:missing]}
