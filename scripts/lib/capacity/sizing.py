"""From shoppers or orders a day to the resources they need: arithmetic over the figures of costs.json."""
import math
from dataclasses import dataclass
from functools import cached_property

from costs import SERVICES

DAY = 86_400
GIGABIT = 125e6


@dataclass(frozen=True)
class Demand:
    """The load of a shop, per day; `peak` is the busiest hour's rate as a multiple of the mean."""

    visits: float
    orders: float
    peak: float = 4
    pictures: float = 10
    events: float = 1
    signins: float = 0.01

    @classmethod
    def of(cls, costs, orders=None, shoppers=None, conversion=None, **others):
        """From orders or shoppers; `conversion` is orders per visit, by default from the shoppers' habits."""
        conversion = conversion or costs.requests_per_visit["checkout"]
        visits = shoppers if shoppers is not None else orders / conversion
        return cls(visits=visits, orders=visits * conversion, **others)

    @property
    def visits_a_second(self):
        """At the peak."""
        return self.visits / DAY * self.peak

    def rates(self, costs):
        """Requests a second of each kind at the peak."""
        each = dict(costs.requests_per_visit)
        each["checkout"] = self.orders / self.visits if self.visits else 0
        each |= {"event": self.events, "picture": self.pictures, "signin": self.signins}
        return {kind: self.visits_a_second * each[kind] for kind in costs.kinds}


@dataclass(frozen=True)
class Bottleneck:
    """A part of the shop with its load at the peak and the most that it bears."""

    name: str
    load: float
    limit: float
    unit: str
    remedy: str

    @property
    def room(self):
        """How many times the load it bears."""
        return self.limit / self.load if self.load else math.inf


