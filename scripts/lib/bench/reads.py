"""Reads: an object by its id and a page, with and without the gateway's cache, and how evenly they are answered.

Also the own account, which is cached by its session.
"""
import os
import random

from measuring import limits, load
from measuring.figures import Target, Workload, percent
from measuring.suite import find_path
from measuring.turns import Cost, say

PRODUCTS = int(os.environ.get("BENCH_PRODUCTS", "100000"))
# Zipf's own exponent: the product of rank n is read in proportion to 1 / n.
EXPONENT = 1.0
DRAWS = 100_000
PAGE = 20
PAGES_MAX = 10
COLD = {"SATCHEL_READ_CACHE": "0"}
TAIL = Target(3)
BARE = "bare Hummingbird route"


def cold(turns):
    """An object of about 1 KB and a filtered, sorted page, each read from the database every time."""
    with turns.suite(COLD) as suite, limits.bare_route(turns) as bare:
        product = suite.call("POST", "/classes/Product", {
            "name": "Bench Serum", "detail": "A light serum. " * 45, "unitPrice": 18, "priceUnit": "ea", "stock": 5,
            "tags": ["bench"], "active": True})
        brand = suite.find("Product", {"brand": {"$exists": True}}, limit=1)[0]["brand"]["objectId"]
        yield from beside_bare(
            turns, suite, bare, "object-cold", "object by id, cache off", [f"/classes/Product/{product['objectId']}"],
            0.55)
        page = page_path(brand, 0)
        yield next(
            beside_bare(turns, suite, bare, "page-cold", "page of 20 by brand and name, cache off", [page], 0.45))


def cached(turns):
    """The same with the read cache as it is by default, drawn by Zipf's law from a large catalog."""
    with turns.suite() as suite, limits.bare_route(turns) as bare:
        say(f"  loads {PRODUCTS} products")
        suite.script("add-products", str(PRODUCTS))
        objects, pages = drawn_paths(all_products(suite))
        drawn = f"cache on, Zipf over {PRODUCTS:,}"
        yield from beside_bare(turns, suite, bare, "object-cached", f"object by id, {drawn}", objects, 0.75)
        yield next(beside_bare(turns, suite, bare, "page-cached", f"page of 20 by brand and name, {drawn}", pages, 0.7))
        yield hot_tail(turns, suite, objects[0])


def own_account(turns):
    """GET /users/me of one session, against a cached object that a guest reads."""
    with turns.suite() as suite:
        user = suite.call("POST", "/users", {
            "username": "bench@customers.example", "email": "bench@customers.example", "password": "a-long-secret",
            "firstName": "Ada", "lastName": "Long", "city": "Springfield"}, master=False)
        size = len(suite.call_text("GET", "/users/me", master=False, session=user["sessionToken"]))
        product = suite.call("POST", "/classes/Product", {"name": "Bench Serum", "unitPrice": 18, "priceUnit": "ea", "active": True})
        ours, theirs = suite.path("own-account.requests"), suite.path("own-account.object")
        load.write_requests(ours, load.gets(["/parse/users/me"]))
        load.write_requests(theirs, load.gets([f"/parse/classes/Product/{product['objectId']}"]))
        session = [f"X-Parse-Session-Token: {user['sessionToken']}"]
        workload = Workload(
            "own-account", f"users/me ({size:,} bytes)", limit="cached object", target=Target.share(0.7))
        turns.measure(
            workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds, headers=session),
            lambda: load.wrk(suite.port, theirs, turns.seconds).rate)
        yield workload


def metering(turns):
    """What metrics and traces add to a read from the cache and from catalog, beside the processor time of that read."""
    for name, title, settings, service in (
            ("metering-cached", "cached object", {}, ()), ("metering-cold", "object by id, cache off", COLD, ("--service",))):
        with turns.suite(settings) as suite:
            product = suite.call("POST", "/classes/Product", {
                "name": "Bench Serum", "unitPrice": 18, "priceUnit": "ea", "active": True})
            requests = suite.path(f"{name}.requests")
            load.write_requests(requests, load.gets([f"/parse/classes/Product/{product['objectId']}"]))
            load.wrk(suite.port, requests, turns.seconds)
            workload = Workload(
                name, f"metrics and traces of a read: {title}", unit="µs", better="less",
                limit="processor time of the read", target=Target(0.01, of="ratio"))
            for _ in range(turns.rounds):
                workload.rounds.append(limits.figure(turns.tool("metering", *service)))
                cost = Cost(suite)
                with cost:
                    met = load.wrk(suite.port, requests, turns.seconds)
                workload.limit_rounds.append(sum(cost.microseconds(met.requests).values()))
            yield workload


