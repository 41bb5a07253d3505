"""The figures of costs.json, and values computed from them alone."""
import json
from functools import cached_property
from pathlib import Path

import visits

FOLDER = Path(__file__).resolve().parent
SERVICES = ("gateway", "catalog", "users", "bag", "payments", "mail", "push", "analytics")


class Costs:
    """What a request takes of each process, at two paces: `busy`, as scripts/bench measures it while the processors are
    full and every thread finds its next work waiting, and `quiet`, as the shoppers of scripts/load were seen to cost a
    shop that is half idle, where each request wakes every thread anew."""

    def __init__(self, figures, habits):
        self.figures, self.habits = figures, habits

    @classmethod
    def read(cls, file=FOLDER / "costs.json", habits=FOLDER.parent / "load/shoppers.json"):
        return cls(*(json.loads(Path(path).read_text(encoding="utf-8")) for path in (file, habits)))

    @cached_property
    def kinds(self):
        return self.figures["kinds"]

    @cached_property
    def requests_per_visit(self):
        """What one visit asks for, by scripts/lib/load/shoppers.json."""
        return visits.requests_per_visit(self.habits)

    @cached_property
    def run_rates(self):
        """Requests a second of each step in the shoppers' run, by the counts that it printed."""
        run = self.figures["shoppersRun"]
        whole = sum(run["steps"].values())
        return {step: run["rate"] * count / whole for step, count in run["steps"].items()}

    def busy(self, rates, process):
        """Processors that a process needs for these requests a second, costly reads left out."""
        return sum(rate * self.kinds[kind]["processor"].get(process, 0) for kind, rate in rates.items()) / 1e6

    @cached_property
    def search_seconds(self):
        """Processor time of a search in the catalog: its time in the shoppers' run minus the time of all other requests."""
        rest = self.figures["shoppersRun"]["processors"]["catalog"] - self.busy(self.run_rates, "catalog")
        return rest / self.run_rates["search"]

    @cached_property
    def long_share(self):
        """The share of long searches, chosen so that the mean of short and long ones is the measured time."""
        short, long = (sum(self.figures["search"][name]) / 2000 for name in ("shortMs", "longMs"))
        return min(1, max(0, (self.search_seconds - short) / (long - short)))

    @cached_property
    def long_seconds(self):
        """Mean time of a search on the thread for long reads, where long searches continue; short ones count 0."""
        figures = self.figures["search"]
        return self.long_share * (sum(figures["longMs"]) / 2 - figures["goesOnAfterMs"]) / 1000

    @cached_property
    def factors(self):
        """By process, the cost of a request in a quiet shop relative to a busy one. The catalog's is 1, because its
        whole time in the run is attributed to searches."""
        run = self.figures["shoppersRun"]
        found = {name: used / self.busy(self.run_rates, name) for name, used in run["processors"].items()}
        found["catalog"] = 1.0
        return found | {name: found["bag"] for name in run["likeBag"]}

    def factor(self, process, pace):
        return self.factors[process] if pace == "quiet" else 1.0
