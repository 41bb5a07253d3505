"""The table that scripts/bench prints, as Markdown for docs/internals/measurements.md."""
from .figures import percent, shown

# A process that idles is in the JSON only.
CPU_PART_MIN = 0.02


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def with_unit(number, unit):
    return "-" if number is None else shown(number) + (unit if unit.startswith("/") else f" {unit}" if unit else "")


def cells(workload):
    target = "-"
    if workload.target:
        met = {True: ", met", False: ", **missed**", None: ""}[workload.meets_target]
        target = workload.target.text(workload.unit) + met
    beside = f"{workload.limit}: {with_unit(workload.limit_value, workload.unit)}" if workload.limit else "-"
    total = sum(workload.cpu.values())
    cpu = ", ".join(
        f"{name} {shown(round(micros))}" for name, micros in sorted(workload.cpu.items(), key=lambda item: -item[1])
        if micros >= total * CPU_PART_MIN)
    ours = workload.problem or with_unit(workload.value, workload.unit)
    return [
        workload.title, ours, beside, shown(workload.ratio), target, percent(workload.spread), cpu or "-",
        percent(workload.steal),
    ]


def report(workloads):
    """The table and, below it, notes about single workloads."""
    header = ["workload", "Satchel", "beside it", "ratio", "target", "spread", "CPU µs a request", "steal"]
    notes = [f"- {workload.title}: {workload.note}" for workload in workloads if workload.note]
    return "\n".join([markdown(header, map(cells, workloads))] + ([""] + notes if notes else []))
