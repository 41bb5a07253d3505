"""Rounds in which Satchel and its baseline alternate, with their costs."""
import sys

from . import machine
from .suite import Suite
from .table import with_unit

# Turns for one.
FINER = 4


def say(text):
    print(text, file=sys.stderr, flush=True)


class Turns:
    """How long and how often to measure, and with which executables and settings."""

    def __init__(self, root, binaries, seconds, rounds, settings):
        self.root, self.binaries, self.seconds, self.rounds = root, binaries, seconds, rounds
        self.settings = settings

    def suite(self, settings=None, demo=True, binaries=None):
        """A suite with the settings of the command line, and those without which the workload is another one.

        binaries: a folder with other executables.
        """
        say("  starts a suite")
        return Suite(self.root, binaries or self.binaries, self.settings | (settings or {}), demo)

    def tool(self, *arguments):
        """The arguments of a command of satchel-bench."""
        return [f"{self.binaries}/satchel-bench", *arguments]

    def finer(self):
        """More turns, for two sides that are nearly alike: the rates of one and the same suite differ by a seventh from
        turn to turn, and a few turns do not tell a twentieth from that."""
        return Turns(self.root, self.binaries, self.seconds, self.rounds * FINER, self.settings)

    def measure(self, workload, suite, ours, theirs=None, figure=lambda load: load.rate):
        """Fills a workload: `ours()` returns a Load, `theirs()` a number like the figure of it; both are warmed up.

        Returns the Loads, for further figures of the same rounds.
        """
        ours()
        if theirs:
            theirs()
        loads, cost, time = [], Cost(suite), machine.ProcessorTime()
        for number in range(self.rounds):
            if theirs and number % 2 == 0:
                workload.limit_rounds.append(theirs())
            with cost:
                loads.append(ours())
            if theirs and number % 2 == 1:
                workload.limit_rounds.append(theirs())
            workload.rounds.append(figure(loads[-1]))
            self._say_round(workload, number)
        workload.steal = time.steal()
        workload.cpu = cost.microseconds(sum(load.requests for load in loads))
        return loads

    @staticmethod
    def _say_round(workload, number):
        ours = with_unit(workload.rounds[-1], workload.unit)
        beside = workload.limit_rounds[-1:]
        theirs = f", {workload.limit} {with_unit(beside[0], workload.unit)}" if beside else ""
        say(f"  {workload.name} {number + 1}: {ours}{theirs}")


class Cost:
    """The processor time of a suite's processes while `with` blocks ran."""

    def __init__(self, suite):
        self.suite, self.seconds, self.before = suite, {}, {}

    def __enter__(self):
        self.before = self.suite.cpu_seconds()

    def __exit__(self, *_):
        for name, now in self.suite.cpu_seconds().items():
            self.seconds[name] = self.seconds.get(name, 0) + now - self.before.get(name, now)

    def microseconds(self, requests):
        """Processor time per request of each process."""
        return {name: used / requests * 1e6 for name, used in self.seconds.items() if used}
