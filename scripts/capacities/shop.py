"""A shop of queues: the stations of a sizing, and the stages of each kind of request."""
import random

import queues
from costs import SERVICES

# How a checkout asks (docs/architecture.md, How money moves). A step of two is a write of the first service's file, one
# of one is work of its lanes. What the outbox does comes after the answer.
CHECKOUT = [
    ("catalog",), ("users",), ("bag", "write"), ("catalog", "write"), ("bag", "write"), ("payments", "write"),
    ("payments", "write"), ("payments", "write"), ("bag", "write"),
]
OUTBOX = [
    ("mail", "write"), ("mail", "write"), ("catalog", "write"), ("payments", "write"), ("push", "write"),
    ("analytics", "write"), ("bag", "write"),
]
# Of the first requests nothing is noted: they find an empty shop.
WARM = 0.1


class Shop:
    """A simulated shop. `load` multiplies the rates of the sizing, whose replicas and processors stay."""

    def __init__(self, sizing, load=1.0, seed=1, replicas=None):
        self.sizing, self.costs, self.dice = sizing, sizing.costs, random.Random(seed)
        self.replicas = replicas or sizing.replicas
        self.rates = {kind: rate * load for kind, rate in sizing.rates.items()}
        self.clock, lanes = queues.Clock(), self.costs.figures["threads"]["lanes"]
        most = self.costs.figures["writers"]["groupMost"]

        def servers(name, number):
            return queues.Servers(self.clock, name, number)

        self.loops = servers("gateway's event loops", sizing.cores)
        self.bus = servers("broker", 1)
        self.lanes = {name: servers(f"{name}'s lanes", lanes * self.replicas[name]) for name in SERVICES}
        # Each replica has its own: what waits in one is not helped by another.
        self.readers = [
            (servers("short", sizing.short_readers), servers("long", 1)) for _ in range(self.replicas["catalog"])]
        self.short, self.long = (
            queues.Together(f"catalog's {name} readers", [pair[place] for pair in self.readers])
            for place, name in enumerate(("short", "long")))
        self.passwords = servers("password threads", max(1, sizing.cores // 2))
        self.writers = {
            name: queues.Writer(self.clock, f"{name}'s writer", sizing.commit_seconds(name), most)
            for name in SERVICES if name != "gateway"
        }
        self.times = {kind: [] for kind in self.rates}
        self.kinds, self.weights = list(self.rates), list(self.rates.values())
        self.warm = 0

    @property
    def stations(self):
        return [self.loops, self.bus, self.short, self.long, self.passwords,
                *(self.lanes[name] for name in SERVICES if name != "gateway"), *self.writers.values()]

    def run(self, number):
        """So many requests; returns this shop."""
        self.warm = int(number * WARM)
        kinds = self.dice.choices(self.kinds, self.weights, k=number)
        queues.arrivals(self.clock, sum(self.weights), number, lambda index: self.begin(index, kinds[index]), self.dice)
        self.seconds = number / sum(self.weights)
        self.clock.run()
        return self

    def begin(self, index, kind):
        counted = index >= self.warm

        def finish(seconds):
            if counted:
                self.times[kind].append(seconds)
            if kind == "checkout":
                work = self.works(kind)
                queues.Visit(self.clock, self.steps(OUTBOX, work), lambda _: None)

        queues.Visit(self.clock, self.stages(kind), finish)

    # Stages

    def works(self, kind):
        """Seconds of each process for a request, by the pace of the sizing, without its writer's."""
        found = {}
        for name, micro in self.costs.kinds[kind]["processor"].items():
            factor = self.costs.factor(name, self.sizing.pace)
            if kind == "signin" and name == "users":
                continue
            writes = self.costs.kinds[kind].get("writes", {}).get(name, 0)
            written = writes * self.sizing.write_seconds(name) if writes else 0
            found[name] = max(0, micro / 1e6 - written) * factor
        return found

    def random(self, seconds):
        """A time with that mean: half of it always, the rest as chance has it."""
        return seconds / 2 + self.dice.expovariate(2 / seconds) if seconds else 0.0

    def stages(self, kind):
        work, costs = self.works(kind), self.costs
        messages = costs.kinds[kind]["messages"]
        broker = messages * costs.figures["gateway"]["broker"] * costs.factor("gateway", self.sizing.pace) / 1e6
        half = max(0, work["gateway"] - broker) / 2
        asked = [(self.bus, broker / 2)] if messages else []
        inner = self.inner(kind, work)
        return [(self.loops, self.random(half)), *asked, *inner, *asked, (self.loops, self.random(half))]

    def inner(self, kind, work):
        if kind == "search":
            return self.search()
        if kind == "checkout":
            return self.steps(CHECKOUT, work)
        found = [(self.lanes[name], self.random(seconds)) for name, seconds in work.items() if name != "gateway"]
        if kind == "signin":
            hashing = self.costs.kinds[kind]["processor"]["users"] / 1e6
            found.append((self.passwords, hashing))
        for name, writes in self.costs.kinds[kind].get("writes", {}).items():
            found += [(self.writers[name], self.random(self.sizing.write_seconds(name)))] * writes
        return found

    def steps(self, steps, work):
        """A service's work beside its writes is shared by all of its steps, before and after the answer."""
        all_steps = CHECKOUT + OUTBOX
        found = []
        for name, *writes in steps:
            part = work[name] / sum(step[0] == name for step in all_steps)
            found.append((self.lanes[name], self.random(part)))
            if writes:
                found.append((self.writers[name], self.random(self.sizing.write_seconds(name))))
        return found

    def search(self):
        """In the replica with the fewest searches under way, as the broker asks the least loaded lane."""
        figures = self.costs.figures["search"]
        short, long = min(self.readers, key=lambda pair: pair[0].under_way + pair[1].under_way)
        if self.dice.random() >= self.costs.long_share:
            return [(short, self.dice.uniform(*figures["shortMs"]) / 1000)]
        first = figures["goesOnAfterMs"] / 1000
        return [(short, first), (long, self.dice.uniform(*figures["longMs"]) / 1000 - first)]
