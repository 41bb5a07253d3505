"""A strict double of Stripe's REST API, as far as the payments service uses it.

Usage: stripe_double.py <secret key>

Strict: it refuses a request without the key, the version or an idempotency key (POST), a request of cloud code with a version, and
any request with a parameter that Stripe does not support. It records them as violations. For a repeated idempotency key it returns the first answer, for another
request with that key 400, and while the first request is in progress 409. It counts every movement of money.

Control (no key needed):
  POST /_control/fail        {"how": …, "times": 1, "method": "POST", "path": "regular expression", "seconds": 2}
  POST /_control/forget_keys simulates that a day passes
  POST /_control/settle      {"status": "succeeded" or "canceled"}: the outcome of intents in state processing
  POST /_control/authenticate {"outcome": "succeed" or "fail", "id"?}: what the bank says about intents in state
                             requires_action, or about this one
  POST /_control/event       {"type", "objectId", "eventId"?, "secret", "how"?, "url"?}: signs an event about an object and sends it
                             to `url`; answers {"status", "answer", "body", "header"}
  POST /_control/charge      {"id", "changes"}: changes a charge; null removes it and its intent, an empty id makes one
  POST /_control/fail_refund {"reason"}: the bank does not take the newest refund
  POST /_control/page        {"max"}: the longest page of a list
  GET  /_control/state       the stored objects and the received requests

Failure modes before the work: close, slow_before, 400 401 403 404 409 429 (Retry-After: 0) 500 503, 500_saved (stored under the key).
After the work: slow_after, 500_after, garbage (not HTTP), nojson, empty, half (of an answer), wrong_amount, other_object.
"""
import hashlib
import hmac
import itertools
import json
import re
import sys
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

KEY = sys.argv[1]
VERSION = "2024-06-20"
CODE_AGENT = "Satchel cloud code"  # Its requests use the account's own version.
BEFORE = {"close", "slow_before", "400", "401", "403", "404", "409", "429", "500", "503", "500_saved"}

lock = threading.RLock()
ids = itertools.count(1)
customers, intents, charges, refunds = {}, {}, {}, {}
saved, under_way, used_tokens = {}, set(), set()
faults, requests, violations = [], [], []
page_max = 100

DECLINES = {
    "chargeDeclined": ("card_declined", "generic_decline", "Your card was declined.", True),
    "chargeDeclinedInsufficientFunds": ("card_declined", "insufficient_funds", "Your card has insufficient funds.", True),
    "chargeCustomerFail": ("card_declined", "generic_decline", "Your card was declined.", False),
    "threeDSecureRequiredChargeDeclined": ("card_declined", "generic_decline", "Your card was declined.", False),
}
ASKS_BANK = {"threeDSecure2Required", "threeDSecureRequiredChargeDeclined"}
CARDS = {
    "visa": ("Visa", "visa", "4242"), "mastercard": ("MasterCard", "mastercard", "4444"),
    "amex": ("American Express", "amex", "8431"), "threeDSecure2Required": ("Visa", "visa", "3220"),
    "threeDSecureRequiredChargeDeclined": ("Visa", "visa", "1629"),
    "chargeDeclined": ("Visa", "visa", "0002"), "chargeDeclinedInsufficientFunds": ("Visa", "visa", "9995"),
    "chargeCustomerFail": ("Visa", "visa", "0341"), "processing": ("Visa", "visa", "1111"),
}


class Refusal(Exception):
    def __init__(self, status, kind, code=None, message="refused", param=None, **more):
        self.status = status
        self.body = {"error": {"type": kind, "code": code, "message": message, "param": param, **more}}


def new(prefix):
    return f"{prefix}_{next(ids):08d}"


def invalid(code, message, param, status=400):
    return Refusal(status, "invalid_request_error", code, message, param)


