"""The printed tables."""
from costs import SERVICES
from sizing import GIGABIT


def grid(header, rows):
    """A table for the terminal: columns that begin with a number are to the right."""
    rows = [[str(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    left = [not rows[1][column][:1].isdigit() for column in range(len(header))]
    lines = [
        "  ".join(cell.ljust(width) if to_left else cell.rjust(width)
                  for cell, width, to_left in zip(row, widths, left)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def number(value):
    """With as many digits as tell something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.2g}"


def size(count):
    for unit, step in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count:.0f} B"


def milliseconds(seconds):
    return f"{seconds * 1000:,.1f}"


def report(sizing):
    """Every table of a sizing."""
    return "\n\n".join(part(sizing) for part in (head, requests, processes, writers, rest, limits))


def head(sizing):
    demand = sizing.demand
    conversion = demand.orders / demand.visits
    many = ("\nSo many visits order in scripts/lib/load/shoppers.json. With --conversion 0.025 there are "
            f"{conversion / 0.025:.0f} times as many visits for these orders." if conversion > 0.1 else "")
    return (f"{demand.orders:,.0f} orders and {demand.visits:,.0f} visits a day ({conversion:.1%} "
            f"of visits order); the busiest hour has {demand.peak:g} times the mean rate:\n"
            f"{number(demand.visits_a_second)} visits and {number(sizing.rates['checkout'])} orders a second. "
            f"Threads and processors are meant to be busy {sizing.utilisation:.0%} of the time.{many}")


def requests(sizing):
    rows = [[sizing.costs.kinds[kind]["title"], number(rate)] for kind, rate in sizing.rates.items()]
    return grid(["request", "at the peak /s"], [*rows, ["all", number(sum(sizing.rates.values()))]])


def processes(sizing):
    def row(name, busy, quiet):
        return [name, number(busy), number(quiet), sizing.replicas.get(name, "")]

    rows = [row(name, *(sizing.processors_at(name, pace) for pace in ("busy", "quiet"))) for name in SERVICES]
    sums = [sum(sizing.processors_at(name, pace) for name in SERVICES) for pace in ("busy", "quiet")]
    return "\n".join([
        grid(["process", "processors, as in bench", "as with shoppers", "replicas"], [*rows, row("all", *sums)]),
        f"Processors to have, by the costs of a {sizing.pace} shop: {sizing.cores_needed}"])


def writers(sizing):
    rows = [
        [service, number(sizing.writes(service)), number(sizing.commits(service)), number(sizing.group(service)),
         number(sizing.writer_limit(service)), number(sizing.thread_limit(service)),
         f"{sizing.writes(service) / sizing.writer_limit(service):.1%}"]
        for service in SERVICES if service != "gateway"
    ]
    header = [
        "writer of", "writes/s", "commits and fsyncs/s", "writes a commit", "reached in bench", "the thread alone",
        "in use",
    ]
    return grid(header, rows) + (
        "\nanalytics does not wait for the disk. Of users nothing was measured: it is the thread's.")


def rest(sizing):
    demand = sizing.demand
    rows = [
        ["questions and answers over the bus", f"{number(sizing.messages)}/s",
         f"passed in a measurement: {sizing.costs.figures['gateway']['brokerPassed']:,}/s"],
        ["connections", number(sizing.connections), "SATCHEL_CONNECTIONS_MAX is 4,096 unless set"],
        ["memory of the processes", size(sizing.megabytes * 1e6), "without the system's copies of files"],
        ["disk, a day", size(sizing.disk()), f"{size(sizing.disk() * 365)} a year; "
         f"{size(demand.orders * sizing.costs.figures['disk']['bytesPerMail'])} a day of it are mails in the spool"],
        ["network at the peak", f"{size(sizing.network)}/s", f"{sizing.network / GIGABIT:.2f} Gbit/s"],
    ]
    return grid(["what", "how much", "note"], rows)


def limits(sizing):
    orders = sizing.demand.orders
    rows = [
        [one.name, number(one.load), number(one.limit), one.unit, f"{orders * one.room:,.0f}", one.remedy]
        for one in sizing.bottlenecks if one.load
    ]
    first = sizing.bottlenecks[0]
    return "\n".join([
        f"With one replica of each service, the usual settings and {sizing.cores} processors, in their order:",
        grid(["bottleneck", "load", "limit", "unit", "reached at orders a day", "then"], rows),
        f"First: {first.name}, at {orders * first.room:,.0f} orders a day "
        f"({sizing.demand.visits * first.room:,.0f} visits)."])
