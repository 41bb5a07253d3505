"""Queues in simulated time: servers side by side, and a writer whose commits take along whoever waits.

A request is a list of stages, each `(station, time of its own)`. The clock jumps from event to event.
"""
import heapq
from collections import deque
from itertools import count


class Clock:
    """The events to come, in their order; of those at one moment the first that was planned comes first."""

    def __init__(self):
        self.now, self.events, self.numbers = 0.0, [], count()

    def after(self, seconds, action, *given):
        heapq.heappush(self.events, (self.now + seconds, next(self.numbers), action, given))

    def run(self):
        """Until nothing is planned."""
        while self.events:
            self.now, _, action, given = heapq.heappop(self.events)
            action(*given)


class Station:
    """What stations have in common: a line, and how long they were busy and others waited."""

    def __init__(self, clock, name, servers=1):
        self.clock, self.name, self.servers = clock, name, servers
        self.line, self.free = deque(), servers
        self.busy, self.waits = 0.0, []

    def utilisation(self, seconds):
        return self.busy / (self.servers * seconds)

    def waited(self, since):
        self.waits.append(self.clock.now - since)

    @property
    def under_way(self):
        return len(self.line) + self.servers - self.free


class Servers(Station):
    """Threads with one line, who came first is next."""

    def enter(self, seconds, done):
        if self.free:
            self.free -= 1
            self.begin(self.clock.now, seconds, done)
        else:
            self.line.append((self.clock.now, seconds, done))

    def begin(self, since, seconds, done):
        self.waited(since)
        self.busy += seconds
        self.clock.after(seconds, self.end, done)

    def end(self, done):
        if self.line:
            self.begin(*self.line.popleft())
        else:
            self.free += 1
        done()


class Writer(Station):
    """One thread with group commit: a commit takes a fixed time and that of each of its writes. Who comes meanwhile is
    in the next one, up to a number. All of a group are answered when it is on the disk."""

    def __init__(self, clock, name, commit, most):
        super().__init__(clock, name)
        self.commit, self.most, self.commits, self.writes = commit, most, 0, 0

    def enter(self, seconds, done):
        self.line.append((self.clock.now, seconds, done))
        if self.free:
            self.free = 0
            # Whoever comes at this very moment is in the same group.
            self.clock.after(0, self.begin_group)

    def begin_group(self):
        group = [self.line.popleft() for _ in range(min(self.most, len(self.line)))]
        seconds = self.commit + sum(each for _, each, _ in group)
        for since, _, _ in group:
            self.waited(since)
        self.busy += seconds
        self.commits += 1
        self.writes += len(group)
        self.clock.after(seconds, self.end_group, group)

    def end_group(self, group):
        if self.line:
            self.begin_group()
        else:
            self.free = 1
        for _, _, done in group:
            done()


class Together:
    """Stations of one kind, each with its own line, as one in a report."""

    def __init__(self, name, stations):
        self.name, self.stations = name, stations

    @property
    def servers(self):
        return sum(each.servers for each in self.stations)

    @property
    def waits(self):
        return [wait for each in self.stations for wait in each.waits]

    def utilisation(self, seconds):
        return sum(each.busy for each in self.stations) / (self.servers * seconds)


class Visit:
    """A request on its way through stages; `finish` is told how long it took."""

    __slots__ = ("clock", "start", "stages", "place", "finish")

    def __init__(self, clock, stages, finish):
        self.clock, self.start, self.stages, self.place, self.finish = clock, clock.now, stages, 0, finish
        self.go_on()

    def go_on(self):
        if self.place == len(self.stages):
            self.finish(self.clock.now - self.start)
            return
        station, seconds = self.stages[self.place]
        self.place += 1
        station.enter(seconds, self.go_on)


def arrivals(clock, rate, number, begin, dice):
    """Calls `begin(index)` so often, as customers come who know nothing of each other (Poisson)."""

    def come(index):
        begin(index)
        if index + 1 < number:
            clock.after(dice.expovariate(rate), come, index + 1)

    if number:
        clock.after(dice.expovariate(rate), come, 0)


def percentile(numbers, part):
    """One of the numbers, which so large a part of them is not above; 0 of none."""
    ordered = sorted(numbers)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0
