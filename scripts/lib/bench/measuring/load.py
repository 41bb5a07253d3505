"""The load generator: wrk, with requests from a file."""
import json
import os
import subprocess
from dataclasses import dataclass

from .suite import APPLICATION, Failed

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requests.lua")
CONNECTIONS = 64


@dataclass
class Load:
    """What a load met. Latencies are milliseconds."""

    requests: int
    rate: float
    p50: float
    p99: float

    @property
    def tail(self):
        return self.p99 / self.p50


def write_requests(path, requests):
    """Writes what `wrk` sends, in turn: tuples of method, path and body; the path begins with the mount."""
    with open(path, "w", encoding="utf-8") as file:
        for method, target, body in requests:
            file.write(f"{method}\t{target}\t{body}\n")


def gets(paths):
    return [("GET", path, "") for path in paths]


def wrk(port, requests, seconds, connections=CONNECTIONS, headers=()):
    """Sends the requests of a file at that many connections, with further headers such as "Accept-Encoding: gzip".

    Raises Failed when an answer is missing or none of success.
    """
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s",
         "-H", f"X-Parse-Application-Id: {APPLICATION}", "-H", "Content-Type: application/json",
         *(part for header in headers for part in ("-H", header)),
         "-s", SCRIPT, f"http://127.0.0.1:{port}", "--", requests],
        env=os.environ | {"BENCH_CONNECTIONS": str(connections)}, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("figures ")), None)
    if done.returncode or line is None:
        raise Failed(f"wrk failed: {(done.stderr or done.stdout).strip()[-500:]}")
    figures = json.loads(line.removeprefix("figures "))
    if figures["errors"] or not figures["requests"]:
        raise Failed(f"{figures['errors']} of {figures['requests']} answers were missing or none of success")
    return Load(
        figures["requests"], figures["requests"] / (figures["microseconds"] / 1e6), figures["p50"] / 1000,
        figures["p99"] / 1000)