def card_named(token, param):
    """The name of the card behind a token; `tok_once_visa_17` is a single-use token."""
    name = re.sub(r"^(tok_|pm_card_)", "", token)
    once = re.match(r"once_(\w+)_\d+$", name)
    if once:
        name = once.group(1)
    if not re.match(r"tok_|pm_card_", token) or name not in CARDS:
        raise invalid("resource_missing", f"No such token: '{token}'", param)
    if once:
        if token in used_tokens:
            raise invalid("token_already_used", "You cannot use a Stripe token more than once.", param)
        used_tokens.add(token)
    return name


def card_error(name, **more):
    code, decline, message, _ = DECLINES[name]
    return Refusal(402, "card_error", code, message, decline_code=decline, **more)


def details(name):
    return {"type": "card", "card": {"brand": CARDS[name][1], "last4": CARDS[name][2], "exp_month": 8, "exp_year": 2031}}


def amount_of(form):
    amount = int(form["amount"])
    if amount < 50:
        raise invalid("amount_too_small", "Amount must be at least $0.50 usd", "amount")
    return amount


def customer_of(form):
    customer = customers.get(form["customer"])
    if customer is None or customer.get("deleted"):
        raise invalid("resource_missing", f"No such customer: '{form['customer']}'", "customer")
    return customer


def metadata(form):
    return {name[9:-1]: value for name, value in form.items() if name.startswith("metadata[")}


def allow(form, *names):
    for name in form:
        if name not in names and not name.startswith("metadata["):
            raise invalid("parameter_unknown", f"Received unknown parameter: {name}", name)


def make_charge(name, amount, currency, about, **more):
    if name in DECLINES:
        raise card_error(name, **more)
    charge = {
        "id": new("ch"), "object": "charge", "amount": amount, "currency": currency, "status": "succeeded", "paid": True,
        "amount_refunded": 0, "payment_intent": None, "metadata": about, "payment_method_details": details(name),
        "created": int(time.time()), "customer": None,
    }
    charges[charge["id"]] = charge
    return charge


def show_intent(intent, form):
    shown = {name: value for name, value in intent.items() if not name.startswith("_")}
    if form.get("expand[]") == "latest_charge" and shown["latest_charge"]:
        shown["latest_charge"] = charges[shown["latest_charge"]]
    return shown


def show_customer(customer, expand):
    shown = {name: value for name, value in customer.items() if not name.startswith("_")}
    name = customer["_card"]
    if expand == "default_source":
        shown["default_source"] = {
            "id": customer["default_source"], "object": "card", "brand": CARDS[name][0], "last4": CARDS[name][2],
            "exp_month": 8, "exp_year": 2031,
        }
    elif expand:
        method = customer["invoice_settings"]["default_payment_method"]
        shown["invoice_settings"] = {"default_payment_method": {"id": method, "object": "payment_method", **details(name)}}
    return shown


# --- Endpoints ---------------------------------------------------------------------------------------------------


def create_customer(form):
    allow(form, "email", "source", "payment_method", "invoice_settings[default_payment_method]", "expand[]")
    param = "source" if "source" in form else "payment_method"
    name = card_named(form[param], param)
    if name in DECLINES and DECLINES[name][3]:
        raise card_error(name)
    customer = {
        "id": new("cus"), "object": "customer", "email": form.get("email"), "default_source": None,
        "invoice_settings": {"default_payment_method": None}, "_card": name,
    }
    if param == "source":
        customer["default_source"] = new("card")
    else:
        customer["invoice_settings"]["default_payment_method"] = new("pm")
    customers[customer["id"]] = customer
    return show_customer(customer, form.get("expand[]"))


def get_customer(form, id):
    if id not in customers:
        raise invalid("resource_missing", f"No such customer: '{id}'", "id", 404)
    if customers[id].get("deleted"):
        return {"id": id, "object": "customer", "deleted": True}
    return show_customer(customers[id], None)


def delete_customer(form, id):
    if id not in customers or customers[id].get("deleted"):
        raise invalid("resource_missing", f"No such customer: '{id}'", "id", 404)
    customers[id]["deleted"] = True
    return {"id": id, "object": "customer", "deleted": True}


