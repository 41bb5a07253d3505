"""The work of scripts/bench: measures Satchel next to the libraries it is built on, and compares two runs.

Needs python3 and nothing else; scripts/bench sees to wrk, nginx, chromium and satchel-bench. What drives the browser
(Playwright) is among the tests' peers.
"""
import argparse
import datetime
import json
import os
import platform
import signal
import subprocess
import sys

import checkouts
import cloud
import dashboard
import desk
import files
import first_build
import growth
import live
import load_limit
import moves
import postgresql
import processes
import reads
import search
import signin
import static
import storefront
import writes
from measuring import compare, machine, table
from measuring.figures import Workload
from measuring.suite import Failed
from measuring.turns import Turns, say

GROUPS = {
    "memory": processes.memory, "start": processes.start, "read": reads.cold, "cached": reads.cached,
    "me": reads.own_account, "metrics": reads.metering, "write": writes.write, "bulk": writes.bulk, "checkout": checkouts.checkout,
    "file": files.file,
    "signin": signin.sign_in, "events": writes.events, "growth": growth.growth,
    "cloud": cloud.cloud, "live": live.live, "static": static.static, "dashboard": dashboard.dashboard,
    "desk": desk.desk, "search": search.search, "storefront": storefront.storefront,
    "postgresql": postgresql.postgresql, "move-in": moves.move_in,
    "load-limit": load_limit.load_limit, "first-build": first_build.first_build,
}


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--root", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--set", action="append", default=[], metavar="SATCHEL_NAME=VALUE", dest="settings")
    parser.add_argument("groups", nargs="+", choices=[*GROUPS, "all"], metavar="GROUP")
    given = parser.parse_args()
    if any(not setting.startswith("SATCHEL_") or "=" not in setting for setting in given.settings):
        parser.error("--set takes SATCHEL_NAME=VALUE")
    return given


def measured(name, turns):
    """The workloads of a group. A failure becomes a workload without figures, and the other groups continue."""
    say(f"== {name}")
    time = machine.ProcessorTime()
    found = []
    try:
        for workload in GROUPS[name](turns):
            workload.steal = workload.steal or time.steal()
            found.append(workload)
    except Failed as failure:
        say(f"  {failure}")
        found.append(Workload(f"{name}-failed", name, problem=" ".join(str(failure).split())[:300]))
    return found


def description(turns, root):
    """The conditions of a run, so that only runs of the same conditions are compared."""
    revision = subprocess.run(
        ["git", "-C", root, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return {
        "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "revision": revision.stdout.strip(), "machine": {"processors": os.cpu_count(), "kernel": platform.release()},
        "seconds": turns.seconds, "rounds": turns.rounds, "settings": turns.settings,
    }


def run(given):
    settings = dict(setting.split("=", 1) for setting in given.settings)
    turns = Turns(
        given.root, given.bin, float(os.environ.get("BENCH_SECONDS", "3")), int(os.environ.get("BENCH_ROUNDS", "5")),
        settings)
    names = list(GROUPS) if "all" in given.groups else given.groups
    workloads = [workload for name in names for workload in measured(name, turns)]
    print(table.report(workloads))
    if "all" in given.groups:
        print("\n" + table.goals(workloads))
    if given.json:
        members = description(turns, given.root) | {"workloads": [workload.as_json() for workload in workloads]}
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(members, file, indent=1)
            file.write("\n")
    return 1 if any(workload.problem for workload in workloads) else 0


def main():
    if sys.argv[1:2] == ["compare"]:
        if len(sys.argv) != 4:
            sys.exit("usage: scripts/bench compare A.json B.json")
        try:
            print(compare.compare(sys.argv[2], sys.argv[3]))
        except compare.Unreadable as problem:
            sys.exit(f"bench: {problem}")
        return 0
    # An exception, so that suites are stopped and their data is removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return run(arguments())


if __name__ == "__main__":
    sys.exit(main())
