"""Compares what the shop acknowledged to its clients with its data. Pure functions; audit.py reads the data."""
import collections

# The facts of the clients' log, by `what`:
#   order   orderId, orderNo, total, items: [[productId, quantity], ...]
#   refund  orderId, amount, pending    whether the provider had not decided yet
#   denied  orderId, amount
#   stock   productId, amount     a change of the stock that was acknowledged
#   maybe   productId, amount     a change of the stock without an answer
#   open    userId, items         a customer without a last answer, and what the bag may have had
LISTED_MAX = 10


def compare(told, data):
    """What does not agree, a sentence each.

    data: orders [{objectId, orderNo, total, refundedTotal, userId}], charges, refunds and refusedRefunds [(orderId, amount)] of
    payments, provider: the answer of provider.books(), events [(eventId, effect)] that payments took, opening and stock
    {productId: pieces}, mails [orderNo], sales [orderId].
    """
    facts = collections.defaultdict(list)
    for fact in told:
        facts[fact["what"]].append(fact)
    return [
        *_orders(facts, data["orders"]), *_money(data), *_refunds(facts, data), *_events(data),
        *_stock(facts, data["opening"], data["stock"]),
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


def _money(data):
    totals = {order["objectId"]: order["total"] for order in data["orders"]}
    charged, refunded = _sums(data["charges"]), _sums(data["refunds"])
    counts = collections.Counter(key for key, _ in data["charges"])
    for key in sorted(totals):
        if charged[key] != totals[key] or counts[key] != (totals[key] > 0):
            yield f"order {key} of {totals[key]} has {counts[key]} charges of {charged[key]} in all"
    for key in sorted(charged.keys() - totals.keys()):
        if charged[key] != refunded[key]:
            yield f"no order {key}, but a charge of {charged[key]}, of which {refunded[key]} are refunded"
    for name in ("charges", "refunds"):
        ours, theirs = (collections.Counter(map(tuple, rows)) for rows in (data[name], data["provider"][name]))
        if missing := theirs - ours:
            yield f"the provider has {name} that payments has not: {_few(missing)}"
        if surplus := ours - theirs:
            yield f"payments has {name} that the provider has not: {_few(surplus)}"


def _refunds(facts, data):
    refunded, refused = _sums(data["refunds"]), _sums(data["refusedRefunds"])
    done, pending, denied = (
        _sums((fact["orderId"], fact["amount"]) for fact in found) for found in (
            [fact for fact in facts["refund"] if not fact["pending"]], [fact for fact in facts["refund"] if fact["pending"]],
            facts["denied"]))
    for order in sorted(data["orders"], key=lambda order: order["objectId"]):
        key = order["objectId"]
        # A pending refund was made later, or refused later.
        outcomes = [(done[key] + pending[key], denied[key]), (done[key], denied[key] + pending[key])]
        if (refunded[key], refused[key]) not in outcomes or order["refundedTotal"] != refunded[key]:
            yield (
                f"order {key}: refunds of {done[key]} were acknowledged, {pending[key]} were pending, {denied[key]} refused; "
                f"payments made {refunded[key]} and has {refused[key]} as refused, the order has {order['refundedTotal']}")


def _events(data):
    found = collections.Counter(event for event, _ in data["events"])
    if missing := set(data["provider"]["events"]) - found.keys():
        yield f"payments took events that it has not: {_few(missing)}"
    if twice := [event for event, count in found.items() if count > 1]:
        yield f"payments has events twice: {_few(twice)}"
    if count := data["provider"]["undelivered"]:
        yield f"{count} events of the provider were not delivered"
    for event, effect in data["events"]:
        if effect not in ("known", "decided"):
            yield f"the effect of the provider's event {event} is `{effect}`"
    for violation in data["provider"]["violations"]:
        yield f"the provider was asked wrongly: {violation}"


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
