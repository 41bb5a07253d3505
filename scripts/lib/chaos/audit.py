"""Reads from a running shop the data that compare.py compares."""
import json
import os
import re
import sqlite3
import subprocess
import time
import urllib.parse

from compare import compare

PAGE = 1000
CONFIRMATION = re.compile(rb"^Subject:\s*Your order (\d+) at\s", re.M)
# An outbox retries its messages within a minute.
WAIT_SECONDS = 180


def rows(folder, service, sql):
    database = sqlite3.connect(f"file:{folder}/{service}.sqlite?mode=ro", uri=True, timeout=10)
    try:
        return database.execute(sql).fetchall()
    finally:
        database.close()


def of_files(folder):
    """Reads rows of a service's file."""
    return lambda service, sql: rows(folder, service, sql)


def _find(client, name, condition, **options):
    query = urllib.parse.urlencode({"where": json.dumps(condition), "limit": PAGE} | options)
    status, answer = client.send("GET", f"/classes/{name}?{query}")
    if status != 200:
        raise OSError(f"{name}: {status} {answer}")
    return answer["results"]


def _orders(client):
    found, last = [], 0
    while page := _find(client, "Order", {"orderNo": {"$gt": last}}, order="orderNo", keys="orderNo,total,refundedTotal,customer"):
        found += page
        last = page[-1]["orderNo"]
    return [{
        "objectId": order["objectId"], "orderNo": order["orderNo"], "total": order["total"],
        "refundedTotal": order.get("refundedTotal") or 0, "userId": (order.get("customer") or {}).get("objectId"),
    } for order in found]


def _confirmations(folder):
    numbers = []
    for name in os.listdir(f"{folder}/mail"):
        if name.endswith(".eml"):
            with open(f"{folder}/mail/{name}", "rb") as file:
                if found := CONFIRMATION.search(file.read(4096).partition(b"\r\n\r\n")[0]):
                    numbers.append(int(found[1]))
    return numbers


def _amounts(found):
    return [(order_id, int(amount)) for order_id, amount in found]


def read(client, folder, query, provider, opening):
    """The data of the shop in that folder. client has the master key; query(service, sql) reads rows of a service."""
    def refunds(state):
        return _amounts(query(
            "payments", "SELECT c.orderId, r.amount FROM refunds r JOIN charges c ON c.operationId = r.chargeOperationId "
            f"WHERE r.state = '{state}'"))

    stock = _find(client, "Product", {"objectId": {"$in": sorted(opening)}}, keys="stock")
    return {
        "orders": _orders(client), "opening": opening,
        "stock": {product["objectId"]: product.get("stock") for product in stock},
        "charges": _amounts(query("payments", "SELECT orderId, amount FROM charges WHERE state = 'succeeded'")),
        "refunds": refunds("succeeded"), "refusedRefunds": refunds("refused"), "provider": provider.books(),
        "events": query("payments", "SELECT eventId, effect FROM paymentEvents"),
        "mails": _confirmations(folder), "sales": [row[0] for row in query("analytics", "SELECT orderId FROM sales")],
    }


def settle(client, folder, query, provider, opening, told):
    """The findings that remain after the outboxes had time to deliver."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            findings = compare(told, read(client, folder, query, provider, opening))
        except (OSError, ValueError, RuntimeError, sqlite3.Error, subprocess.SubprocessError) as error:
            findings = [f"the data could not be read: {error!r}"]
        if not findings or time.monotonic() > end:
            return findings
        time.sleep(2)
