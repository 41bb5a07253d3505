"""What one workload yields, and the statistics that say how far to believe it."""
import math
from dataclasses import asdict, dataclass, field
from statistics import median

# With fewer rounds on a side, chance alone separates two runs too often: one in ten at three against three.
ROUNDS_TO_COMPARE = 3


@dataclass
class Target:
    """The figure to reach."""

    number: float
    bound: str = "most"  # or "least"
    of: str = "value"  # or "ratio"

    @classmethod
    def share(cls, number):
        """At least this part of what the limit does."""
        return cls(number, "least", "ratio")

    def text(self, unit):
        sign = "≤" if self.bound == "most" else "≥"
        return f"{sign} {shown(self.number)}" + (" (ratio)" if self.of == "ratio" else f" {unit}" if unit else "")

    def is_met(self, number):
        return number <= self.number if self.bound == "most" else number >= self.number


@dataclass
class Workload:
    """The figures of a workload: a number of each round of Satchel and, where there is one, of its limit."""

    name: str
    title: str
    unit: str = "/s"
    better: str = "more"  # or "less"
    rounds: list = field(default_factory=list)
    limit: str = ""
    limit_rounds: list = field(default_factory=list)
    target: Target | None = None
    cpu: dict = field(default_factory=dict)  # microseconds a request, by process
    steal: float = 0.0  # of the processors' time, taken by the host
    note: str = ""
    problem: str = ""  # why there are no figures

    @property
    def value(self):
        return median(self.rounds) if self.rounds else None

    @property
    def limit_value(self):
        return median(self.limit_rounds) if self.limit_rounds else None

    @property
    def ratios(self):
        return [ours / theirs for ours, theirs in zip(self.rounds, self.limit_rounds) if theirs > 0]

    @property
    def ratio(self):
        return median(self.ratios) if self.ratios else None

    @property
    def spread(self):
        return spread(self.ratios or self.rounds)

    @property
    def meets_target(self):
        """None where there is no target or no figure."""
        number = self.ratio if self.target and self.target.of == "ratio" else self.value
        return None if self.target is None or number is None else self.target.is_met(number)

    def as_json(self):
        return asdict(self) | {"value": self.value, "limit_value": self.limit_value, "ratio": self.ratio}

    @classmethod
    def from_json(cls, members):
        known = {name: members[name] for name in cls.__dataclass_fields__ if name in members}
        if known.get("target"):
            known["target"] = Target(**known["target"])
        return cls(**known)


def percentile(numbers, part):
    """The number that at most such a part of them is above, by the nearest rank."""
    return sorted(numbers)[max(0, math.ceil(part * len(numbers)) - 1)]


def spread(numbers):
    """Half of what lies between the least and the greatest, as a part of the median; None for fewer than two."""
    middle = median(numbers) if len(numbers) > 1 else 0
    return (max(numbers) - min(numbers)) / 2 / middle if middle else None


def is_beyond_noise(before, after):
    """Whether every round of one run lies beyond every round of the other; None when there are too few to tell."""
    if min(len(before), len(after)) < ROUNDS_TO_COMPARE:
        return None
    return max(before) < min(after) or max(after) < min(before)


def shown(number):
    """A number with three digits that count, or all of a larger one."""
    if number is None:
        return "-"
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.{2 if abs(number) >= 1 else 3}f}"


def percent(part):
    return "-" if part is None else f"{part * 100:.1f} %"