def create_intent(form):
    allow(
        form, "amount", "currency", "payment_method_types[]", "customer", "payment_method", "payment_method_data[type]",
        "payment_method_data[card][token]")
    amount = amount_of(form)
    if "customer" in form:
        customer = customer_of(form)
        mine = (customer["default_source"], customer["invoice_settings"]["default_payment_method"])
        if form.get("payment_method") not in mine:
            raise invalid("resource_missing", "No such PaymentMethod", "payment_method")
        name = customer["_card"]
    elif "payment_method" in form:
        name = card_named(form["payment_method"], "payment_method")
    else:
        if form["payment_method_data[type]"] != "card":
            raise invalid(None, "type", "payment_method_data[type]")
        name = card_named(form["payment_method_data[card][token]"], "payment_method_data[card][token]")
    intent = {
        "id": new("pi"), "object": "payment_intent", "amount": amount, "currency": form["currency"],
        "status": "requires_confirmation", "customer": form.get("customer"), "latest_charge": None,
        "last_payment_error": None, "metadata": metadata(form), "_card": name,
    }
    intent["client_secret"] = f"{intent['id']}_secret_{hashlib.sha256(intent['id'].encode()).hexdigest()[:16]}"
    intents[intent["id"]] = intent
    return show_intent(intent, form)


def intent_of(id):
    if id not in intents:
        raise invalid("resource_missing", f"No such payment_intent: '{id}'", "intent", 404)
    return intents[id]


def get_intent(form, id):
    return show_intent(intent_of(id), form)


def confirm_intent(form, id):
    allow(form, "expand[]", "use_stripe_sdk")
    intent = intent_of(id)
    if intent["status"] != "requires_confirmation":
        raise invalid("payment_intent_unexpected_state", f"The intent is {intent['status']}.", None)
    name = intent["_card"]
    if name in ASKS_BANK:
        intent["status"] = "requires_action"
        return show_intent(intent, form)
    if name == "processing":  # Until `settle`; it cannot be cancelled meanwhile.
        intent["status"] = "processing"
        return show_intent(intent, form)
    charge_intent(intent)
    return show_intent(intent, form)


def charge_intent(intent):
    try:
        charge = make_charge(intent["_card"], intent["amount"], intent["currency"], intent["metadata"])
    except Refusal as refusal:
        intent["status"] = "requires_payment_method"
        intent["last_payment_error"] = dict(refusal.body["error"])
        refusal.body["error"]["payment_intent"] = show_intent({**intent, "last_payment_error": None}, {})
        raise
    charge["payment_intent"] = intent["id"]
    intent.update(status="succeeded", latest_charge=charge["id"])


def authenticate(outcome, only=None):
    for intent in intents.values():
        if intent["status"] != "requires_action" or only not in (None, intent["id"]):
            continue
        if outcome == "fail":
            failed = Refusal(402, "card_error", "payment_intent_authentication_failure", "The authentication failed.")
            intent.update(status="requires_payment_method", last_payment_error=failed.body["error"])
            continue
        try:
            charge_intent(intent)
        except Refusal:
            pass  # The intent has the reason.


def settle(status):
    for intent in intents.values():
        if intent["status"] == "processing":
            intent["status"] = status
            if status == "succeeded":
                charge = make_charge(intent["_card"], intent["amount"], intent["currency"], intent["metadata"])
                charge["payment_intent"] = intent["id"]
                intent["latest_charge"] = charge["id"]


def cancel_intent(form, id):
    allow(form)
    intent = intent_of(id)
    if not intent["status"].startswith("requires_"):
        raise invalid("payment_intent_unexpected_state", f"The intent is {intent['status']}.", None)
    intent["status"] = "canceled"
    return show_intent(intent, form)


def create_charge(form):
    allow(form, "amount", "currency", "customer", "source")
    amount = amount_of(form)
    if "customer" in form:
        name = customer_of(form)["_card"]
    else:
        name = card_named(form["source"], "source")
    charge = make_charge(name, amount, form["currency"], metadata(form))
    charge["customer"] = form.get("customer")
    return charge


