"""The load: customers who browse and buy, and a desk that refunds and counts stock. Each is a thread."""
import random
import threading
import time
import uuid

from client import RETRY_SECONDS, Client, NeverAnswered, is_repeatable

ADDRESS = {
    "firstName": "Ada", "lastName": "Long", "phone": "+1 415 555 0100", "address1": "1 Main Street", "city": "Springfield",
    "state": "IL", "zipcode": "62701",
}
PRODUCTS, OPENING_STOCK, PRICES = 12, 1_000_000, (3.5, 12, 18.25)
CARDS = ("tok_chargeDeclined", "tok_chargeDeclinedInsufficientFunds", "tok_threeDSecure2Required")
BANK_CARD = CARDS[-1]
# The share of purchases that begin with one of these cards, and the share while the fault `cards` lasts.
CARD_SHARE, FAULTY_CARD_SHARE = 0.1, 0.7
# How long a thread repeats a request after the end of the run.
PATIENCE_SECONDS = 120
PURCHASES_PER_SIGN_IN = 4
# How often a shopper tries to pay with a good card.
ATTEMPTS = 3
# A part of the error when the provider refuses a refund.
REFUSED_REFUND = "The refund was refused"
# The share of answered writes with an Idempotency-Key that are sent again.
REPEATED_SHARE = 0.25


class Shop:
    """What the threads share."""

    def __init__(self, port, log, master_key, seed, provider):
        self.port, self.log, self.master_key, self.seed, self.provider = port, log, master_key, seed, provider
        self.products = []
        self.orders = []
        self.card_share = CARD_SHARE
        self.ended = None

    def fill(self):
        """Creates the products."""
        master = Client(self.port, self.log, self.master_key)
        for number in range(PRODUCTS):
            status, answer = master.send("POST", "/classes/Product", {
                "name": f"Chaos {number}", "detail": "A plain detail.", "priceUnit": "ea",
                "unitPrice": PRICES[number % len(PRICES)], "stock": OPENING_STOCK, "active": True})
            if status != 201:
                raise SystemExit(f"chaos: a product was refused: {status} {answer}")
            self.products.append(answer["objectId"])

    def end(self):
        self.ended = time.monotonic()

    def gives_up(self):
        return self.ended is not None and time.monotonic() - self.ended > PATIENCE_SECONDS


class Thread(threading.Thread):
    """Repeats a round until the shop closes. An error of the program itself is a problem of the run."""

    def __init__(self, shop, number):
        super().__init__(name=f"{type(self).__name__}-{number}", daemon=True)
        self.shop, self.log = shop, shop.log
        self.random = random.Random(f"{shop.seed}-{self.name}")

    def run(self):
        try:
            while self.shop.ended is None:
                self.round()
        except NeverAnswered as error:
            self.log.problem(f"{self.name} was never answered: {error}")
            self.unanswered()
        except Exception as error:  # pylint: disable=broad-except
            self.log.problem(f"{self.name} failed: {error!r}")
            self.unanswered()

    def round(self):
        raise NotImplementedError

    def unanswered(self):
        """The outcome of its last request is unknown."""

    def think(self):
        time.sleep(self.random.uniform(0.05, 0.25))


