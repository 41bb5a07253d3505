"""The drill: causes each kind of fault alone, records what the alert rules read, and writes a test of promtool for each.

A second of the recording is 15 seconds of the test, the interval of a scrape: a fault that lasts for 40 s is one of
10 minutes. Ratios of counters, latencies and free space stay as they were. Ages and times of a start are stretched, a
clock's error is not. Within a window a counter grows as in a shop with a fifteenth of the load, and what the shop does by
itself, such as a restart or a repetition, takes 15 times as long as in truth: a rule that passes is a patient one.
"""
import argparse
import collections
import http.client
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import typing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.append(str(ROOT / "scripts/lib/bench"))

import postgresql
import report
import schedule
from client import Log
from faults import Faults, Impossible
from measuring import machine
from provider import Provider
from schedule import Fault
from shoppers import Desk, Shop, Shopper

STRETCH = 15
SHOPPERS = 4
CALM_SECONDS, AFTERWARDS_SECONDS, RECOVERY_SECONDS = 20, 20, 120
SCRAPE_SECONDS = 10
# A multiple of the number in shoppers.py.
PURCHASES_PER_SIGN_IN = 20
# The bounds of buckets around 0.2 s and 1 s, with which the rules compare; the others are merged.
BOUNDS = {
    "satchel_service_call_duration_seconds_bucket": ("0.1024", "0.2048", "+Inf"),
    "satchel_http_request_duration_seconds_bucket": ("0.8192", "1.6384", "+Inf"),
}
# No bank, no check when the card is saved: each charge is declined.
DECLINED_CARD = "tok_chargeDeclined"
RULES = ROOT / "compose/prometheus/rules.yml"

