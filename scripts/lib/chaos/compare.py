"""Compares what the shop acknowledged to its clients with its data. Pure functions; audit.py reads the data."""
import collections

# The facts of the clients' log, by `what`:
#   order   orderId, orderNo, total, items: [[productId, quantity], ...]
#   refund  orderId, amount
#   stock   productId, amount     a change of the stock that was acknowledged
#   maybe   productId, amount     a change of the stock without an answer
#   open    userId, items         a customer without a last answer, and what the bag may have had
LISTED_MAX = 10


def compare(told, data):
    """What does not agree, a sentence each.

    data: orders [{objectId, orderNo, total, refundedTotal, userId}], charges and refunds [(orderId, amount)] that payments
    made, providerCharges and providerRefunds the same of the provider, opening and stock {productId: pieces}, mails [orderNo],
    sales [orderId].
    """
    facts = collections.defaultdict(list)
    for fact in told:
        facts[fact["what"]].append(fact)
    return [
        *_orders(facts, data["orders"]), *_money(facts, data), *_stock(facts, data["opening"], data["stock"]),
        *_once("confirmation mails", data["mails"], [order["orderNo"] for order in data["orders"]]),
        *_once("sales in analytics", data["sales"], [order["objectId"] for order in data["orders"]]),
    ]


def _few(names):
    names = sorted(map(str, names))
    return ", ".join(names[:LISTED_MAX]) + (f" and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else "")


def _orders(facts, orders):
    found = {order["objectId"]: order for order in orders}
    told = {fact["orderId"]: fact for fact in facts["order"]}
    if len(told) != len(facts["order"]):
        ids = collections.Counter(fact["orderId"] for fact in facts["order"])
        yield f"two purchases were answered with the same order: {_few(key for key, count in ids.items() if count > 1)}"
    if lost := told.keys() - found.keys():
        yield f"acknowledged orders are lost: {_few(lost)}"
    undecided = {fact["userId"] for fact in facts["open"]}
    if unknown := [key for key in found.keys() - told.keys() if found[key]["userId"] not in undecided]:
        yield f"no client was given these orders: {_few(unknown)}"
    for key in sorted(told.keys() & found.keys()):
        for name in ("orderNo", "total"):
            if told[key][name] != found[key][name]:
                yield f"order {key}: the client has {name} {told[key][name]}, the shop {found[key][name]}"
    numbers = collections.Counter(order["orderNo"] for order in orders)
    if twice := [number for number, count in numbers.items() if count > 1]:
        yield f"order numbers are given twice: {_few(twice)}"


def _sums(rows):
    sums = collections.Counter()
    for key, amount in rows:
        sums[key] += amount
    return sums


def _money(facts, data):
    totals = {order["objectId"]: order["total"] for order in data["orders"]}
    charged, refunded = _sums(data["charges"]), _sums(data["refunds"])
    counts = collections.Counter(key for key, _ in data["charges"])
    for key in sorted(totals):
        if charged[key] != totals[key] or counts[key] != (totals[key] > 0):
            yield f"order {key} of {totals[key]} has {counts[key]} charges of {charged[key]} in all"
    for key in sorted(charged.keys() - totals.keys()):
        if charged[key] != refunded[key]:
            yield f"no order {key}, but a charge of {charged[key]}, of which {refunded[key]} are refunded"
    for name, ours, theirs in (
            ("charges", data["charges"], data["providerCharges"]), ("refunds", data["refunds"], data["providerRefunds"])):
        ours, theirs = collections.Counter(map(tuple, ours)), collections.Counter(map(tuple, theirs))
        if missing := theirs - ours:
            yield f"the provider has {name} that payments has not: {_few(missing)}"
        if surplus := ours - theirs:
            yield f"payments has {name} that the provider has not: {_few(surplus)}"
    acknowledged = _sums((fact["orderId"], fact["amount"]) for fact in facts["refund"])
    for order in sorted(data["orders"], key=lambda order: order["objectId"]):
        key = order["objectId"]
        if not acknowledged[key] == refunded[key] == order["refundedTotal"]:
            yield (
                f"order {key}: refunds of {acknowledged[key]} were acknowledged, payments made {refunded[key]}, "
                f"the order has {order['refundedTotal']}")


def _stock(facts, opening, stock):
    wanted = collections.Counter(opening)
    for fact in facts["order"]:
        for product, quantity in fact["items"]:
            wanted[product] -= quantity
    for fact in facts["stock"]:
        wanted[fact["productId"]] += fact["amount"]
    maybe = collections.defaultdict(list)
    for fact in facts["maybe"]:
        maybe[fact["productId"]].append(fact["amount"])
    for fact in facts["open"]:
        for product, quantity in fact["items"]:
            maybe[product].append(-quantity)
    for product in sorted(wanted):
        differs = stock.get(product, 0) - wanted[product]
        if differs not in subset_sums(maybe[product]):
            yield (
                f"product {product} has {stock.get(product)} pieces and should have {wanted[product]}"
                + (f" or some of {maybe[product]} more" if maybe[product] else ""))


def subset_sums(amounts):
    """The sums of all subsets."""
    sums = {0}
    for amount in amounts:
        sums |= {known + amount for known in sums}
    return sums


def _once(what, found, wanted):
    found, wanted = collections.Counter(found), collections.Counter(wanted)
    if missing := wanted - found:
        yield f"{what} are missing: {_few(missing)}"
    if surplus := found - wanted:
        yield f"{what} are too many: {_few(surplus)}"
