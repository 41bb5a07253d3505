"""The lists, searches and counts of the dashboard's pages in a large shop, against a hundredth of it."""
import json
import os
import random
import time
import urllib.parse

from growth import ROWS_AT_ONCE
from measuring.figures import Target, Workload, percentile
from measuring.suite import Failed
from measuring.turns import say

PRODUCTS, ORDERS = int(os.environ.get("BENCH_PRODUCTS", "100000")), int(os.environ.get("BENCH_ORDERS", "20000"))
SMALLER = 100
CUSTOMERS = 8000
LIMIT_MILLISECONDS = 300
# Requests of each kind in a round.
TIMES = 5
# The longest time for the services to make indexes for what the pages ask.
WARM_SECONDS = int(os.environ.get("BENCH_WARM_SECONDS", "120"))
NAMES = ["Ann", "Ben", "Cem", "Dora", "Eva", "Finn", "Gül", "Hugo", "Ida", "Jan", "Ottilie", "Paul", "Rosa", "Tom"]
CITIES = ["Bern", "Köln", "Lyon", "Oslo", "Porto", "Riga", "Turin", "Wien"]
STATES = ["made", "shipped", "delivered", "cancelled", "refunded"]


def desk(turns):
    """The slowest of the requests of each kind, from the request to the last byte, as an operator in a role sends them."""
    with turns.suite(demo=False) as large, turns.suite(demo=False) as small:
        shops = [Shop(large, PRODUCTS, ORDERS), Shop(small, PRODUCTS // SMALLER, ORDERS // SMALLER)]
        warm_up(shops[0])
        for name, path in requests().items():
            yield Workload(
                f"desk-{name}", f"{name.replace('-', ' ')}, the slowest of {TIMES}", unit="ms", better="less",
                limit=f"a shop of {PRODUCTS // SMALLER:,} products", target=Target(LIMIT_MILLISECONDS),
                rounds=[shops[0].slowest(path) for _ in range(turns.rounds)],
                limit_rounds=[shops[1].slowest(path) for _ in range(turns.rounds)])


def requests():
    """The paths that the pages ask for, or the function and its parameters, each with a name."""
    def find(class_name, where, **options):
        query = {"where": json.dumps(where), "limit": 25, "count": 1} | options
        return f"/classes/{class_name}?{urllib.parse.urlencode(query)}"

    def has(text):
        return {"$regex": text, "$options": "i"}

    def orders(**wanted):
        return "orders", {"sort": "-orderNo", "limit": 25, "skip": 0} | wanted

    low = {"stock": {"$lte": 10}, "active": {"$ne": False}}
    return {
        "today-to-ship": ("orders", {"status": "made", "sort": "orderNo", "limit": 5}),
        "today-low-stock": find("Product", low, order="stock,name", limit=5),
        "orders": orders(),
        "orders-page-400": orders(skip=ORDERS // SMALLER // 2),
        "orders-shipped": orders(status="shipped"),
        "orders-by-total": orders(sort="-total"),
        "orders-by-name": orders(sort="name"),
        "orders-of-a-name": orders(search="Ottilie"),
        "orders-of-a-name-shipped": orders(search="Ottilie", status="shipped", sort="-total"),
        "orders-of-two-words": orders(search="rosa oslo"),
        "orders-of-a-letter": orders(search="o"),
        "orders-of-nobody": orders(search="zzyzx"),
        "orders-by-number": orders(search="10050"),
        "products": find("Product", {}, order="name", include="brand"),
        "products-by-stock": find("Product", {}, order="-stock", include="brand"),
        "products-low": find("Product", low, order="name", include="brand"),
        "products-of-a-word": find("Product", {"$or": [{"name": has("serum")}, {"detail": has("serum")}]}, order="name"),
        "products-of-no-word": find("Product", {"$or": [{"name": has("zzyzx")}, {"detail": has("zzyzx")}]}, order="name"),
        "customers": ("customers", {"limit": 25}),
        "customers-by-spent": ("customers", {"limit": 25, "sort": "-spent"}),
        "customers-page-400": ("customers", {"limit": 25, "skip": ORDERS // SMALLER // 2}),
        "customers-of-a-name": ("customers", {"limit": 25, "search": "ottilie"}),
        "customers-of-two-words": ("customers", {"limit": 25, "search": "rosa oslo"}),
        "customers-of-nobody": ("customers", {"limit": 25, "search": "zzyzx"}),
        "sales-by-product": ("salesByProduct", {"from": "2023-11-01", "to": "2024-04-30"}),
    }


class Shop:
    """A suite with so many products and orders, and an operator's session."""

    def __init__(self, suite, products, orders):
        self.suite = suite
        say(f"  fills a shop of {products:,} products and {orders:,} orders")
        suite.script("add-products", str(products))
        chance = random.Random(1)
        lines, made = [], []
        for number in range(orders):
            lines += [line(number, part, chance) for part in range(1 + number % 2)]
            made.append(order(number, chance))
        for class_name, rows in ("OrderItem", lines), ("Order", made):
            for start in range(0, len(rows), ROWS_AT_ONCE):
                done = suite.call("POST", f"/import/{class_name}", rows[start:start + ROWS_AT_ONCE])
                if done["failed"]:
                    raise Failed(f"{class_name} cannot be imported: {done['failures'][:1]}")
        with open(os.path.join(suite.data, "admin.password"), encoding="ascii") as file:
            account = {"username": "admin@satchel.example", "password": file.read().strip()}
        self.session = suite.call("POST", "/login", account, master=False)["sessionToken"]

    def slowest(self, request):
        """Milliseconds."""
        method, path, body = "GET", request, None
        if isinstance(request, tuple):
            method, path, body = "POST", f"/functions/{request[0]}", request[1]
        times = []
        for _ in range(TIMES):
            start = time.monotonic()
            self.suite.call_text(method, path, body, master=False, session=self.session)
            times.append((time.monotonic() - start) * 1000)
        return percentile(times, 1)


def warm_up(shop):
    """Asks for everything until all is below the limit, or the time is over."""
    end = time.monotonic() + WARM_SECONDS
    while time.monotonic() < end:
        if all(shop.slowest(path) < LIMIT_MILLISECONDS for path in requests().values()):
            return


def line(number, part, chance):
    quantity = chance.randint(1, 3)
    return {
        "objectId": f"line{number:06}{part}", "quantity": quantity, "unitPrice": 2500,
        "product": {"__type": "Pointer", "className": "Product", "objectId": f"none{number:06}"},
    }


def order(number, chance):
    first, last = chance.choice(NAMES), f"{chance.choice(NAMES)}son"
    day = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_700_000_000 + number * 600))
    return {
        "orderNo": 10_000 + number, "orderDate": {"__type": "Date", "iso": day}, "orderStatus": 1,
        "orderState": STATES[number % 5], "total": chance.randint(500, 30_000), "currency": "USD",
        "customer": {"__type": "Pointer", "className": "_User", "objectId": f"buyer{number % CUSTOMERS:05}"},
        "email": f"{first.lower()}.{number}@customers.example", "trackingNumber": f"TRACK{number * 7919:09}",
        "items": [
            {"__type": "Pointer", "className": "OrderItem", "objectId": f"line{number:06}{part}"}
            for part in range(1 + number % 2)],
        "shippingAddress": {
            "firstName": first, "lastName": last, "address1": f"{number % 90 + 1} Main Street",
            "city": chance.choice(CITIES), "zipcode": f"{number % 90000 + 10000}",
        },
    }