def page_path(brand, number):
    condition = {"brand": {"__type": "Pointer", "className": "Category", "objectId": brand}, "active": True}
    skip = {"skip": number * PAGE} if number else {}
    return find_path("Product", condition, order="name", limit=PAGE, **skip)


def all_products(suite):
    """Pairs of a product's id and its brand's."""
    found, last = [], ""
    while page := suite.find("Product", {"objectId": {"$gt": last}}, order="objectId", limit=1000, keys="brand"):
        found += [(product["objectId"], product["brand"]["objectId"]) for product in page if "brand" in product]
        last = page[-1]["objectId"]
    return found


def zipf(count, draws, chance):
    """Ranks from 0, each drawn in proportion to 1 / (rank + 1)."""
    return chance.choices(range(count), weights=[1 / (rank + 1) ** EXPONENT for rank in range(count)], k=draws)


def drawn_paths(products):
    """Paths of objects, and of pages of the brands of such objects, the first pages the most often."""
    chance = random.Random(20150401)
    chance.shuffle(products)
    drawn = [products[rank] for rank in zipf(len(products), DRAWS, chance)]
    numbers = zipf(PAGES_MAX, DRAWS, chance)
    return (
        [f"/classes/Product/{product}" for product, _ in drawn],
        [page_path(brand, number) for (_, brand), number in zip(drawn, numbers)])


def answer_bytes(suite, paths):
    """What an answer's body has on average."""
    sample = paths[:50]
    return round(sum(len(suite.call_text("GET", path, master=False)) for path in sample) / len(sample))


def beside_bare(turns, suite, bare, name, title, paths, share):
    """The rate of reads beside a bare route with as many bytes, then their p99 / p50."""
    size = answer_bytes(suite, paths)
    ours, theirs = suite.path(f"{name}.requests"), suite.path(f"{name}.bare")
    load.write_requests(ours, load.gets("/parse" + path for path in paths))
    # As many lines, so that the load generator has the same to do.
    load.write_requests(theirs, load.gets(f"/bare/{size}?{number}" for number in range(len(paths))))
    workload = Workload(name, f"{title} ({size:,} bytes)", limit=BARE, target=Target.share(share))
    bare_loads = []

    def bare_rate():
        bare_loads.append(load.wrk(bare, theirs, turns.seconds))
        return bare_loads[-1].rate

    before = looks(suite)
    loads = turns.measure(workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds), bare_rate)
    hits, misses = (now - then for now, then in zip(looks(suite), before))
    yield workload
    yield Workload(
        f"{name}-tail", f"p99 / p50 of {title}, 64 connections", unit="", better="less",
        rounds=tails(loads), limit=BARE, limit_rounds=tails(bare_loads[1:]), target=TAIL, steal=workload.steal,
        note=f"p50 {min(met.p50 for met in loads):.2f} ms, p99 {max(met.p99 for met in loads):.2f} ms at most"
        + (f"; {percent(misses / (hits + misses))} missed the cache, warm-up included" if hits else ""))


def hot_tail(turns, suite, path):
    """p99 / p50 of one object, which hardly ever misses the cache, beside a file of as many bytes from nginx."""
    site = suite.path("hot")
    os.makedirs(site)
    with open(os.path.join(site, "object.json"), "wb") as file:
        file.write(suite.call_text("GET", path, master=False))
    ours, theirs = suite.path("hot.requests"), suite.path("hot.nginx")
    load.write_requests(ours, load.gets(["/parse" + path]))
    load.write_requests(theirs, load.gets(["/object.json"]))
    workload = Workload(
        "object-hot-tail", "p99 / p50 of one cached object, 64 connections", unit="", better="less",
        limit="nginx with the same bytes")
    with limits.nginx(site) as nginx:
        turns.measure(
            workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds),
            lambda: load.wrk(nginx, theirs, turns.seconds).tail, lambda met: met.tail)
    return workload


def looks(suite):
    """Hits and misses of the read cache since the start."""
    cache = suite.call("GET", "/serverInfo")["readCache"]
    return (cache["hits"], cache["misses"]) if cache else (0, 0)


def tails(loads):
    """p99 / p50 of each. What a bare route has, the machine and the load generator cause."""
    return [met.tail for met in loads]
