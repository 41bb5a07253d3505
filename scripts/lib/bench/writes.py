"""Writes: durable creates and updates, app events, and batches over one connection."""
import http.client
import json
import time

from measuring import limits, load
from measuring.figures import Target, Workload
from measuring.suite import APPLICATION, Failed
from measuring.turns import Cost

NOTE = "A note of a benchmark. " * 20
BODIES = 1000


def write(turns):
    """Durable creates of 0.6 KB, and updates of two fields, at 64 connections."""
    with turns.suite(demo=False) as suite:
        yield from durable(turns, suite, "create", "durable creates of 0.6 KB, 64 connections", [
            ("POST", "/parse/classes/BenchNote", json.dumps(note(number))) for number in range(BODIES)])
        change = json.dumps({"done": True, "rank": {"__op": "Increment", "amount": 1}})
        yield from durable(turns, suite, "update", "durable updates of two fields, 64 connections", [
            ("PUT", f"/parse/classes/BenchNote/{found['objectId']}", change)
            for found in suite.find("BenchNote", {}, limit=BODIES, keys="objectId")])


def durable(turns, suite, name, title, requests):
    """The rate beside plain SQLite, then the processor time of all processes."""
    path = suite.path(f"{name}.requests")
    load.write_requests(path, requests)
    workload = Workload(name, title, limit="plain SQLite, 64 rows a commit", target=Target.share(0.5))
    turns.measure(
        workload, suite, lambda: load.wrk(suite.port, path, turns.seconds),
        lambda: limits.raw_sqlite(turns, suite.folder, 64))
    yield workload
    yield Workload(
        f"{name}-cpu", f"CPU of all processes, {title}", unit="µs", better="less", rounds=[sum(workload.cpu.values())],
        target=Target(80), steal=workload.steal)


def events(turns):
    """App events at 64 connections, against a route that reads the body and answers."""
    with turns.suite(demo=False) as suite, limits.bare_route(turns) as bare:
        bodies = [json.dumps({"dimensions": {"screen": f"Screen {number % 20}", "source": "bench"}})
                  for number in range(BODIES)]
        ours, theirs = suite.path("events.requests"), suite.path("events.bare")
        load.write_requests(ours, [("POST", "/parse/events/BenchOpened", body) for body in bodies])
        load.write_requests(theirs, [("POST", "/bare/events", body) for body in bodies])
        workload = Workload(
            "events", "app events, 64 connections", limit="bare Hummingbird POST route", target=Target.share(0.45))
        turns.measure(
            workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds),
            lambda: load.wrk(bare, theirs, turns.seconds).rate)
        yield workload


def note(number):
    return {"title": f"Note {number}", "note": NOTE, "rank": number, "done": False}


# --- Batches

BATCHES, CHANGES = 60, 50
KINDS = {
    "create": "created", "update": "updated", "mixed": "created, ten in a row for each of two services",
    "delete": "deleted",
}


def bulk(turns):
    """3,000 changes of each kind in 60 batches of 50, one after the other."""
    with turns.suite(demo=False) as suite:
        workloads = {
            kind: Workload(
                f"bulk-{kind}", f"3,000 objects in 60 batches of 50: {what}", limit="plain SQLite, 50 rows a commit")
            for kind, what in KINDS.items()
        }
        costs = {kind: Cost(suite) for kind in KINDS}
        Batches(suite.port).run({kind: Cost(suite) for kind in KINDS})  # makes the classes
        for _ in range(turns.rounds):
            theirs = limits.raw_sqlite(turns, suite.folder, CHANGES)
            for kind, seconds in Batches(suite.port).run(costs).items():
                workloads[kind].rounds.append(BATCHES * CHANGES / seconds)
                workloads[kind].limit_rounds.append(theirs)
        for kind, workload in workloads.items():
            workload.cpu = costs[kind].microseconds(BATCHES * CHANGES * turns.rounds)
            yield workload


class Batches:
    """A run over one connection."""

    def __init__(self, port):
        self.server = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.run_id = str(time.time_ns())
        self.ids = []

    def run(self, costs):
        """Seconds by kind."""
        changes = {"create": self.create, "update": self.update, "mixed": self.mixed, "delete": self.delete}
        seconds = {}
        for kind, change in changes.items():
            with costs[kind]:
                seconds[kind] = self.seconds(kind, change)
        return seconds

    def seconds(self, kind, change):
        start = time.perf_counter()
        for batch in range(BATCHES):
            answers = self.send([change(batch * CHANGES + index) for index in range(CHANGES)])
            if kind == "create":
                self.ids += [answer["objectId"] for answer in answers]
        return time.perf_counter() - start

    def send(self, requests):
        headers = {"X-Parse-Application-Id": APPLICATION, "Content-Type": "application/json"}
        self.server.request("POST", "/parse/batch", json.dumps({"requests": requests}), headers)
        answers = json.load(self.server.getresponse())
        failed = [answer for answer in answers if "success" not in answer] if isinstance(answers, list) else [answers]
        if failed:
            raise Failed(f"not every change was made: {failed[0]}")
        return [answer["success"] for answer in answers]

    @staticmethod
    def create(index, class_name="BenchNote"):
        return {"method": "POST", "path": f"/parse/classes/{class_name}", "body": note(index)}

    def update(self, index):
        body = {"done": True, "rank": {"__op": "Increment", "amount": 1}}
        return {"method": "PUT", "path": f"/parse/classes/BenchNote/{self.ids[index]}", "body": body}

    def mixed(self, index):
        if index // 10 % 2 == 0:
            return self.create(index, "BenchOther")
        device = {"deviceType": "ios", "channels": ["bench"], "installationId": f"{self.run_id}-{index}"}
        return {"method": "POST", "path": "/parse/installations", "body": device}

    def delete(self, index):
        return {"method": "DELETE", "path": f"/parse/classes/BenchNote/{self.ids[index]}"}
