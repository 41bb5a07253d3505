"""The payment provider of the run: faults of requests and events, without a suite."""
import json
import sys
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler
from unittest import mock

import schedule
from provider import Provider

with mock.patch.object(sys, "argv", ["provider_double.py", "sk_test"]):
    import provider_double as double

CHARGE = {
    "amount": 700, "currency": "usd", "payment_method_types[]": "card", "payment_method_data[type]": "card",
    "payment_method_data[card][token]": "tok_visa", "metadata[order_id]": "o1", "metadata[operation_id]": "co_1",
}


class Shop(BaseHTTPRequestHandler):
    """Takes events, the first one at the second attempt."""

    taken, refusals = [], 1

    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if Shop.refusals:
            Shop.refusals -= 1
            return self.send_error(503)
        Shop.taken.append((event["id"], event["type"], event["data"]["object"]["id"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        return self.end_headers()

    def log_message(self, *_):
        pass


def serve(handler):
    server = double.stripe.Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class ProviderTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shop, server = serve(Shop), serve(double.Handler)
        for each in (shop, server):
            cls.addClassCleanup(each.server_close)
            cls.addClassCleanup(each.shutdown)
        cls.url = f"http://127.0.0.1:{server.server_port}"
        cls.provider = Provider(server.server_port)
        double.events = double.Events("whsec_test", f"http://127.0.0.1:{shop.server_port}")
        threading.Thread(target=double.events.run, daemon=True).start()
        quick = {"PROMPT_SECONDS": (0, 0), "LATE_SECONDS": (0.1, 0.2), "RETRY_SECONDS": 0.1, "SILENCE_SECONDS": 0.2}
        patch = mock.patch.multiple(double, **quick, print=mock.Mock(), create=True)
        patch.start()
        cls.addClassCleanup(patch.stop)

    def setUp(self):
        self.addCleanup(self.provider.change_mode)

    def post(self, path, key, **form):
        """The status and the answer; 0 without one."""
        request = urllib.request.Request(self.url + path, urllib.parse.urlencode(form).encode(), {
            "Authorization": "Bearer sk_test", "Stripe-Version": double.stripe.VERSION, "Idempotency-Key": key,
            "Content-Type": "application/x-www-form-urlencoded"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, {}

    def intent(self, key, **changes):
        return self.post("/v1/payment_intents", f"{key}:create", **CHARGE | changes)[1]

    def confirm(self, intent, key):
        return self.post(f"/v1/payment_intents/{intent['id']}/confirm", f"{key}:confirm")

    def count(self, name="charges"):
        return len(self.provider.books()[name])

    def events_of(self, intent):
        """The events that the shop has taken, when none is left."""
        end = time.monotonic() + 60
        while self.provider.books()["undelivered"]:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return [event for event in Shop.taken if event[2] == intent["id"]]

    def test_an_event_is_sent_until_the_shop_takes_it(self):
        intent = self.intent("once")
        self.assertEqual(self.confirm(intent, "once")[1]["status"], "succeeded")
        (event, kind, _), = self.events_of(intent)
        self.assertEqual(kind, "payment_intent.succeeded")
        self.assertIn(event, self.provider.books()["events"])

    def test_late_events_come_twice(self):
        self.provider.change_mode(schedule.EVENTS, 1)
        intent = self.intent("twice")
        self.confirm(intent, "twice")
        first, second = self.events_of(intent)
        self.assertEqual(first, second)
        self.assertEqual(self.provider.change_mode(), 1)

    def test_a_silent_provider_does_nothing_and_a_late_one_charges(self):
        intent = self.intent("silence")
        before = self.count()
        self.provider.change_mode(schedule.SILENT, 1)
        self.assertEqual(self.confirm(intent, "silence")[0], 0)
        self.assertEqual(self.count(), before)
        self.assertEqual(self.provider.change_mode(schedule.LATE, 1), 1)
        self.assertEqual(self.confirm(intent, "silence")[0], 0)
        self.assertEqual(self.count(), before + 1)
        self.provider.change_mode()
        self.assertEqual(self.confirm(intent, "silence")[1]["status"], "succeeded")
        self.assertEqual(self.count(), before + 1)

    def test_errors(self):
        self.provider.change_mode(schedule.ERRORS, 1)
        for number in range(20):
            self.assertIn(self.post("/v1/payment_intents", f"error{number}", **CHARGE)[0], (429, 500, 503))
        self.assertEqual(self.provider.change_mode(), 20)

    def test_a_refund_that_fails_is_refused_later(self):
        intent = self.intent("refund")
        self.confirm(intent, "refund")
        self.provider.change_mode(schedule.REFUNDS, 1)
        wish = {"payment_intent": intent["id"], "amount": 300}
        self.assertEqual(self.post("/v1/refunds", "r1:refund", **wish)[0], 500)
        self.assertEqual(self.post("/v1/refunds", "r2:undo:refund", **wish)[0], 200)
        self.assertEqual(self.provider.change_mode(), 1)
        status, answer = self.post("/v1/refunds", "r1:refund", **wish)
        self.assertEqual((status, answer["error"]["code"]), (400, "charge_disputed"))
        self.assertEqual(self.provider.books()["refunds"], [["o1", 300]])
        self.assertEqual(self.provider.books()["violations"], [])

    def test_the_bank_is_asked_about_one_payment(self):
        mine, other = (self.intent(key, **{"payment_method_data[card][token]": "tok_threeDSecure2Required"}) for key in ("a", "b"))
        for intent in (mine, other):
            self.assertEqual(self.confirm(intent, intent["id"])[1]["status"], "requires_action")
        for confirms in (True, False):
            self.provider.ask_bank(mine["client_secret"], confirms)
        self.assertEqual(double.stripe.intents[mine["id"]]["status"], "succeeded")
        self.assertEqual(double.stripe.intents[other["id"]]["status"], "requires_action")
        self.assertEqual(len(self.events_of(mine)), 1)


if __name__ == "__main__":
    unittest.main()