def charge_of(id):
    if id not in charges:
        raise invalid("resource_missing", f"No such charge: '{id}'", "id", 404)
    return charges[id]


def get_charge(form, id):
    return charge_of(id)


def refund_charge(form, id):
    charge = charge_of(id)
    create_refund({"amount": charge["amount"] - charge["amount_refunded"], **form, "charge": id})
    return charge


def page(items, form):
    items = sorted(items, key=lambda item: item["id"], reverse=True)
    if "starting_after" in form:
        items = [item for item in items if item["id"] < form["starting_after"]]
    limit = min(int(form.get("limit", "10")), page_max)
    return {"object": "list", "data": items[:limit], "has_more": len(items) > limit}


def list_charges(form):
    allow(form, "limit", "created[gt]", "created[gte]", "created[lt]", "customer", "starting_after")
    first = max(int(form.get("created[gt]", "-1")) + 1, int(form.get("created[gte]", "0")))
    found = [
        charge for charge in charges.values()
        if first <= charge["created"] < int(form.get("created[lt]", "9" * 12))
        and form.get("customer") in (None, charge["customer"])]
    return page(found, form)


def change_charge(id, changes):
    if changes is None:
        intents.pop(charges.pop(id)["payment_intent"], None)
    else:
        (charges.get(id) or make_charge("visa", 0, "usd", {})).update(changes)


def fail_refund(reason):
    refund = list(refunds.values())[-1]
    refund.update(status="failed", failure_reason=reason)
    charges[refund["charge"]]["amount_refunded"] -= refund["amount"]


def charge_behind(form):
    if "payment_intent" in form:
        charge = charges.get(intent_of(form["payment_intent"])["latest_charge"])
    else:
        charge = charges.get(form["charge"])
    if charge is None:
        raise invalid("resource_missing", "No such charge", "charge", 404)
    return charge


def create_refund(form):
    allow(form, "payment_intent", "charge", "amount")
    charge = charge_behind(form)
    amount = int(form["amount"])
    left = charge["amount"] - charge["amount_refunded"]
    if left == 0:
        raise invalid("charge_already_refunded", "Charge has already been refunded.", None)
    if amount > left:
        raise invalid(None, "Refund amount is greater than unrefunded amount on charge", "amount")
    charge["amount_refunded"] += amount
    refund = {
        "id": new("re"), "object": "refund", "amount": amount, "currency": charge["currency"], "status": "succeeded",
        "charge": charge["id"], "payment_intent": charge.get("payment_intent"), "metadata": metadata(form),
    }
    refunds[refund["id"]] = refund
    return refund


def list_refunds(form):
    allow(form, "payment_intent", "charge", "limit")
    charge = charge_behind(form)
    return page([refund for refund in refunds.values() if refund["charge"] == charge["id"]], form)


ROUTES = [
    ("POST", r"/v1/customers", create_customer),
    ("GET", r"/v1/customers/(\w+)", get_customer),
    ("DELETE", r"/v1/customers/(\w+)", delete_customer),
    ("POST", r"/v1/payment_intents", create_intent),
    ("GET", r"/v1/payment_intents/(\w+)", get_intent),
    ("POST", r"/v1/payment_intents/(\w+)/confirm", confirm_intent),
    ("POST", r"/v1/payment_intents/(\w+)/cancel", cancel_intent),
    ("POST", r"/v1/charges", create_charge),
    ("GET", r"/v1/charges", list_charges),
    ("GET", r"/v1/charges/(\w+)", get_charge),
    ("POST", r"/v1/charges/(\w+)/refund", refund_charge),
    ("POST", r"/v1/refunds", create_refund),
    ("GET", r"/v1/refunds", list_refunds),
]


# --- Events ------------------------------------------------------------------------------------------------------


