"""Shoppers' searches in a large shop, against one of a hundredth of the products."""
import os
import random
import re

from measuring import load
from measuring.figures import Target, Workload
from measuring.suite import find_path
from measuring.turns import say

PRODUCTS = int(os.environ.get("BENCH_PRODUCTS", "100000"))
SMALLER = 100
LIMIT_MILLISECONDS = 25
CONNECTIONS = 4
# Rare words of frequent parts, parts of words, several words, a word of all products, nothing.
ODD_WORDS = ["liner", "tint", "niacinamide", "ream", "hip hed", "li", "the", "zz", "zzyzx", "night cream 5"]


def search(turns):
    """The p99 of the load test's search for words of the products' names, and for odd ones, by a few shoppers at once."""
    settings = {"SATCHEL_READ_CACHE": "0"}
    with turns.suite(settings) as large, turns.suite(settings) as small:
        shops = [Shop(large, PRODUCTS), Shop(small, PRODUCTS // SMALLER)]
        for name, words in {"words": name_words(large), "odd": ODD_WORDS}.items():
            workload = Workload(
                f"search-{name}", f"p99 of searches for {name} in {PRODUCTS:,} products, {CONNECTIONS} connections",
                unit="ms", better="less", limit=f"{PRODUCTS // SMALLER:,} products", target=Target(LIMIT_MILLISECONDS))
            for shop in shops:
                shop.ask_for(words)
            loads = turns.measure(
                workload, large, lambda: shops[0].searches(turns.seconds), lambda: shops[1].searches(turns.seconds).p99,
                figure=lambda met: met.p99)
            workload.note = f"{min(met.rate for met in loads):,.0f}/s at least, p50 {max(met.p50 for met in loads):.1f} ms at most"
            yield workload


def name_words(suite):
    """A word of each of a thousand generated products."""
    page = suite.call("GET", find_path("Product", {"objectId": {"$gte": "gen"}}, keys="name", order="objectId", limit=1000))
    chance = random.Random(20150401)
    words = [re.findall(r"[^\W\d_]{4,}", product["name"]) for product in page["results"]]
    return [chance.choice(found).lower() for found in words if found]


class Shop:
    """A suite with so many products."""

    def __init__(self, suite, products):
        self.suite, self.requests = suite, suite.path("search.requests")
        say(f"  fills a shop of {products:,} products")
        suite.script("add-products", str(products))

    def ask_for(self, words):
        load.write_requests(self.requests, load.gets("/parse" + search_path(word) for word in words))

    def searches(self, seconds):
        return load.wrk(self.suite.port, self.requests, seconds, connections=CONNECTIONS)


def search_path(word):
    pattern = {"$regex": f"\\Q{word}\\E", "$options": "i"}
    where = {"$or": [{"name": pattern}, {"detail": pattern}], "unitPrice": {"$gte": 4, "$lte": 40}}
    return find_path("Product", where, order="name", limit=20)
