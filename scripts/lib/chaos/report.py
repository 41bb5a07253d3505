"""What the clients met, by fault: pure functions of the answers and the faults."""
import bisect
import collections
import re
import typing

import schedule

KINDS = ("read", "bag", "order", "refund", "stock", "sign-in")
# Signals by which a process ends by its own fault; the run sends none of them.
CRASHES = re.compile(r"exited: (\S+) \(terminated by (SIG(?:ILL|TRAP|SEGV|BUS|ABRT|FPE|SYS))")


class Answer(typing.NamedTuple):
    """A request's kind, when it was sent and answered in seconds of the run, and its outcome: empty when it succeeded."""

    kind: str
    sent: float
    ended: float
    outcome: str = ""


class Happened(typing.NamedTuple):
    """A fault with the second at which it began; skipped: why it could not happen here, or empty."""

    fault: typing.Any
    began: float
    skipped: str = ""


def gap(successes, began, until):
    """The longest time without a success from `began` to `until`, and, when none came by then, to the first one after it.

    successes: the times of all successes, sorted. Returns None when there was none after `began`.
    """
    first = bisect.bisect_left(successes, began)
    if first == len(successes):
        return None
    last = max(first + 1, bisect.bisect_right(successes, until))
    times = [began, *successes[first:last]]
    times.append(max(until, times[-1]))
    return max(later - earlier for earlier, later in zip(times, times[1:]))


def gaps(happened, answers, end):
    """For each fault the longest time without a success of each kind, until the next fault began."""
    successes = {kind: sorted(answer.ended for answer in answers if answer.kind == kind and not answer.outcome) for kind in KINDS}
    begins = [each.began for each in happened] + [end]
    return [
        (each, {kind: gap(successes[kind], each.began, until) for kind in KINDS})
        for each, until in zip(happened, begins[1:]) if not each.skipped
    ]


def failures(answers):
    """How many requests of each kind failed, by outcome."""
    return collections.Counter((answer.kind, answer.outcome) for answer in answers if answer.outcome)


def idle_faults(happened, log):
    """The faults of the bus that lost or delayed nothing, as the services' logs have them (LaneFaults)."""
    kinds = [each.fault for each in happened if not each.skipped]
    delays = {int(delay) for delay, late in re.findall(r"bus\.delay=(\d+).* bus\.late=(\d+)", log) if int(late)}
    findings = [
        f"{fault.text}: no message was late" for fault in kinds
        if fault.kind == schedule.DELAY and int(fault.amount) not in delays]
    drops = [fault for fault in kinds if fault.kind == schedule.DROP]
    if drops and not any(map(int, re.findall(r"bus\.lost=(\d+)", log))):
        findings.append(f"{len(drops)} losses of messages lost none")
    return findings


def crashes(log):
    """The processes that ended by a fault of their own, as the process manager's log has them."""
    return [f"{replica} ended by {signal}" for replica, signal in CRASHES.findall(log)]


def _cell(seconds):
    return "never" if seconds is None else f"{seconds:.1f}"


def text(happened, answers, end):
    """The report in plain text."""
    lines = [f"{'second':>7}  {'fault':<62}" + "".join(f"{kind:>9}" for kind in KINDS)]
    longest = {}
    for each, met in gaps(happened, answers, end):
        lines.append(f"{each.began:7.1f}  {each.fault.text:<62}" + "".join(f"{_cell(met[kind]):>9}" for kind in KINDS))
        kept = longest.setdefault(each.fault.kind, (0, {}))
        longest[each.fault.kind] = (kept[0] + 1, {
            kind: None if None in (met[kind], kept[1].get(kind, 0)) else max(met[kind], kept[1].get(kind, 0)) for kind in KINDS})
    lines += ["", f"{'longest':>7}  {'kind of fault':<62}" + "".join(f"{kind:>9}" for kind in KINDS)]
    lines += [
        f"{count:>6}x  {kind:<62}" + "".join(f"{_cell(worst[name]):>9}" for name in KINDS)
        for kind, (count, worst) in sorted(longest.items())
    ]
    skipped = collections.Counter((each.fault.kind, each.skipped) for each in happened if each.skipped)
    lines += [f"skipped {count} x {kind}: {why}" for (kind, why), count in sorted(skipped.items())]
    total = collections.Counter(answer.kind for answer in answers)
    lines += ["", "requests: " + ", ".join(f"{total[kind]} {kind}" for kind in KINDS)]
    lines += [f"failed {count} x {kind}: {outcome}" for (kind, outcome), count in sorted(failures(answers).items())]
    return "\n".join(lines)
