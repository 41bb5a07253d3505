"""The shop's history before the pictures: customers, orders, reviews, a promotion, crashes.

All of it is made up, and the same each time. It goes through the API as customers' apps do; then, with the suite stopped,
`spread` moves it over the weeks before, as nothing but time itself could.
"""
import contextlib
import datetime
import json
import math
import os
import random
import sqlite3
import urllib.error
import urllib.request

from measuring import suite

CUSTOMERS = (
    ("Ada", "Long", "Springfield", "IL", "62701"), ("Noor", "Haddad", "Dearborn", "MI", "48126"), ("Mateo", "Reyes", "Tucson", "AZ", "85701"),
    ("Ingrid", "Solberg", "Duluth", "MN", "55802"), ("Kofi", "Mensah", "Columbus", "OH", "43215"), ("Yuki", "Tanaka", "Portland", "OR", "97204"),
    ("Sofia", "Marino", "Providence", "RI", "02903"), ("Liam", "Walsh", "Boston", "MA", "02108"), ("Priya", "Nair", "Fremont", "CA", "94536"),
    ("Elise", "Moreau", "New Orleans", "LA", "70112"), ("Omar", "Farouk", "Houston", "TX", "77002"), ("Hana", "Kovac", "Cleveland", "OH", "44114"),
)
BAG = ("Velours Matte Lipstick Rouge 01", "Cloudberry Glow Serum", "Beeswax Candle Wren")
ORDERS, DAYS = 36, 62
CRASHES = (
    ("IndexOutOfRange", "Index 7 out of range of 7 items", "BagView.swift", 88, "let line = lines[selection]", 9),
    ("TimeoutException", "No answer from the server in 30 s", "CheckoutModel.swift", 141, "try await api.run(\"checkout\")", 5),
    ("NullPointerException", "product.thumbnail is null", "ProductCard.kt", 52, "image.load(product.thumbnail!!.url)", 3),
    ("DecodingError", "unitPrice: expected a number", "Product.swift", 23, "unitPrice = try values.decode(…)", 2),
)


def fill(satchel):
    """Returns the ids that the pictures' addresses have."""
    draw = random.Random(20)
    products = satchel.find("Product", {"stock": {"$gt": 20}}, limit=60, order="name")
    buyers = [Person(satchel, sign_up(satchel, person, "shop"), person) for person in CUSTOMERS]
    orders = [order(satchel, draw.choice(buyers), draw, products) for _ in range(ORDERS)]
    admin = Person(satchel, sign_in(satchel))
    lead(admin, orders)
    for number, left in enumerate((0, 2, 3, 6)):
        satchel.call("PUT", f"/classes/Product/{products[7 * number]['objectId']}", {"stock": left})
    reviews = satchel.find("ProductReview", {"rating": {"$lte": 3}}, limit=3)
    reader = Person(satchel, sign_up(satchel, CUSTOMERS[0], "reader"))
    for review in reviews:
        reader.run("reportReview", {"reviewId": review["objectId"]})
    return {
        "order": orders[3]["objectId"], "promotion": promotion(satchel, admin), "crash": crashes(satchel, admin, draw),
        "brand": satchel.find("Category", {"title": "Okutsuyu"})[0]["objectId"],
        "bag": [satchel.find("Product", {"name": name})[0]["objectId"] for name in BAG],
    }


# --- Customers


class Person:
    """Somebody with a session."""

    def __init__(self, satchel, user, name=None):
        self.satchel, self.user, self.name = satchel, user, name

    def run(self, name, parameters):
        return post(self.satchel, f"/functions/{name}", parameters, self.user["sessionToken"])["result"]