def signed_event(order):
    found = {**intents, **charges, **refunds}.get(order["objectId"])
    about = show_intent(found, {}) if found and found["object"] == "payment_intent" else found or {"id": order["objectId"]}
    body = json.dumps({
        "id": order.get("eventId", new("evt")), "object": "event", "type": order["type"],
        "created": order.get("created", int(time.time())),
        "data": {"object": {**about, **order.get("changes", {})}},
    }).encode()
    how = order.get("how", "")
    moment = int(time.time()) - (301 if how == "old" else -301 if how == "future" else 0)
    right = hmac.new(order["secret"].encode(), b"%d.%s" % (moment, body), hashlib.sha256).hexdigest()
    wrong = hmac.new(b"another secret", b"%d.%s" % (moment, body), hashlib.sha256).hexdigest()
    header = {
        "wrong": f"t={moment},v1={wrong}", "two": f"t={moment},v1={wrong},v1={right}", "v0": f"t={moment},v0={right}",
        "none": "", "nonsense": "t=,v1=zz,,=", "moved": f"t={moment - 1},v1={right}",
    }.get(how, f"t={moment},v1={right}")
    if how == "changed":
        body = body.replace(b'"event"', b'"event" ')
    return body, header


def send_event(order):
    body, header = signed_event(order)
    answer = {"body": body.decode(), "header": header}
    if "url" in order:
        request = urllib.request.Request(order["url"], data=body, headers={"Content-Type": "application/json"})
        if header:
            request.add_header("Stripe-Signature", header)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                answer.update(status=reply.status, answer=reply.read().decode())
        except urllib.error.HTTPError as error:
            answer.update(status=error.code, answer=error.read().decode())
    return answer