class Sizing:
    """What a demand needs at a pace of costs, with processors and threads busy for at most that part of the time."""

    def __init__(self, costs, demand, utilisation=0.6, cores=None, gigabits=1.0, pace="quiet"):
        self.costs, self.demand, self.utilisation = costs, demand, utilisation
        self.given_cores, self.gigabits, self.pace = cores, gigabits, pace
        self.rates = demand.rates(costs)

    # Processors

    def processors_at(self, process, pace):
        """Processor seconds a second of a process."""
        hashes = self.hashing if process == "users" else 0  # They take as long in a quiet shop.
        found = (self.costs.busy(self.rates, process) - hashes) * self.costs.factor(process, pace) + hashes
        if process == "catalog":
            found += self.rates["search"] * self.costs.search_seconds
        return found

    @property
    def hashing(self):
        """Processors that hash passwords."""
        return self.rates["signin"] * self.costs.kinds["signin"]["processor"]["users"] / 1e6

    @cached_property
    def processors(self):
        return {process: self.processors_at(process, self.pace) for process in SERVICES}

    @property
    def cores_needed(self):
        return max(2, math.ceil(sum(self.processors.values()) / self.utilisation))

    @property
    def cores(self):
        return self.given_cores or self.cores_needed

    # Threads

    @property
    def short_readers(self):
        return 2 if self.cores > 2 else 1

    @property
    def long_reads(self):
        """Threads' worth of searches past the moment from which they are long."""
        return self.rates["search"] * self.costs.long_seconds

    @property
    def short_reads(self):
        return self.rates["search"] * self.costs.search_seconds - self.long_reads

    @cached_property
    def replicas(self):
        """Replicas by service, as its readers, lanes and tasks need; gateways as their brokers need."""
        lanes = self.costs.figures["threads"]["lanes"]
        found = {}
        for service in SERVICES:
            reading = self.processors[service] - self.writer_seconds(service)
            if service == "catalog":
                reading -= self.rates["search"] * self.costs.search_seconds
            found[service] = max(1, math.ceil(reading / lanes / self.utilisation))
        found["catalog"] = max(
            found["catalog"], math.ceil(self.long_reads / self.utilisation),
            math.ceil(self.short_reads / self.short_readers / self.utilisation))
        # Only the writer's process signs in, and its hashes have threads of their own.
        gateways = max(1, math.ceil(self.messages / self.costs.figures["gateway"]["brokerPassed"]))
        return found | {"gateway": gateways, "users": 1}

    # The bus

    @property
    def messages(self):
        """Questions a second, each with its answer, that pass the broker."""
        return sum(rate * self.costs.kinds[kind]["messages"] for kind, rate in self.rates.items())

    # Writers

    def writes(self, service):
        """Writes a second of a service's file."""
        return sum(rate * self.costs.kinds[kind].get("writes", {}).get(service, 0) for kind, rate in self.rates.items())

    def write_seconds(self, service):
        """Time of the writer's thread for one more write in a commit."""
        return self.costs.figures["writers"]["writeMicroseconds"][service] / 1e6

    def waking_seconds(self, service):
        """What a commit costs the thread beyond its writes, where each wakes it anew: a group is woken for once."""
        return (self.costs.factor(service, self.pace) - 1) * self.write_seconds(service)

    def commit_seconds(self, service):
        """Time of a commit that does not depend on its writes: the thread's and the wait for the disk."""
        return self.costs.figures["writers"]["commitMicroseconds"] / 1e6 + self.waking_seconds(service)

    def writer_seconds(self, service):
        """Processors that the writer's thread takes."""
        if service == "gateway":
            return 0
        return self.writes(service) * self.write_seconds(service) + self.commits(service) * self.waking_seconds(service)

    def group(self, service):
        """Writes in a commit, by flow: so many come while a commit of as many is under way."""
        work = self.writes(service) * self.write_seconds(service)
        most = self.costs.figures["writers"]["groupMost"]
        if work >= 1:
            return most
        return min(most, max(1, self.writes(service) * self.commit_seconds(service) / (1 - work)))

    def commits(self, service):
        """Commits a second, each of which waits for the disk once (in analytics none does)."""
        return self.writes(service) / self.group(service)

    def thread_limit(self, service):
        """Writes a second that the thread alone could do in groups of the greatest size."""
        most = self.costs.figures["writers"]["groupMost"]
        return most / (self.commit_seconds(service) + most * self.write_seconds(service))

    def writer_limit(self, service):
        """Writes a second that were reached in a measurement; else what the thread alone could do."""
        return self.costs.figures["writers"]["measured"].get(service) or self.thread_limit(service)

    # Memory, disk, network

    @property
    def connections(self):
        shoppers = sum(self.rates[kind] for kind in self.costs.requests_per_visit)
        return shoppers * self.costs.figures["connections"]["perRequestASecond"]

    @property
    def megabytes(self):
        """Memory of all processes, without the system's copies of files."""
        memory = self.costs.figures["memory"]
        processes = sum(size * self.replicas.get(name, 1) for name, size in memory["megabytes"].items())
        return processes + self.connections * memory["kilobytesPerConnection"] / 1000

    def disk(self, spool=True):
        """Bytes a day."""
        day = DAY / self.demand.peak
        figures = self.costs.figures["disk"]
        found = sum(self.rates[kind] * day * size for kind, size in figures["bytesPerRequest"].items())
        return found + (self.demand.orders * figures["bytesPerMail"] if spool else 0)

    @property
    def network(self):
        """Bytes a second to shoppers at the peak."""
        head = self.costs.figures["network"]["headBytes"]
        return sum(rate * (self.costs.kinds[kind]["bytes"] + head) for kind, rate in self.rates.items())

    # Bottlenecks

    @cached_property
    def bottlenecks(self):
        """All limits with one replica of each service and default settings, the nearest first."""
        figures, share = self.costs.figures, self.utilisation
        found = [
            Bottleneck("processors", sum(self.processors.values()), self.cores * share, "processors",
                       "a machine with more, then services on other hosts over tcp"),
            Bottleneck("gateway's processors", self.processors["gateway"], self.cores * share, "processors",
                       "gateways on other hosts (scripts/scale gateway=2)"),
            Bottleneck("catalog's reader of long searches", self.long_reads, share, "threads",
                       "replicas of catalog (scripts/scale)"),
            Bottleneck("catalog's readers of short searches", self.short_reads, self.short_readers * share, "threads",
                       "replicas of catalog (scripts/scale)"),
            Bottleneck("the broker, as far as measured", self.messages, figures["gateway"]["brokerPassed"],
                       "questions/s", "more gateways, each with a broker (scripts/scale gateway=2)"),
            Bottleneck("connections", self.connections, figures["connections"]["most"], "connections",
                       "SATCHEL_CONNECTIONS_MAX"),
            Bottleneck("password hashes", self.hashing, max(1, self.cores // 2) * share, "threads",
                       "SATCHEL_PASSWORD_THREADS, more processors for users"),
            Bottleneck("network", self.network / 1e6, self.gigabits * GIGABIT * share / 1e6, "MB/s",
                       "pictures from a cache in front of the shop"),
        ]
        found += [
            Bottleneck(f"the writer of {service}", self.writes(service), self.writer_limit(service) * share, "writes/s",
                       "PostgreSQL, in which each replica writes (SATCHEL_WRITERS=every)")
            for service in SERVICES if service != "gateway"
        ]
        return sorted(found, key=lambda one: one.room)
