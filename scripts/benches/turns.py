"""Rounds in which Satchel and its limit take turns, with what they cost."""
import sys

import machine
from suite import Suite


def say(text):
    print(text, file=sys.stderr, flush=True)


class Turns:
    """How long and how often to measure, and with which executables and settings."""

    def __init__(self, root, binaries, seconds, rounds, settings):
        self.root, self.binaries, self.seconds, self.rounds = root, binaries, seconds, rounds
        self.settings = settings

    def suite(self, settings=None, demo=True):
        """A suite with the settings of the command line, and those without which the workload is another one."""
        say("  starts a suite")
        return Suite(self.root, self.binaries, self.settings | (settings or {}), demo)

    def tool(self, *arguments):
        """The arguments of a command of satchel-bench."""
        return [f"{self.binaries}/satchel-bench", *arguments]

    def measure(self, workload, suite, ours, theirs=None):
        """Fills a workload: `ours()` returns a Load, `theirs()` a number; both are warmed up first.

        Returns the Loads, for further figures of the same rounds.
        """
        ours()
        if theirs:
            theirs()
        loads, cpu, time = [], {}, machine.ProcessorTime()
        for number in range(self.rounds):
            if theirs and number % 2 == 0:
                workload.limit_rounds.append(theirs())
            before = suite.cpu_seconds()
            loads.append(ours())
            for name, seconds in suite.cpu_seconds().items():
                cpu[name] = cpu.get(name, 0) + seconds - before.get(name, seconds)
            if theirs and number % 2 == 1:
                workload.limit_rounds.append(theirs())
            workload.rounds.append(loads[-1].rate)
            self._say_round(workload, number)
        workload.steal = time.steal()
        requests = sum(load.requests for load in loads)
        # Below a microsecond it is the clock's grain.
        workload.cpu = {name: used / requests * 1e6 for name, used in cpu.items() if used / requests >= 1e-6}
        return loads

    @staticmethod
    def _say_round(workload, number):
        beside = f", {workload.limit} {workload.limit_rounds[-1]:.1f}" if workload.limit_rounds else ""
        say(f"  {workload.name} {number + 1}: {workload.rounds[-1]:.1f}{workload.unit}{beside}")
