"""Which faults happen in a run, and in which order: the same for a seed and a length, on every machine."""
import random
import typing

KILL, PAUSE, HANG, RESTART, SCALE = "kill", "pause", "hang", "restart", "scale"
DROP, DELAY, FULL, STALL, CLOCK, CARDS = "drop", "delay", "full disk", "slow disk", "clock", "cards"
# Faults of the payment provider: no answer, an answer after the client's timeout, an error, events, refunds.
SILENT, LATE, ERRORS, EVENTS, REFUNDS = "silent provider", "late provider", "provider's errors", "late events", "refused refunds"
FAILOVER, OUTAGE = "failover", "database restart"
PROVIDER = (SILENT, LATE, ERRORS, EVENTS, REFUNDS)
# The disk has no databases when PostgreSQL has them.
OF_DATABASE = {"sqlite": (FULL, STALL), "postgresql": (FAILOVER, OUTAGE)}
EVERYWHERE = (PAUSE, HANG, RESTART, SCALE, DROP, DELAY, CLOCK, CARDS, *PROVIDER)
# Faults that last. A process may be killed in their middle.
LASTING = (DROP, DELAY, CLOCK, CARDS, *PROVIDER, *OF_DATABASE["sqlite"], *OF_DATABASE["postgresql"])
KILLS_PER_MINUTE, OTHERS_PER_MINUTE = 10, 8
# Replicas at the start; the other services have one each.
SCALE_AT_START = {"catalog": 2, "users": 2, "bag": 2, "payments": 2}
SERVICES = ("gateway", "catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud", "web")
SCALED = ("gateway", "catalog", "users", "bag", "payments")
# The services of a checkout fail more often than the others.
TARGETS = (*SCALED, *SCALED[1:], *SERVICES)
CLOCK_STEPS = (-60, -7, 7, 60)


class Fault(typing.NamedTuple):
    """number: from 1. target: a replica, service=count, a service or *. seconds: how long a lasting fault goes on.

    amount: seconds of a pause, share of lost messages or of the provider's requests, milliseconds of a delay, seconds of a
    stall, of a clock's step.
    meanwhile: the replica that is killed in the middle, or empty.
    pause: seconds until the next fault; 0: the next one begins at once, before the shop has recovered.
    """

    number: int
    kind: str
    target: str = ""
    seconds: float = 0
    amount: float = 0
    meanwhile: str = ""
    pause: float = 0

    @property
    def text(self):
        words = {
            PAUSE: f"{self.target} stands still for {self.amount} s", HANG: f"{self.target} stands still for good",
            DROP: f"{self.target} loses {self.amount:.0%} of its messages",
            DELAY: f"{self.target} gets messages {self.amount:.0f} ms late", FULL: "the disk is full",
            STALL: f"the disk stands still for {self.amount} s, again and again",
            CLOCK: f"the clock is {self.amount:+.0f} s off", CARDS: "most cards are refused or ask their bank",
            SILENT: f"the provider leaves {self.amount:.0%} unanswered", LATE: f"the provider answers {self.amount:.0%} too late",
            ERRORS: f"the provider answers {self.amount:.0%} with an error",
            EVENTS: f"{self.amount:.0%} of the provider's events come late and twice",
            REFUNDS: f"the provider fails {self.amount:.0%} of the refunds, and later refuses them",
            FAILOVER: "PostgreSQL's primary is killed, its standby promoted", OUTAGE: "PostgreSQL is stopped and started",
        }.get(self.kind, f"{self.kind} {self.target}")
        lasting = f", {self.seconds} s" if self.kind in LASTING else ""
        return words + lasting + (f", kill {self.meanwhile} meanwhile" if self.meanwhile else "")


class _Planner:
    def __init__(self, seed, database):
        self.kinds_of_others = (*EVERYWHERE, *OF_DATABASE[database])
        self.random = random.Random(seed)
        self.scale = dict(SCALE_AT_START)
        self.deck = []

    def replica(self):
        service = self.random.choice(TARGETS)
        return f"{service}-{self.random.randint(1, self.scale.get(service, 1))}"

    def other(self):
        """Each other kind comes once before one comes again."""
        if not self.deck:
            self.deck = list(self.kinds_of_others)
            self.random.shuffle(self.deck)
        return self.deck.pop()

    def kinds(self):
        kinds = [KILL] * KILLS_PER_MINUTE + [self.other() for _ in range(OTHERS_PER_MINUTE)]
        self.random.shuffle(kinds)
        return kinds

    def rescale(self):
        """One replica more, or back to the number at the start."""
        service = self.random.choice(SCALED)
        usual = SCALE_AT_START.get(service, 1)
        self.scale[service] = usual + 1 if self.scale.get(service, usual) == usual else usual
        return f"{service}={self.scale[service]}"

    def fault(self, number, kind):
        pick = self.random
        target, amount = "", 0
        if kind in (KILL, PAUSE, HANG):
            target = self.replica()
        elif kind == RESTART:
            target = pick.choice(("gateway", *SCALED))
        elif kind == SCALE:
            target = self.rescale()
        elif kind in (DROP, DELAY):
            target = pick.choice(("*", *SCALED[1:]))
        if kind == PAUSE:
            # The watchdog takes 1.5 s for a failure.
            amount = round(pick.uniform(0.2, 1.2), 1)
        elif kind == DROP:
            amount = round(pick.uniform(0.02, 0.2), 2)
        elif kind == DELAY:
            amount = pick.randrange(100, 1500, 100)
        elif kind in PROVIDER:
            amount = round(pick.uniform(0.3, 0.9), 1)
        elif kind == STALL:
            amount = round(pick.uniform(0.2, 1.5), 1)
        elif kind == CLOCK:
            amount = pick.choice(CLOCK_STEPS)
        seconds = pick.randint(4, 8) if kind in LASTING else 0
        meanwhile = self.replica() if kind in LASTING and pick.random() < 0.5 else ""
        pause = 0 if pick.random() < 0.25 else round(pick.uniform(0.5, 2.5), 1)
        return Fault(number, kind, target, seconds, amount, meanwhile, pause)


def schedule(seed, minutes, database="sqlite"):
    """The faults of a run: ten kills and eight others a minute."""
    planner = _Planner(seed, database)
    return [
        planner.fault(minute * (KILLS_PER_MINUTE + OTHERS_PER_MINUTE) + index + 1, kind)
        for minute in range(minutes) for index, kind in enumerate(planner.kinds())
    ]


def kills(faults):
    return sum((fault.kind == KILL) + bool(fault.meanwhile) for fault in faults)