PROCESS = ("service", "process")
# The labels of each recorded metric. Series of the gateway that differ in others are added up, as the rules do.
LABELS = {
    "satchel_disk_free_bytes": (),
    "satchel_service_up": ("service",),
    "satchel_service_replicas": ("service",),
    "satchel_process_start_time_seconds": PROCESS,
    "satchel_process_clock_seconds": PROCESS,
    "satchel_process_open_fds": PROCESS,
    "satchel_process_max_fds": PROCESS,
    "satchel_store_commits_total": PROCESS,
    "satchel_store_commit_seconds_total": PROCESS,
    "satchel_service_call_duration_seconds_count": ("service", "outcome"),
    "satchel_service_call_duration_seconds_bucket": ("service", "le"),
    "satchel_http_request_duration_seconds_count": ("status",),
    "satchel_http_request_duration_seconds_bucket": ("le",),
    "satchel_outbox_oldest_age_seconds": PROCESS,
    "satchel_outbox_messages": (*PROCESS, "state"),
    "satchel_books_problems": ("kind",),
    "satchel_books_check_time_seconds": (),
    "satchel_mails_queued": PROCESS,
    "satchel_mails_total": (*PROCESS, "outcome"),
    "satchel_push_deliveries_total": (*PROCESS, "outcome"),
    "satchel_payments_open": (*PROCESS, "kind"),
    "satchel_payments_total": (*PROCESS, "kind", "outcome"),
}
# Longer values are written once, as buckets often have the same ones.
ALIASED_LENGTH_MIN = 30
SAMPLE = re.compile(r"^(satchel_\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')
# The service's PostgreSQL loses its connections, and takes no new ones for some seconds.
FAILOVER = "failover"
UP = ("up", (("job", "satchel"), ("instance", "shop")))


class Exercise(typing.NamedTuple):
    """A fault, how long its effects are recorded before it ends, and the alerts that have to fire.

    alerts: names, each with its service if that is the fault's. again: seconds after which the fault is repeated.
    """

    fault: Fault
    seconds: int
    alerts: tuple
    again: float = 0

    @property
    def name(self):
        return re.sub(r"\W+", "-", f"{self.fault.kind} {self.fault.target}".strip(" *"))


EXERCISES = (
    Exercise(Fault(1, schedule.KILL, "bag-1"), 20, (("SatchelProcessRestarted", "bag"),)),
    Exercise(Fault(2, schedule.HANG, "payments-1"), 20, (("SatchelProcessRestarted", "payments"),)),
    Exercise(Fault(3, schedule.PAUSE, "gateway-1", amount=1), 65, (("SatchelSlow", ""),), 2),
    Exercise(Fault(4, schedule.RESTART, "gateway"), 20, (("SatchelProcessRestarted", "gateway"),)),
    Exercise(Fault(5, schedule.SCALE, "catalog=3"), 20, ()),
    Exercise(Fault(6, schedule.SCALE, "catalog=2"), 30, (("SatchelReplicaMissing", "catalog"),)),
    Exercise(Fault(7, schedule.DROP, "bag", 50, 0.15), 50, (("SatchelCallsFail", "bag"),)),
    Exercise(Fault(8, schedule.DELAY, "bag", 50, 600), 50, (("SatchelServiceSlow", "bag"),)),
    Exercise(Fault(9, schedule.FULL, "", 40), 40, (("SatchelDiskFull", ""),)),
    Exercise(Fault(10, schedule.STALL, "", 50, 0.5), 50, (("SatchelDiskSlow", ""),)),
    Exercise(Fault(11, schedule.CLOCK, "", 20, 60), 20, (("SatchelClockWrong", ""),)),
    Exercise(Fault(12, schedule.CARDS, "", 60), 60, (("SatchelPaymentsDeclined", ""),)),
    # With two replicas one takes over, and the other one starts again: SatchelProcessRestarted.
    Exercise(Fault(13, FAILOVER, "mail", 3), 20, (("SatchelServiceInterrupted", "mail"),)),
)


class Customer(Shopper):
    """While the provider declines, all of its cards fail. It signs in seldom: a password takes as long as 20 other requests."""

    def sign_in(self):
        if self.purchases % PURCHASES_PER_SIGN_IN == 0:
            super().sign_in()

    def buy(self):
        if self.shop.card_share < 1:
            return super().buy()
        return self.pay(DECLINED_CARD)


# --- Recording


def samples(text):
    """The series of a page that are recorded, as {(metric, labels): value}."""
    found = {}
    for name, written, value in SAMPLE.findall(text):
        if name not in LABELS:
            continue
        labels = dict(LABEL.findall(written))
        if labels.get("le") not in BOUNDS.get(name, (None,)) or labels.get("state", "parked") != "parked":
            continue
        key = (name, tuple((label, labels[label]) for label in LABELS[name] if label in labels))
        value = float(value)
        if name == "satchel_disk_free_bytes":
            found[key] = min(value, found.get(key, value))
        else:
            found[key] = found.get(key, 0) + value
    return found


class Recorder(threading.Thread):
    """Scrapes the gateway once a second. A scrape that takes longer leaves seconds without one."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.rows, self.start_time, self.ended = port, {}, 0, False
        self.lock = threading.Lock()

    def begin(self):
        with self.lock:
            self.rows, self.start_time = {}, time.time()

    def run(self):
        while not self.ended:
            at = time.time()
            found = self.scrape()
            with self.lock:
                if at >= self.start_time:
                    self.rows[int(at - self.start_time)] = (at, found)
            time.sleep(max(0.05, 1 - (time.time() - self.start_time) % 1))

    def scrape(self):
        """None when the gateway does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SCRAPE_SECONDS)
        try:
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            text = answer.read().decode()
            return samples(text) if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


# --- Tests of promtool


def replayed(key, value, second, at, start):
    """A sample's value in the test: `second` of the recording that began at the time `start`, scraped at the time `at`."""
    name = key[0]
    if name == "satchel_process_clock_seconds":
        return second * STRETCH + round(value - at)
    if name in ("satchel_process_start_time_seconds", "satchel_books_check_time_seconds"):
        return round((value - start) * STRETCH)
    if name == "satchel_outbox_oldest_age_seconds":
        return round(value * STRETCH)
    if name in ("satchel_disk_free_bytes", "satchel_process_open_fds"):
        return float(f"{value:.2g}")
    return round(value, 2)