class Shopper(Thread):
    """A customer: reads, fills the bag, pays, and knows each receipt."""

    def __init__(self, shop, number):
        super().__init__(shop, number)
        self.client = Client(shop.port, shop.log)
        self.name_of_user = f"shopper{number}-{uuid.uuid4().hex[:8]}@customers.example"
        self.purchases = 0
        self.user_id = ""
        # The quantities that each product in the bag may have.
        self.bag = {}

    def unanswered(self):
        items = [[product, quantity] for product, quantities in self.bag.items() for quantity in quantities]
        self.log.tell("open", userId=self.user_id, items=items)

    def sign_up(self):
        account = {"username": self.name_of_user, "email": self.name_of_user, "password": "a-long-secret", "firstName": "Ada"}
        status, answer = self.client.send("POST", "/users", account)
        if status != 201:
            raise SystemExit(f"chaos: a sign-up was refused: {status} {answer}")
        self.client.session, self.user_id = answer["sessionToken"], answer["objectId"]

    def ask(self, kind, name, parameters):
        return self.client.until_answered(kind, "POST", f"/functions/{name}", parameters, self.shop.gives_up)

    def round(self):
        product, quantity = self.random.choice(self.shop.products), self.random.randint(1, 3)
        status, answer = self.client.once("read", "GET", f"/classes/Product/{product}")
        if not is_repeatable(status, answer) and (status != 200 or answer.get("objectId") != product):
            self.log.problem(f"{self.name}: product {product} was read as {status} {answer}")
        self.think()
        self.bag.setdefault(product, []).append(quantity)
        status, answer = self.ask("bag", "setBagQuantity", {"productId": product, "quantity": quantity})
        if status != 200:
            return self.log.problem(f"{self.name}: setBagQuantity answered {status} {answer}")
        self.bag[product] = [quantity]
        self.think()
        self.buy()
        self.purchases += 1
        if self.purchases % PURCHASES_PER_SIGN_IN == 0:
            self.sign_in()

    def sign_in(self):
        status, answer = self.client.until_answered(
            "sign-in", "POST", "/login", {"username": self.name_of_user, "password": "a-long-secret"}, self.shop.gives_up)
        if status == 200:
            self.client.session = answer["sessionToken"]
        else:
            self.log.problem(f"{self.name}: login answered {status} {answer}")

    def buy(self):
        if self.random.random() < self.shop.card_share:
            card = self.random.choice(CARDS)
            if card == BANK_CARD and self.ask_bank():
                return
            if card != BANK_CARD:
                status, answer = self.pay(card)
                if status == 200:
                    self.log.problem(f"{self.name}: {card} paid {answer}")
                    return self.keep(answer["result"])
        for _ in range(ATTEMPTS):
            key = uuid.uuid4().hex
            status, answer = self.pay("tok_visa", key)
            if status != 200:
                # A change of the bag whose answer was lost may arrive between two attempts with the same key, which is 142.
                self.log.tell("refused", key=key, status=status, answer=answer)
                status, answer = self.ask("order", "checkoutResult", {"idempotencyKey": key})
            if status == 200:
                return self.keep(answer["result"])
        return self.log.problem(f"{self.name}: checkout was refused {ATTEMPTS} times, at last with {status} {answer}")

    def pay(self, token, key=None, **more):
        return self.ask("order", "checkout", {
            "tokenId": token, "idempotencyKey": key or uuid.uuid4().hex, "shippingAddress": ADDRESS} | more)

    def ask_bank(self):
        """A card whose bank asks the customer. Returns whether it paid."""
        key = uuid.uuid4().hex
        status, answer = self.pay(BANK_CARD, key, allowsAction=True)
        result = answer.get("result") or {}
        if status != 200 or result.get("status") != "requiresAction":
            self.log.problem(f"{self.name}: {BANK_CARD} answered {status} {answer}")
            return False
        act = self.random.choice(("confirm", "refuse", "leave"))
        if act != "leave":
            self.shop.provider.ask_bank(result["clientSecret"], act == "confirm")
        status, answer = self.ask("order", "checkoutResult", {"idempotencyKey": key, "giveUp": act == "leave"})
        while status == 200 and answer["result"].get("status") == "requiresAction":
            # The shop could not ask the provider.
            if self.shop.gives_up():
                raise NeverAnswered(f"checkoutResult after `{act}` at the bank")
            time.sleep(RETRY_SECONDS)
            status, answer = self.ask("order", "checkoutResult", {"idempotencyKey": key, "giveUp": act == "leave"})
        if status == 200 and "orderNo" in answer["result"]:
            if act != "confirm":
                self.log.problem(f"{self.name}: after `{act}` at the bank there is {answer}")
            self.keep(answer["result"])
            return True
        if act == "confirm" or status == 200:
            self.log.problem(f"{self.name}: after `{act}` at the bank checkoutResult answered {status} {answer}")
        return False

    def keep(self, receipt):
        items = [[item["productId"], item["quantity"]] for item in receipt["items"]]
        if receipt["totalMinorUnits"] != sum(item["lineTotalMinorUnits"] for item in receipt["items"]):
            self.log.problem(f"{self.name}: a receipt does not add up: {receipt}")
        order = {"orderId": receipt["orderId"], "orderNo": receipt["orderNo"], "total": receipt["totalMinorUnits"]}
        self.log.tell("order", userId=self.user_id, items=items, **order)
        self.bag = {}
        self.shop.orders.append([order["orderId"], order["total"]])


class Desk(Thread):
    """An operator: refunds parts of orders, and books deliveries of stock."""

    def __init__(self, shop, number):
        super().__init__(shop, number)
        self.client = Client(shop.port, shop.log, shop.master_key)

    def keyed(self, kind, method, path, body, key):
        """A write with an Idempotency-Key. A repetition must get the same answer."""
        first = self.client.until_answered(kind, method, path, body, self.shop.gives_up, key)
        if first[0] == 200 and self.random.random() < REPEATED_SHARE:
            again = self.client.until_answered(kind, method, path, body, self.shop.gives_up, key)
            if again != first:
                self.log.problem(f"{method} {path} with {key} answered {first}, and repeated {again}")
        return first

    def round(self):
        self.refund()
        self.think()
        self.deliver()
        self.think()

    def refund(self):
        if not self.shop.orders:
            return
        order = self.random.choice(self.shop.orders)
        order_id, left = order
        if not left:
            return
        amount = self.random.randint(1, left)
        key = uuid.uuid4().hex
        wish = {"orderId": order_id, "amount": amount, "idempotencyKey": key}
        status, answer = self.keyed("refund", "POST", "/functions/refundOrder", wish, key)
        if status == 400 and REFUSED_REFUND in answer.get("error", ""):
            return self.log.tell("denied", orderId=order_id, amount=amount)
        if status != 200:
            return self.log.problem(f"refundOrder of {amount} of order {order_id} answered {status} {answer}")
        result = answer["result"]
        is_pending = "refundPending" in result
        if result.get("refundPending" if is_pending else "refundedNow") != amount:
            self.log.problem(f"refundOrder of {amount} of order {order_id} answered {answer}")
        # An order whose refund is pending takes no other.
        order[1] = 0 if is_pending else left - amount
        return self.log.tell("refund", orderId=order_id, amount=amount, pending=is_pending, refundId=result.get("refundId"))

    def deliver(self):
        product, amount = self.random.choice(self.shop.products), self.random.randint(1, 50)
        change = {"stock": {"__op": "Increment", "amount": amount}}
        try:
            status, answer = self.keyed("stock", "PUT", f"/classes/Product/{product}", change, uuid.uuid4().hex)
        except NeverAnswered:
            self.log.tell("maybe", productId=product, amount=amount)
            raise
        if status != 200:
            return self.log.problem(f"a change of stock answered {status} {answer}")
        return self.log.tell("stock", productId=product, amount=amount)
