"""`scripts/bench compare A.json B.json`: two runs beside each other, and which changes are more than noise."""
import json

from .figures import Workload, is_beyond_noise, percent, shown
from .table import markdown


class Unreadable(Exception):
    """A file that is no result of scripts/bench."""


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        return {members["name"]: Workload.from_json(members) for members in run["workloads"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path} is no result of scripts/bench ({type(error).__name__}: {error})") from error


def verdict(before, after):
    """What became of a workload. Ratios are compared where both runs have them, for the machine cancels out there."""
    by_ratio = bool(before.ratios and after.ratios)
    old, new = (before.ratios, after.ratios) if by_ratio else (before.rounds, after.rounds)
    if not old or not new:
        return "-", "no figures"
    first, second = (before.ratio, after.ratio) if by_ratio else (before.value, after.value)
    change = percent(second / first - 1) if first else "-"
    if not change.startswith("-"):
        change = f"+{change}"
    differs = is_beyond_noise(old, new)
    if differs is None:
        return change, "too few rounds to tell"
    if not differs:
        return change, "within noise"
    return change, "**better**" if (second > first) == (after.better == "more") else "**worse**"


def row(name, before, after):
    present = after or before
    if before is None or after is None:
        change, text = "-", "only in B" if before is None else "only in A"
    else:
        change, text = verdict(before, after)
    cells = [present.title]
    for run in (before, after):
        cells.append(f"{shown(run.value)} {present.unit}".strip() if run and run.rounds else "-")
    for run in (before, after):
        cells.append(shown(run.ratio) if run else "-")
    return cells + [change, text]


def compare(path_before, path_after):
    """The table of both runs.

    Raises Unreadable.
    """
    before, after = read(path_before), read(path_after)
    names = list(before) + [name for name in after if name not in before]
    return markdown(
        ["workload", "A", "B", "ratio A", "ratio B", "change", "verdict"],
        [row(name, before.get(name), after.get(name)) for name in names])