def columns(rows, start):
    """The values of each series by second: None for a second without a scrape, "stale" where a scrape lacks the series."""
    length = max(rows) + 1
    table = collections.defaultdict(lambda: [None] * length)
    for second, (at, found) in sorted(rows.items()):
        table[UP][second] = 0 if found is None else 1
        for key, value in (found or {}).items():
            table[key][second] = replayed(key, value, second, at, start)
        for key, values in table.items():
            if key != UP and key not in (found or {}):
                last = next((value for value in reversed(values[:second]) if value is not None), "stale")
                values[second] = "stale" if last != "stale" else None
    return table


def from_zero(values):
    """A counter's values less its first, which are shorter; after a restart of its process they stay as they are."""
    numbers = [value for value in values if is_number(value)]
    first = last = numbers[0]
    shifted = []
    for value in values:
        if is_number(value):
            first, last = 0 if value < last else first, value
            value = round(value - first, 2)
        shifted.append(value)
    return shifted


def is_number(value):
    return isinstance(value, (int, float))


def notation(values):
    """The values as promtool writes them: 1+0x3 for four ones, 0+2x2 for 0 2 4, _ for none."""
    parts, index = [], 0
    while index < len(values):
        value = values[index]
        if not is_number(value):
            count = len(list(itertools.takewhile(lambda each: each is None, values[index:])))
            parts.append(value or f"_x{count}")
            index += count or 1
            continue
        end, step = index + 1, 0
        if end < len(values) and is_number(values[end]):
            step = values[end] - value
            if step == 0 or float(step).is_integer() and float(value).is_integer():
                while end < len(values) and is_number(values[end]) and values[end] - values[end - 1] == step:
                    end += 1
        if end - index < 3:
            end, step = index + 1, 0
        parts.append(f"{number(value)}{step:+.0f}x{end - index - 1}" if end - index > 1 else number(value))
        index = end
    return " ".join(parts)


def number(value):
    return f"{value:.10g}"


def expected(alerts):
    return "[" + ", ".join(
        f"{{labels: '{{alertname=\"{name}\"" + (f', service="{service}"' if service else "") + "}', value: 1}"
        for name, service in alerts) + "]"


def test(name, alerts, calm, rows, start):
    """The file of an exercise's test: no alert before the fault, pending ones included, and exactly these in all."""
    lines = [
        "# Recorded by scripts/chaos --drill.", "rule_files: [../rules.yml]", f"evaluation_interval: {STRETCH}s", "tests:",
        f"  - name: {name}", f"    interval: {STRETCH}s", "    input_series:"]
    anchors = {}
    for (metric, labels), column in sorted(columns(rows, start).items()):
        series = metric + "{" + ", ".join(f'{label}="{value}"' for label, value in labels) + "}"
        values = notation(from_zero(column) if metric.endswith(("_total", "_count", "_bucket")) else column)
        if len(values) < ALIASED_LENGTH_MIN:
            written = f"'{values}'"
        elif values in anchors:
            written = f"*{anchors[values]}"
        else:
            anchors[values] = f"v{len(anchors)}"
            written = f"&{anchors[values]} '{values}'"
        lines.append(f"      - {{series: '{series}', values: {written}}}")
    lines.append("    promql_expr_test:")
    by = "alertname, service" if any(service for _, service in alerts) else "alertname"
    end = f"{max(rows) * STRETCH}s"
    for expression, at, wanted in (
            ("max by (alertname) (ALERTS)", f"{calm * STRETCH}s", ()),
            (f'max by ({by}) (max_over_time(ALERTS{{alertstate="firing"}}[{end}]))', end, alerts)):
        lines += [f"      - expr: {expression}", f"        eval_time: {at}", f"        exp_samples: {expected(wanted)}"]
    return "\n".join(lines) + "\n"


# --- The run


