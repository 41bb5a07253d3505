"""Runs satchel-load while Debian's Prometheus scrapes the suite, and compares what its queries return with the load's counts.

Prometheus has the configuration of compose/prometheus, with the suite's address. Exits 1 when a count differs by more than 1 %.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

CONFIGURATION = Path(__file__).resolve().parent.parent.parent.parent / "compose/prometheus"
DIFFERENCE_MAX = 0.01
# Prometheus scrapes every 15 s.
SCRAPE_SECONDS_MAX = 120
# For mails, which leave a queue after the answers to their requests.
SETTLE_SECONDS = 120
TIMES = "satchel_http_request_duration_seconds"
LISTS, PRODUCT = ("brands", "browse", "search", "history"), "product"
PRODUCT_ROUTE = 'method="GET",route="/classes/{className}/{objectId}",status="2xx"'
# So small that shoppers are refused, which is 4xx.
STOCK = 1
BATCH = 50
# As scripts/lib/load/Shoppers/Goods.swift reads the products before the run.
PAGE_SIZE, PRODUCTS_MAX = 1000, 100_000


class Prometheus:
    """A server on a free port, with its data in a temporary folder."""

    def __init__(self, suite):
        self.folder = tempfile.mkdtemp(prefix="satchel-prometheus-")
        shutil.copy(CONFIGURATION / "rules.yml", self.folder)
        text = (CONFIGURATION / "prometheus.yml").read_text(encoding="utf-8")
        Path(self.folder, "prometheus.yml").write_text(text.replace("127.0.0.1:1337", suite), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([
            "prometheus", f"--config.file={self.folder}/prometheus.yml", f"--storage.tsdb.path={self.folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=error"], stdin=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def value(self, query, at=None):
        """The one value of a query; 0 without one."""
        parameters = {"query": query} | ({} if at is None else {"time": f"{at:.3f}"})
        url = f"http://127.0.0.1:{self.port}/api/v1/query?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            result = json.load(answer)["data"]["result"]
        return float(result[0]["value"][1]) if result else 0.0

    def scrape(self, after):
        """Waits for a scrape that began after a time. Returns when it began."""
        end = time.monotonic() + SCRAPE_SECONDS_MAX
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit("prometheus ended")
            try:
                # `timestamp` of `up == 1`, which is no plain metric, would be the time of the query.
                scraped = self.value('timestamp(up{job="satchel"}) and up{job="satchel"} == 1')
            except OSError:
                scraped = 0
            if scraped > after:
                return scraped
            time.sleep(0.5)
        sys.exit("Prometheus did not scrape the suite")


class Counts:
    """What satchel-load counted, with the requests that it sends before the run."""

    def __init__(self, report, accounts):
        self.steps, self.errors, self.accounts = report["steps"], report["errors"], accounts
        self.setup_lists = 1 + min(report["products"] // PAGE_SIZE + 1, PRODUCTS_MAX // PAGE_SIZE)

    def sent(self, *steps):
        return sum(self.steps.get(step, {}).get("requests", 0) for step in steps)

    def answered(self, *steps):
        return sum(
            figures["requests"] - figures["errors"] - figures["refused"]
            for figures in (self.steps[step] for step in steps if step in self.steps))

    def failed(self, status):
        """Answers with an error whose status begins with a digit: `product: 503 with code 1`."""
        return sum(count for name, count in self.errors.items() if name.partition(": ")[2].startswith(status))

    def rows(self):
        """Names, counts and queries. In a query, `[]` marks where a metric gets the time of a scrape."""
        def requests(method, route):
            return f'{TIMES}_count{{method="{method}",route="{route}",status="2xx"}}[]'

        def calls(kind):
            return f'satchel_service_call_duration_seconds_count{{kind="{kind}"}}[]'

        refused = sum(figures["refused"] for figures in self.steps.values())
        checkouts, signups = self.answered("checkout"), self.sent("enter") + self.accounts
        lists, every = self.answered(*LISTS) + self.setup_lists, self.sent(*self.steps)
        return [
            ("lists, 2xx", lists, requests("GET", "/classes/{className}")),
            ("objects, 2xx", self.answered(PRODUCT), requests("GET", "/classes/{className}/{objectId}")),
            ("favourites, 2xx", self.answered("favourite"), requests("POST", "/classes/{className}")),
            ("sign-ups, 2xx", self.answered("enter") + self.accounts, requests("POST", "/users")),
            ("functions, 2xx", self.answered("bag", "checkout"), requests("POST", "/functions/{functionName}")),
            ("refused, 4xx", refused + self.failed("4"), f'{TIMES}_count{{status="4xx"}}[]'),
            ("failed, 5xx", self.failed("5"), f'{TIMES}_count{{status="5xx"}}[]'),
            ("all requests", every + self.setup_lists + self.accounts, f'{TIMES}_count{{route!~"/metrics|/health"}}[]'),
            ("reads through the cache", self.sent(*LISTS, PRODUCT) + self.setup_lists,
             'satchel_cache_reads_total{cache="reads",result=~"hits|misses"}[]'),
            ("calls of users: signup", signups, calls("users.signup.v1")),
            ("calls of bag: find", self.sent("history"), calls("bag.find.v1")),
            ("charges", checkouts, 'satchel_payments_total{kind="charges",outcome="succeeded"}[]'),
            ("mails", checkouts + self.accounts, "satchel_mails_total[]"),
        ]


def increase(query, since):
    """The exact increase of all samples since a scrape; `increase()` would extrapolate."""
    return f"sum({query.replace('[]', '')}) - (sum({query.replace('[]', f' @ {since:.3f}')}) or vector(0))"


def quantile(share, since):
    def buckets(at=""):
        return f"sum by (le) ({TIMES}_bucket{{{PRODUCT_ROUTE}}}{at})"

    return f"histogram_quantile({share}, {buckets()} - ({buckets(f' @ {since:.3f}')} or {buckets()} * 0)) * 1000"


def ask(options, method, path, body=None):
    """The answer to a request with the master key."""
    request = urllib.request.Request(
        options.url + path, None if body is None else json.dumps(body).encode(), {
            "X-Parse-Application-Id": "satchel", "X-Parse-Master-Key": os.environ["SATCHEL_MASTER_KEY"]}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def orders(options):
    """The placed orders in the data."""
    query = urllib.parse.urlencode({"where": '{"orderStatus":1}', "count": 1, "limit": 0})
    return ask(options, "GET", f"/classes/Order?{query}")["count"]


def lower_stock(options):
    """Gives each of the first products a small stock."""
    products = ask(options, "GET", f"/classes/Product?limit={PAGE_SIZE}&keys=stock")["results"]
    mount = urllib.parse.urlsplit(options.url).path
    for first in range(0, len(products), BATCH):
        ask(options, "POST", "/batch", {"requests": [
            {"method": "PUT", "path": f"{mount}/classes/Product/{product['objectId']}", "body": {"stock": STOCK}}
            for product in products[first:first + BATCH]]})


def is_near(one, other):
    return abs(one - other) <= DIFFERENCE_MAX * max(one, other)


def compare_counts(server, counts, since, until):
    """Prints a row for each count. Returns whether all agree."""
    agree = True
    for name, count, query in counts.rows():
        found = server.value(increase(query, since), until)
        agree &= is_near(count, found)
        print_row(name, f"{count:,}", f"{found:,.0f}", "" if is_near(count, found) else "DIFFERS")
    return agree


def compare_times(server, report, since, until):
    """Prints the times of objects. A quantile is known to its bucket, whose end is twice its begin. The gateway's time is at
    least half of the load generator's, which also has both ends of the connection and the generator's lateness, at most as
    much again at its end. The p99 also has delays of the machine, which have no bound: it is only printed.

    Returns whether the p50 agree.
    """
    agree = True
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        found, client = server.value(quantile(share, since), until), report["steps"][PRODUCT][f"{name}Milliseconds"]
        verdict = "not compared"
        if name == "p50":
            begin = 0.1
            while begin * 2 < found:
                begin *= 2
            agree = begin <= client <= 2 * (begin * 2 + report["dispatcherLateP99Milliseconds"])
            verdict = "" if agree else "DIFFERS"
        print_row(f"{name} of objects, ms", f"{client:,.1f}", f"{found:,.1f}", verdict)
    return agree


def print_row(*cells):
    print("{:<28}{:>12}{:>12}  {}".format(*cells).rstrip(), flush=True)


def settled(server, counts, since):
    """The first scrape after the load by which each mail has left its queue, or the last one within the patience."""
    _, mails, query = counts.rows()[-1]
    end = time.time() + SETTLE_SECONDS
    until = server.scrape(time.time())
    while server.value(increase(query, since), until) < mails and time.time() < end:
        until = server.scrape(until)
    return until


def main():
    parser = argparse.ArgumentParser(prog="scripts/load --prometheus")
    parser.add_argument("--url", required=True)
    parser.add_argument("--accounts", type=int, required=True)
    parser.add_argument("--json", required=True, help="the file that the command writes")
    parser.add_argument("command", nargs="+", help="satchel-load with its options")
    options = parser.parse_args()
    # An exception, so that Prometheus ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Prometheus(urllib.parse.urlsplit(options.url).netloc) as server:
        lower_stock(options)
        earlier = orders(options)
        since = server.scrape(time.time())
        status = subprocess.run(options.command, check=False).returncode
        if not os.path.exists(options.json):
            sys.exit(status or 1)
        report = json.loads(Path(options.json).read_text(encoding="utf-8"))
        counts = Counts(report, options.accounts)
        until = settled(server, counts, since)
        print_row("\nPrometheus' queries", "load", "Prometheus", "")
        agree = compare_counts(server, counts, since, until)
        placed, checkouts = orders(options) - earlier, counts.answered("checkout")
        agree &= is_near(placed, checkouts)
        print_row("orders in the data", f"{checkouts:,}", f"{placed:,}", "" if is_near(placed, checkouts) else "DIFFERS")
        agree &= compare_times(server, report, since, until)
        span = f'[{until - since + 1:.0f}s]'
        scrapes = [server.value(f'{kind}_over_time(up{{job="satchel"}}{span})', until) for kind in ("count", "sum")]
        print(f"{scrapes[0]:.0f} scrapes, {scrapes[1]:.0f} answered", flush=True)
    return status or int(not agree or scrapes[0] != scrapes[1])


if __name__ == "__main__":
    sys.exit(main())