def post(satchel, path, body, token=None):
    headers = {"X-Parse-Application-Id": "satchel", "Content-Type": "application/json"}
    if token:
        headers["X-Parse-Session-Token"] = token
    request = urllib.request.Request(satchel.url + path, data=json.dumps(body).encode(), headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise suite.Failed(f"POST {path} answered {error.code}: {error.read()[:300].decode(errors='replace')}") from None


def sign_up(satchel, person, word):
    email = f"{person[0]}.{person[1]}.{word}@example.com".lower()
    return post(satchel, "/users", {"username": email, "email": email, "password": "a-long-secret", "name": f"{person[0]} {person[1]}"})


def sign_in(satchel):
    with open(os.path.join(satchel.data, "admin.password"), encoding="ascii") as file:
        return post(satchel, "/login", {"username": "admin@satchel.example", "password": file.read().strip()})


def order(satchel, buyer, draw, products):
    for product in draw.sample(products, draw.randint(1, 3)):
        buyer.run("addToBag", {"productId": product["objectId"], "quantity": draw.randint(1, 2)})
    first, last, city, state, zipcode = buyer.name
    receipt = buyer.run("checkout", {
        "tokenId": "tok_visa",
        "shippingAddress": {"firstName": first, "lastName": last, "phone": "555-0100", "address1": f"{draw.randint(1, 99)} Main St",
                            "city": city, "state": state, "zipcode": zipcode}})
    return satchel.find("Order", {"orderNo": receipt["orderNo"]})[0]


def lead(admin, orders):
    """Older orders are in later states."""
    for place, made in enumerate(orders[: ORDERS - 7]):
        number = {"orderId": made["objectId"]}
        if place in (5, 16):
            admin.run("cancelOrder", number | {"reason": "Ordered twice."})
            continue
        admin.run("shipOrder", number | {"carrier": "Parcel Post", "trackingNumber": f"PP-{4200 + place}"})
        if place < ORDERS - 14:
            admin.run("deliverOrder", number)
        if place == 3:
            admin.run("refundOrder", number | {"amount": 500, "reason": "The lid was cracked."})


# --- Promotion and crashes


def promotion(satchel, admin):
    """The demo's newest, sent to phones that are not there."""
    for number in range(24):
        satchel.call("POST", "/installations", {
            "deviceType": "ios" if number % 3 else "android", "installationId": f"00000000-0000-4000-8000-{number:012d}",
            "deviceToken": f"{number:064x}", "localeIdentifier": "en-US", "appVersion": "3.2.0"})
    found = satchel.call("GET", "/classes/Promotion?order=-createdAt&limit=1")["results"][0]
    satchel.call("PUT", f"/classes/Promotion/{found['objectId']}", {"audience": {"where": {"deviceType": "ios"}}})
    admin.run("sendPromotion", {"promotionId": found["objectId"], "title": "Beauty & Me"})
    return found["objectId"]


def crashes(satchel, admin, draw):
    """Reports of four problems; the address of the most frequent one."""
    made = admin.run("createCrashProject", {"name": "Beauty & Me for iOS"})
    for place, (kind, text, file, line, source, count) in enumerate(CRASHES):
        for number in range(count):
            report(satchel, made, event(draw, kind, text, file, line, source, f"shop@3.{number % 2 + 1}.0", f"{place:08x}{number:024x}"))
    issues = admin.run("crashIssues", {"projectId": made["projectId"]})
    return next(issue["issueId"] for issue in issues if CRASHES[0][0] in json.dumps(issue)) + f"?project={made['projectId']}"


def event(draw, kind, text, file, line, source, release, event_id):
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    frame = {"function": f"{file.split('.')[0]}.body", "filename": file, "lineno": line, "in_app": True,
             "pre_context": ["    func show() {", "        guard !lines.isEmpty else { return }"], "context_line": f"        {source}",
             "post_context": ["        detail.show(line)", "    }"]}
    steps = (("navigation", "Products"), ("ui.tap", "Fig Leaf Body Oil"), ("http", "POST /parse/functions/addToBag 200"), ("ui.tap", "Bag"))
    return {
        "event_id": event_id, "timestamp": now, "level": "fatal", "platform": "cocoa", "release": release,
        "exception": {"values": [{"type": kind, "value": text, "stacktrace": {"frames": [
            {"function": "main", "filename": "ShopApp.swift", "lineno": 9, "in_app": True},
            {"function": "UIApplicationMain", "filename": "UIKit"}, frame]}}]},
        "breadcrumbs": {"values": [{"timestamp": now - 20 + 5 * place, "category": name, "message": what} for place, (name, what) in enumerate(steps)]},
        "contexts": {"device": {"model": draw.choice(["iPhone14,2", "iPhone15,3", "iPad13,1"])}, "os": {"name": "iOS", "version": "17.4"}},
        "user": {"id": f"u{draw.randint(1, 6)}"},
    }


def report(satchel, project, body):
    head = json.dumps({"event_id": body["event_id"]})
    text = f"{head}\n{json.dumps({'type': 'event'})}\n{json.dumps(body)}\n"
    url = f"{satchel.url.removesuffix('/parse')}/api/{project['projectId']}/envelope/"
    headers = {"Content-Type": "application/x-sentry-envelope",
               "X-Sentry-Auth": f"Sentry sentry_version=7, sentry_key={project['key']}, sentry_client=pictures/1"}
    urllib.request.urlopen(urllib.request.Request(url, data=text.encode(), headers=headers), timeout=60).read()


# --- Time


def spread(data):
    """Moves orders into the days before, and fills the counters of sales, opens and events of some weeks."""
    now = datetime.datetime.now(datetime.timezone.utc)
    made = move_orders(os.path.join(data, "bag.sqlite"), now)
    with contextlib.closing(sqlite3.connect(os.path.join(data, "payments.sqlite"))) as payments, payments:
        for order_id, moment in made.items():
            payments.execute("UPDATE charges SET createdAt = ?, changedAt = ? WHERE orderId = ?", (*[milliseconds(moment)] * 2, order_id))
    with contextlib.closing(sqlite3.connect(os.path.join(data, "crash.sqlite"))) as crash, crash:
        move_reports(crash, int(now.timestamp()) // 86400)
    with contextlib.closing(sqlite3.connect(os.path.join(data, "analytics.sqlite"))) as analytics, analytics:
        # All of it was just now.
        analytics.execute("DELETE FROM salesHours")
        for hour, orders in hours(now):
            analytics.execute(
                "INSERT INTO salesHours(currency, hour, orders, pieces, grossMinorUnits) VALUES('usd', ?, ?, ?, ?)",
                (hour, orders, 3 * orders, 4870 * orders + 190 * (hour % 7)))
            for name, rate in (("AppOpened", 31), ("ProductViewed", 62), ("AddedToBag", 9), ("CheckoutBegun", 3)):
                analytics.execute("INSERT INTO eventHours(name, hour, count) VALUES(?, ?, ?) ON CONFLICT DO NOTHING", (name, hour, rate * orders + hour % 5))


def move_reports(crash, today):
    """The reports of each issue onto days of the three weeks before; the newest stays where it is."""
    issues = crash.execute("SELECT id, count FROM issues").fetchall()
    crash.execute("DELETE FROM issueDays")
    for issue, count in issues:
        for number in range(count):
            crash.execute(
                "INSERT INTO issueDays(issueId, day, reports, crashes) VALUES(?, ?, 1, 1) ON CONFLICT DO UPDATE SET reports = reports + 1, crashes = crashes + 1",
                (issue, today - number * 7 % 20))
    crash.execute("UPDATE issues SET firstSeen = firstSeen - 19 * 86400000 WHERE count > 1")


def milliseconds(moment):
    return int(moment.timestamp() * 1000)


def move_orders(file, now):
    """Every nine hours one, the last one some hours ago; when each was made, by its id."""
    made = {}
    with contextlib.closing(sqlite3.connect(file)) as bag, bag:
        (number,) = bag.execute("SELECT id FROM classes WHERE name = 'Order'").fetchone()
        rows = bag.execute(f"SELECT id, objectId, doc FROM o{number} ORDER BY json_extract(doc, '$.orderNo')").fetchall()
        for place, (row, order_id, doc) in enumerate(rows):
            made[order_id] = now - datetime.timedelta(hours=9 * (len(rows) - place) - 8, minutes=(place * 23) % 47)
            bag.execute(f"UPDATE o{number} SET createdAt = ?, doc = ? WHERE id = ?",
                        (milliseconds(made[order_id]), moved(doc, made[order_id], now), row))
    return made


# The states after an order was made, and the hours until each.
LATER = {"orderDate": 0, "cancelledAt": 3, "shippedAt": 26, "deliveredAt": 75, "refundedAt": 98}


def moved(doc, made, now):
    """The order, dated at that time."""
    order = json.loads(doc)
    order["createdAt"] = wire(made)
    for name, hours_later in LATER.items():
        if name in order:
            order[name]["iso"] = wire(min(made + datetime.timedelta(hours=hours_later), now))
    return json.dumps(order, separators=(",", ":"), ensure_ascii=False)


def wire(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def hours(now):
    """Hours since 1970 with the orders of each: more by day and at the week's end, a little more each week.

    Today has an ordinary day's orders already, at whatever time the pictures are taken.
    """
    last = int(now.timestamp()) // 3600
    today = last - now.hour
    draw = random.Random(3)
    found = {}
    for hour in range(last - DAYS * 24, last + 1):
        when = datetime.datetime.fromtimestamp(hour * 3600, datetime.timezone.utc)
        busy = (0.4 + math.sin((when.hour - 6) / 18 * math.pi) if when.hour >= 6 else 0.1) * (1.5 if when.weekday() >= 5 else 1)
        growth = 0.7 + 0.6 * (hour - last + DAYS * 24) / (DAYS * 24)
        if draw.random() < 0.3 * busy * growth:
            found[hour] = draw.choice((1, 1, 2))
    missing = 13 - sum(orders for hour, orders in found.items() if hour >= today)
    if missing > 0:
        found[last] = found.get(last, 0) + missing
    return found.items()