class Drill:
    def __init__(self, options):
        self.folder = os.path.join(options.report, "recorded")
        os.makedirs(self.folder, exist_ok=True)
        shutil.copy(RULES, os.path.join(options.report, "rules.yml"))
        with open(os.path.join(options.data, "master.key"), encoding="ascii") as file:
            self.shop = Shop(options.port, Log(os.devnull), file.read().strip(), 1, Provider(options.provider_port))
        self.log = self.shop.log
        self.faults = Faults(str(ROOT), options.data, options.disk, options.clock, self.shop)
        self.recorder, self.server = Recorder(options.port), None

    def __call__(self, exercises):
        """Returns the exit status."""
        self.shop.fill()
        customers = [Customer(self.shop, number) for number in range(SHOPPERS)]
        for customer in customers:
            customer.sign_up()
        for thread in (*customers, Desk(self.shop, 1), self.recorder):
            thread.start()
        time.sleep(AFTERWARDS_SECONDS)
        failed = [exercise.name for exercise in exercises if not self.perform(exercise)]
        self.recorder.ended = True
        self.shop.end()
        say(f"Failed: {', '.join(failed)}" if failed else "Each fault raised its alert and no other.")
        return 1 if failed else 0

    def perform(self, exercise):
        """Returns whether the fault raised its alerts and no others."""
        if exercise.fault.kind != FAILOVER:
            return self.hold(exercise)
        with postgresql.server() as self.server:
            target = f"postgresql://shop@/postgres?host={self.server}"
            subprocess.run(
                [f"{ROOT}/scripts/move", exercise.fault.target, "--to", target], stdin=subprocess.DEVNULL, check=True)
            # The rule overlooks processes that are new.
            time.sleep(AFTERWARDS_SECONDS)
            return self.hold(exercise)

    def hold(self, exercise):
        self.recorder.begin()
        time.sleep(CALM_SECONDS)
        began = self.log.now()
        try:
            self.cause(exercise, began)
        except Impossible as reason:
            say(f"{exercise.name}: skipped, {reason}")
            return True
        ended = self.log.now()
        time.sleep(AFTERWARDS_SECONDS)
        with self.recorder.lock:
            rows, start = dict(self.recorder.rows), self.recorder.start_time
        file = os.path.join(self.folder, f"{exercise.name}.yml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(test(exercise.fault.text, exercise.alerts, CALM_SECONDS - 1, rows, start))
        done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True, check=False)
        say(f"{exercise.fault.text}: {max(rows) + 1} s, {os.path.getsize(file) >> 10} KB"
            + (done.stdout + done.stderr if done.returncode else ""))
        while not self.log.has_succeeded_since(ended, report.KINDS):
            if self.log.now() - ended > RECOVERY_SECONDS:
                say(f"{RECOVERY_SECONDS} s later not every kind of request succeeds")
                return False
            time.sleep(0.1)
        return not done.returncode

    def cause(self, exercise, began):
        fault = exercise.fault
        if fault.kind == schedule.CARDS:
            usual, self.shop.card_share = self.shop.card_share, 1
            time.sleep(exercise.seconds)
            self.shop.card_share = usual
            return
        if fault.kind == FAILOVER:
            self.fail_over(fault.seconds)
        else:
            self.faults.perform(fault)
        while (left := began + exercise.seconds - self.log.now()) > 0:
            time.sleep(min(left, exercise.again or left))
            if exercise.again:
                self.faults.perform(fault)

    def fail_over(self, seconds):
        socket = f"{self.server}/.s.PGSQL.5432"
        with open(f"{self.server}/data/postmaster.pid", encoding="ascii") as file:
            pid = int(file.readline())
        os.rename(socket, socket + ".away")
        # The server ends all connections when one of its processes is killed.
        os.kill(machine.children(pid)[0], signal.SIGKILL)
        time.sleep(seconds)
        os.rename(socket + ".away", socket)


def say(line):
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/chaos --drill")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--disk", default="")
    parser.add_argument("--clock", default="")
    parser.add_argument("--provider-port", type=int, required=True)
    parser.add_argument("--report", default=".")
    parser.add_argument("--only", default="", help="names of tests, with commas")
    options = parser.parse_args()
    only = options.only.split(",")
    return Drill(options)([exercise for exercise in EXERCISES if not options.only or exercise.name in only])


if __name__ == "__main__":
    sys.exit(main())
