"""The table that scripts/bench prints, as Markdown for docs/internals/measurements.md."""
from .figures import percent, shown

# The workloads with the targets of the product, in the order of their table.
GOALS = (
    "search-words", "search-odd", "load-limit", "own-account", "create", "create-cpu", "update", "update-cpu",
    "object-cold", "page-cold", "object-cached-tail", "checkout", "checkout-p99", "events", "memory-idle",
    "memory-loaded", "postgresql-object", "first-build", "first-build-cpu",
)
# A process that idles is in the JSON only.
CPU_PART_MIN = 0.02


def markdown(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(cells) + " |" for cells in rows])


def with_unit(number, unit):
    return "-" if number is None else shown(number) + (unit if unit.startswith("/") else f" {unit}" if unit else "")


def target_text(workload):
    if not workload.target:
        return "-"
    met = {True: ", met", False: ", **missed**", None: ""}[workload.meets_target]
    return workload.target.text(workload.unit) + met


def cells(workload):
    beside = f"{workload.limit}: {with_unit(workload.limit_value, workload.unit)}" if workload.limit else "-"
    total = sum(workload.cpu.values())
    cpu = ", ".join(
        f"{name} {shown(round(micros))}" for name, micros in sorted(workload.cpu.items(), key=lambda item: -item[1])
        if micros >= total * CPU_PART_MIN)
    ours = workload.problem or with_unit(workload.value, workload.unit)
    return [
        workload.title, ours, beside, shown(workload.ratio), target_text(workload), percent(workload.spread), cpu or "-",
        percent(workload.steal),
    ]


def report(workloads):
    """The table and, below it, notes about single workloads."""
    header = ["workload", "Satchel", "beside it", "ratio", "target", "spread", "CPU µs a request", "steal"]
    notes = [f"- {workload.title}: {workload.note}" for workload in workloads if workload.note]
    return "\n".join([markdown(header, map(cells, workloads))] + ([""] + notes if notes else []))


def goals(workloads):
    """A row for each target of the product: the measured figure, met or missed."""
    measured = {workload.name: workload for workload in workloads}
    return markdown(["goal", "measured", "target"], [
        goal_cells(measured[name]) if name in measured else [name, "not measured", "-"] for name in GOALS])


def goal_cells(workload):
    found = with_unit(workload.value, workload.unit)
    if workload.target.of == "ratio":
        found = f"{shown(workload.ratio)} of {workload.limit}; {found}"
    elif workload.limit:
        found += f"; {workload.limit}: {with_unit(workload.limit_value, workload.unit)}"
    return [workload.title, workload.problem or found, target_text(workload)]
