"""The work of scripts/chaos on a running suite: load, faults, report, comparison."""
import argparse
import collections
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.path.append(str(ROOT / "scripts/lib/bench"))

import audit
import report
import schedule
from client import Client, Log
from cluster import Cluster
from faults import Faults, Impossible
from provider import Provider
from report import Happened
from shoppers import OPENING_STOCK, PATIENCE_SECONDS, Desk, Shop, Shopper

# How long after a fault each kind of request may fail.
RECOVERY_SECONDS = 120
WARM_UP_SECONDS = 3
VERIFY_SECONDS = 600


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/chaos")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--minutes", type=int, required=True)
    parser.add_argument("--database", default="sqlite", choices=schedule.OF_DATABASE)
    parser.add_argument("--list", action="store_true", help="print the faults, and do nothing else")
    parser.add_argument("--shoppers", type=int, default=12)
    parser.add_argument("--port", type=int)
    parser.add_argument("--data")
    parser.add_argument("--provider-port", type=int, help="of provider_double.py")
    parser.add_argument("--cluster", default="", help="the folder of cluster.py, or empty")
    parser.add_argument("--disk", default="", help="the mount point of the suite's own disk")
    parser.add_argument("--clock", default="", help="the file that steps the suite's clock")
    parser.add_argument("--report", default=".", help="the folder for chaos.txt and chaos-log.jsonl")
    return parser.parse_args()


def say(line):
    print(line, flush=True)


class Run:
    """A run against the suite that scripts/chaos started."""

    def __init__(self, options, faults):
        self.options, self.schedule = options, faults
        self.log = Log(os.path.join(options.report, "chaos-log.jsonl"))
        with open(os.path.join(options.data, "master.key"), encoding="ascii") as file:
            self.master_key = file.read().strip()
        self.shop = Shop(options.port, self.log, self.master_key, options.seed, Provider(options.provider_port))
        self.cluster = Cluster(options.cluster) if options.cluster else None
        self.faults = Faults(str(ROOT), options.data, options.disk, options.clock, self.shop, self.cluster)
        self.happened = []

    def __call__(self):
        """Returns the exit status."""
        self.shop.fill()
        shoppers = [Shopper(self.shop, number) for number in range(self.options.shoppers)]
        for shopper in shoppers:
            shopper.sign_up()
        threads = [*shoppers, Desk(self.shop, 1)]
        for thread in threads:
            thread.start()
        self.recover(self.log.now(), "the start")
        time.sleep(WARM_UP_SECONDS)
        for fault in self.schedule:
            self.cause(fault)
        self.recover(self.log.now(), "the last fault")
        end = self.log.now()
        self.shop.end()
        limit = time.monotonic() + PATIENCE_SECONDS * 2
        for thread in threads:
            thread.join(max(0, limit - time.monotonic()))
            if thread.is_alive():
                self.log.problem(f"{thread.name} did not end")
                thread.unanswered()
        return self.conclude(end)

    def cause(self, fault):
        began = self.log.now()
        head = f"{began:7.1f} s  {fault.number:>4}/{len(self.schedule)}  {fault.text}"
        try:
            self.faults.perform(fault)
        except Impossible as reason:
            self.happened.append(Happened(fault, began, str(reason)))
            return say(f"{head}: skipped, {reason}")
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            self.log.problem(f"{fault.text}: {error}")
        self.happened.append(Happened(fault, began))
        notes = "".join(f"; {note}" for note in self.faults.notes)
        self.faults.notes.clear()
        if not fault.pause:
            return say(f"{head}{notes}; the next at once")
        took = self.recover(self.log.now(), fault.text)
        say(f"{head}{notes}; all is answered {took:.1f} s later")
        return time.sleep(fault.pause)

    def recover(self, since, what):
        """Waits until each kind of request that was sent after that second has succeeded. Returns how long that took."""
        while not self.log.has_succeeded_since(since, report.KINDS):
            if self.log.now() - since > RECOVERY_SECONDS:
                self.log.problem(f"{RECOVERY_SECONDS} s after {what} not every kind of request succeeds")
                break
            time.sleep(0.05)
        return self.log.now() - since

    def conclude(self, end):
        client = Client(self.options.port, self.log, self.master_key)
        say("Comparing the clients' log with the data")
        opening = {product: OPENING_STOCK for product in self.shop.products}
        query = self.cluster.rows if self.cluster else audit.of_files(self.options.data)
        findings = self.log.problems + audit.settle(client, self.options.data, query, self.shop.provider, opening, self.log.told)
        findings += report.crashes(self.logs("supervisord.log"))
        findings += self.faults.findings() + report.idle_faults(self.happened, self.logs(*schedule.SERVICES))
        findings += self.verify()
        counts = collections.Counter(fact["what"] for fact in self.log.told)
        events = len(self.shop.provider.books()["events"])
        text = "\n".join([
            f"seed {self.options.seed}, {end:.0f} s, {len(self.happened)} faults, {self.faults.kills} kills, "
            f"{self.options.shoppers} shoppers", "Longest time without a success, in seconds, until the next fault:", "",
            report.text(self.happened, self.log.answers, end), "",
            f"acknowledged: {counts['order']} orders, {counts['refund']} refunds, {counts['denied']} refused refunds, "
            f"{counts['stock']} changes of stock; "
            f"{counts['maybe']} changes of stock without an answer; {counts['refused']} refusals of a good card; "
            f"{events} events of the provider",
            *(f"WRONG: {finding}" for finding in findings),
            "The clients' log and the data disagree, or a request failed for good." if findings else
            "Each acknowledged order, charge, refund and change of stock is in the data once."])
        with open(os.path.join(self.options.report, "chaos.txt"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        say(text)
        return 1 if findings else 0

    def logs(self, *beginnings):
        texts = []
        for name in sorted(os.listdir(f"{self.options.data}/logs")):
            if name.startswith(beginnings):
                with open(f"{self.options.data}/logs/{name}", encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
        return "\n".join(texts)

    def verify(self):
        """The findings of scripts/verify, where the release has it."""
        script = ROOT / "scripts/verify"
        if not os.access(script, os.X_OK):
            say("There is no scripts/verify; only the clients' log was compared.")
            return []
        done = subprocess.run(
            [str(script)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=VERIFY_SECONDS, check=False)
        say(done.stdout.rstrip())
        return [f"scripts/verify ends with status {done.returncode}"] if done.returncode else []


def main():
    options = arguments()
    faults = schedule.schedule(options.seed, options.minutes, options.database)
    if options.list:
        for fault in faults:
            print(f"{fault.number:>4}  {fault.text}" + ("" if fault.pause else "; the next at once"))
        return 0
    return Run(options, faults)()


if __name__ == "__main__":
    sys.exit(main())