# --- HTTP --------------------------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Request-Id", new("req"))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def end_now(self, data=b""):
        self.close_connection = True
        if data:
            self.wfile.write(data)
            self.wfile.flush()
        self.connection.shutdown(2)

    def control(self, what, body):
        global page_max
        order = json.loads(body or b"{}")
        if what == "event":
            return self.answer(200, send_event(order))
        with lock:
            if what == "fail":
                faults.append({"times": 1, "method": "POST", "path": ".*", "seconds": 2, **order})
            elif what == "heal":
                faults.clear()
            elif what == "forget_keys":
                saved.clear()
            elif what == "charge":
                change_charge(order["id"], order["changes"])
            elif what == "fail_refund":
                fail_refund(order["reason"])
            elif what == "page":
                page_max = order["max"]
            elif what == "settle":
                settle(order["status"])
            elif what == "authenticate":
                authenticate(order["outcome"], order.get("id"))
            state = {
                "taken": len(charges), "amounts": [charge["amount"] for charge in charges.values()],
                "back": sum(refund["amount"] for refund in refunds.values() if refund["status"] == "succeeded"),
                "refunds": len(refunds), "refundIds": list(refunds),
                "intents": [{"id": intent["id"], "status": intent["status"]} for intent in intents.values()],
                "chargeIds": list(charges), "customers": [id for id in customers if not customers[id].get("deleted")],
                "requests": requests, "violations": violations, "faults": len(faults),
            }
        self.answer(200, state)

    def fault(self, path):
        for fault in faults:
            if fault["method"] == self.command and re.fullmatch(fault["path"], path):
                fault["times"] -= 1
                if fault["times"] == 0:
                    faults.remove(fault)
                return fault["how"], fault["seconds"]
        return None, 0

    def check(self, body):
        if self.headers.get("Authorization") != f"Bearer {KEY}":
            raise Refusal(401, "invalid_request_error", None, f"Invalid API Key provided: {KEY[:8]}")
        version = None if self.headers.get("User-Agent") == CODE_AGENT else VERSION
        if self.headers.get("Stripe-Version") != version:
            raise invalid(None, "Stripe-Version", None)
        if self.command == "POST":
            if self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
                raise invalid(None, "Content-Type", None)
            key = self.headers.get("Idempotency-Key", "")
            if not 0 < len(key) <= 255:
                raise invalid(None, "Idempotency-Key", None)
            pairs = parse_qsl(body, keep_blank_values=True, strict_parsing=True) if body else []
        else:
            pairs = parse_qsl(urlsplit(self.path).query, strict_parsing=True) if "?" in self.path else []
        if len(dict(pairs)) != len(pairs):
            raise invalid(None, "A parameter is there twice.", None)
        return dict(pairs)

    def work(self, path, form):
        """Status and answer of the work itself."""
        for method, pattern, function in ROUTES:
            match = re.fullmatch(pattern, path)
            if method == self.command and match:
                try:
                    return 200, function(form, *match.groups())
                except Refusal as refusal:
                    return refusal.status, refusal.body
                except KeyError as missing:
                    return 400, invalid("parameter_missing", "missing", missing.args[0]).body
        return 404, invalid(None, "Unrecognized request URL", None).body

    def serve(self):
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length).decode()
        if len(body.encode()) < length:
            return self.end_now()  # The client was killed.
        path = urlsplit(self.path).path
        if path.startswith("/_control/"):
            return self.control(path.rsplit("/", 1)[1], body)
        key = self.headers.get("Idempotency-Key")
        with lock:
            requests.append({
                "method": self.command, "path": path, "key": key, "body": body, "agent": self.headers.get("User-Agent")})
            how, seconds = self.fault(path)
        try:
            form = self.check(body)
        except (Refusal, ValueError) as error:
            with lock:
                violations.append(f"{self.command} {path}: {error.body['error']['message'] if isinstance(error, Refusal) else error}")
            refusal = error if isinstance(error, Refusal) else invalid(None, "malformed", None)
            return self.answer(refusal.status, refusal.body)
        if how in BEFORE:
            return self.fail_before(how, seconds, key, path, body)
        posts = self.command == "POST"
        if posts:
            with lock:
                if key in saved:
                    sent, status, answer = saved[key]
                    if sent != (path, body):
                        refusal = Refusal(400, "idempotency_error", None, "Keys can only be used with the same parameters.")
                        return self.answer(400, refusal.body)
                    return self.answer(status, answer, [("Idempotent-Replayed", "true")])
                if key in under_way:
                    return self.answer(409, invalid("lock_timeout", "under way", None, 409).body)
                under_way.add(key)
        with lock:
            status, answer = self.work(path, form)
            answer = json.loads(json.dumps(answer))
            if posts:
                saved[key] = ((path, body), status, answer)
        try:
            self.fail_after(how, seconds, status, answer)
        finally:
            with lock:
                under_way.discard(key)

    def fail_before(self, how, seconds, key, path, body):
        if how == "slow_before":
            time.sleep(seconds)
            self.end_now()
        elif how == "close":
            self.end_now()
        elif how == "500_saved":
            answer = Refusal(500, "api_error").body
            with lock:
                saved[key] = ((path, body), 500, answer)
            self.answer(500, answer)
        else:
            status = int(how)
            kind = "api_error" if status >= 500 else "invalid_request_error"
            headers = [("Retry-After", "0")] if status == 429 else []
            self.answer(status, Refusal(status, kind, "as_asked", f"as asked, with {KEY[:8]}").body, headers)

    def fail_after(self, how, seconds, status, answer):
        if how == "slow_after":
            time.sleep(seconds)
            self.end_now()
        elif how == "garbage":
            self.end_now(b"\x00\xffthis is not HTTP\r\n\r\n")
        elif how == "half":
            data = json.dumps(answer).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
            self.end_now(head + data[: len(data) // 2])
        elif how == "500_after":
            self.answer(500, Refusal(500, "api_error").body)
        elif how == "nojson":
            self.answer(200, b"<html>Welcome to the hotel's network</html>")
        elif how == "empty":
            self.answer(200, {})
        elif how == "wrong_amount":
            self.answer(status, {**answer, "amount": answer.get("amount", 0) + 1})
        elif how == "other_object":
            self.answer(status, {**answer, "object": "balance"})
        else:
            self.answer(status, answer)

    do_GET = do_POST = do_DELETE = serve


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # The client disconnected.


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print("listening", server.server_address[1], flush=True)
    server.serve_forever()
