"""The payment provider of a chaos run: the tests' strict double of Stripe, whose answers, events and refunds may fail.

Usage: provider_double.py SECRET-KEY WEBHOOK-SECRET PORT WEBHOOK-URL

Control (no key needed):
  POST /_control/mode    {"kind": of PROVIDER in schedule.py or empty, "share": of the requests}; answers {"hits"} of the last mode
  POST /_control/authenticate {"outcome", "id"}: as in the double
  GET  /_control/books   charges and refunds [[orderId, amount]], events [eventId] that the shop took, undelivered, violations
"""
import collections
import heapq
import itertools
import json
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "Tests/Peers/servers"))

import stripe_double as stripe
from schedule import ERRORS, EVENTS, LATE, REFUNDS, SILENT

# Longer than the SATCHEL_STRIPE_TIMEOUT_SECONDS of scripts/chaos.
SILENCE_SECONDS = 4
PROMPT_SECONDS, LATE_SECONDS = (0, 1), (5, 30)
RETRY_SECONDS = 2
SENDERS = 8
EVENT_TYPES = {
    "succeeded": "payment_intent.succeeded", "requires_payment_method": "payment_intent.payment_failed",
    "canceled": "payment_intent.canceled",
}
BEFORE, AFTER = ("429", "500", "503"), ("500_after",)
# A key under which Stripe keeps its error. A refund would wait a day for another one.
KEPT = ("500_saved",)


class Events:
    """Sends each event, signed at that moment, until the shop takes it."""

    def __init__(self, secret, url):
        self.secret, self.url = secret, url
        self.waiting, self.numbers = [], itertools.count()
        self.under_way, self.taken = 0, set()
        self.changed = threading.Condition()

    def add(self, kind, about, is_late):
        event = {
            "eventId": stripe.new("evt"), "type": kind, "objectId": about["id"], "changes": about, "secret": self.secret, "url": self.url}
        for _ in range(2 if is_late else 1):
            self._wait(random.uniform(*(LATE_SECONDS if is_late else PROMPT_SECONDS)), event)

    def _wait(self, seconds, event):
        with self.changed:
            heapq.heappush(self.waiting, (time.monotonic() + seconds, next(self.numbers), event))
            self.changed.notify()

    def undelivered(self):
        with self.changed:
            return len(self.waiting) + self.under_way

    def run(self):
        with ThreadPoolExecutor(SENDERS) as senders:
            while True:
                senders.submit(self._send, self._next())

    def _next(self):
        with self.changed:
            while not self.waiting or self.waiting[0][0] > time.monotonic():
                self.changed.wait(max(0, self.waiting[0][0] - time.monotonic()) if self.waiting else None)
            self.under_way += 1
            return heapq.heappop(self.waiting)[2]

    def _send(self, event):
        try:
            answer = stripe.send_event(event)
        except (OSError, ValueError) as error:
            answer = {"answer": repr(error)}
        is_taken = answer.get("status") == 200
        if not is_taken:
            print(event["eventId"], event["type"], answer.get("status"), answer["answer"][:200], flush=True)
            self._wait(RETRY_SECONDS, event)
        with self.changed:
            self.under_way -= 1
            if is_taken:
                self.taken.add(event["eventId"])


class Mode:
    """What happens to requests now."""

    def __init__(self):
        self.kind, self.share, self.hits = "", 0, 0
        # The keys of refunds that are refused for good.
        self.refused = set()

    def change(self, kind, share):
        """Returns how many requests the last mode hit."""
        hits, self.kind, self.share, self.hits = self.hits, kind, share, 0
        return hits

    def fault(self, path, key):
        """How a request fails, as the double names it, and for how many seconds."""
        if random.random() >= self.share:
            return None, 0
        found = {
            SILENT: ("slow_before", SILENCE_SECONDS), LATE: ("slow_after", SILENCE_SECONDS),
            ERRORS: (random.choice(BEFORE + AFTER + KEPT * path.startswith("/v1/payment_intents")), 0),
        }.get(self.kind, (None, 0))
        # The refund of a charge without an order (`:undo`) would wait for an operator.
        if self.kind == REFUNDS and path == "/v1/refunds" and key and ":undo" not in key:
            self.refused.add(key)
            found = ("500", 0)
        self.hits += found[0] is not None
        return found


mode = Mode()
events = None


def tell(intent, is_late):
    if kind := EVENT_TYPES.get(intent["status"]):
        mode.hits += is_late
        events.add(kind, stripe.show_intent(intent, {}), is_late)


class Handler(stripe.Handler):
    def fault(self, path):
        return mode.fault(path, self.headers.get("Idempotency-Key"))

    def work(self, path, form):
        if path == "/v1/refunds" and self.headers.get("Idempotency-Key") in mode.refused:
            return 400, stripe.invalid("charge_disputed", "The charge is disputed.", None).body
        status, answer = super().work(path, form)
        is_late = mode.kind == EVENTS and random.random() < mode.share
        parts = path.split("/")
        if self.command == "POST" and parts[2] == "payment_intents" and len(parts) == 5:
            if intent := stripe.intents.get(parts[3]):
                tell(intent, is_late)
        elif self.command == "POST" and path == "/v1/refunds" and status == 200:
            mode.hits += is_late
            events.add("charge.refunded", dict(stripe.charges[answer["charge"]]), is_late)
        return status, answer

    def control(self, what, body):
        order = json.loads(body or b"{}")
        with stripe.lock:
            if what == "mode":
                answer = {"hits": mode.change(order["kind"], order["share"])}
            elif what == "authenticate":
                intent = stripe.intents.get(order["id"])
                if intent and intent["status"] == "requires_action":
                    stripe.authenticate(order["outcome"], order["id"])
                    tell(intent, False)
                answer = {}
            else:
                charges = stripe.charges
                answer = {
                    "charges": [[charge["metadata"]["order_id"], charge["amount"]] for charge in charges.values()],
                    "refunds": [
                        [charges[refund["charge"]]["metadata"]["order_id"], refund["amount"]] for refund in stripe.refunds.values()],
                    "events": sorted(events.taken), "undelivered": events.undelivered(), "violations": stripe.violations[:10],
                }
        self.answer(200, answer)


def main():
    global events
    # Half an hour has a hundred thousand.
    stripe.requests = collections.deque(maxlen=100)
    _, _, secret, port, url = sys.argv
    events = Events(secret, url)
    threading.Thread(target=events.run, daemon=True).start()
    stripe.Server(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main()
