"""Pages of the storefront with a large catalog: kept, rendered, and what a browser loads for one."""
import http.client
import itertools
import os
import posixpath
import random
import re

from measuring import limits, load
from measuring.figures import Target, Workload
from measuring.suite import Failed
from measuring.turns import say

PRODUCTS = int(os.environ.get("BENCH_PRODUCTS", "100000"))
LIMIT_MILLISECONDS = 50
WEIGHT_KILOBYTES = 60
ACCEPT = {"Accept": "text/html", "Accept-Language": "en"}
HEADERS = [f"{name}: {value}" for name, value in ACCEPT.items()]


def storefront(turns):
    """Kept pages beside a bare route with as many bytes, then rendered ones, then script and style."""
    with turns.suite({"SATCHEL_STOREFRONT": "true"}) as suite, limits.bare_route(turns) as bare:
        say(f"  loads {PRODUCTS} products")
        suite.script("add-products", str(PRODUCTS))
        products = product_paths(suite.port)
        brand = re.search(r'href="(/brands/[^"]+)"', text(suite.port, "/"))
        if not brand:
            raise Failed("the home page has no brands")
        pages = {"home": "/", "product": products[0], "brand": brand.group(1)}
        for name, path in pages.items():
            yield kept(turns, suite, bare, name, path)
        yield rendered(turns, suite, products[1:])
        for name, path in pages.items():
            kilobytes = weight(suite.port, path) / 1000
            yield Workload(
                f"storefront-{name}-weight", f"script and style of the {name} page, compressed", unit="KB",
                better="less", rounds=[kilobytes], target=Target(WEIGHT_KILOBYTES))


def kept(turns, suite, bare, name, path):
    """The rate of one page from memory."""
    size = len(fetch(suite.port, path))
    ours, theirs = suite.path(f"{name}.requests"), suite.path(f"{name}.bare")
    load.write_requests(ours, load.gets([path]))
    load.write_requests(theirs, load.gets([f"/bare/{size}"]))
    workload = Workload(
        f"storefront-{name}", f"{name} page, kept ({size:,} bytes), 64 connections", limit="bare Hummingbird route",
        target=Target.share(0.5))
    turns.measure(
        workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds, headers=HEADERS),
        lambda: load.wrk(bare, theirs, turns.seconds).rate)
    return workload


def rendered(turns, suite, paths):
    """The p99 of product pages that no client has requested before."""
    random.Random(20150401).shuffle(paths)
    # Other products in each round, and in the one before the first.
    count = len(paths) // (turns.rounds + 1)
    parts = itertools.cycle([paths[start:start + count] for start in range(0, count * (turns.rounds + 1), count)])
    requests = suite.path("rendered.requests")

    def ours():
        load.write_requests(requests, load.gets(next(parts)))
        return load.wrk(suite.port, requests, turns.seconds, headers=HEADERS)

    workload = Workload(
        "storefront-rendered", f"p99 of product pages rendered, {PRODUCTS:,} products, 64 connections", unit="ms",
        better="less", target=Target(LIMIT_MILLISECONDS))
    loads = turns.measure(workload, suite, ours, figure=lambda met: met.p99)
    workload.note = f"{min(met.rate for met in loads):,.0f}/s at least, p50 {max(met.p50 for met in loads):.1f} ms at most"
    if any(met.requests > count for met in loads):
        workload.note += "; some pages were asked for twice"
    return workload


def product_paths(port):
    """The current path of every product, from the site map."""
    maps = re.findall(r"<loc>https?://[^/<]+(/sitemaps/products-[^<]+)</loc>", text(port, "/sitemap.xml"))
    return [
        path for file in maps
        for path in re.findall(r"<loc>https?://[^/<]+(/products/[^<]+)</loc>", text(port, file))]


def weight(port, page):
    """Bytes of the page's script and style as sent, with all their imports."""
    waiting = re.findall(r'(?:href|src)="(/shop/assets/[^"]+\.(?:css|js))"', text(port, page))
    if not waiting:
        raise Failed(f"{page} names no script and no style")
    sizes = {}
    while waiting:
        path = waiting.pop()
        if path in sizes:
            continue
        sizes[path] = len(fetch(port, path, {"Accept-Encoding": "gzip"}))
        source = text(port, path) if path.endswith(".js") else ""
        waiting += [
            posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
            for name in re.findall(r"""(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]""", source)]
    return sum(sizes.values())


def text(port, path):
    return fetch(port, path).decode()


def fetch(port, path, headers=None):
    """The body as it is sent.

    Raises Failed for every status but 200.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path, headers=ACCEPT | (headers or {}))
        answer = connection.getresponse()
        body = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise Failed(f"{path} is answered {answer.status}")
    return body
