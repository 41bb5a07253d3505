"""A shopper's open pages, whose products an operator changes, and the map of stores."""
import re

from playwright.sync_api import expect

from dashboard import flow, png, step
from dashboard_live import Other, watched, without_reload
from storefront import for_everybody

HIDE = """(isHidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden });
  document.dispatchEvent(new Event('visibilitychange'));
}"""
# A page without shifts reports none.
SHIFTS = """() => new Promise((resolve) => {
  new PerformanceObserver((list) => resolve(list.getEntries().reduce((sum, entry) => sum + (entry.hadRecentInput ? 0 : entry.value), 0)))
    .observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(0), 1000);
})"""


def shifts(page, place):
    moved = page.evaluate(SHIFTS)
    step(moved <= 0.1, f"{place} moves by {moved}.")


def until_closed(page, socket, text):
    for _ in range(600):
        if socket.is_closed():
            break
        page.wait_for_timeout(100)
    step(socket.is_closed(), text)


@flow
def shop_live(visit, given):
    """A price and the stock follow on the product's page and in the bag, through a hidden tab and a lost network."""
    page, operator, product = visit.page, Other.operator(given), f"/classes/Product/{given['product']}"
    sockets, note = watched(page), page.locator("shop-live [role=status]")
    visit.open(f"/products/{given['product']}")
    price, add = page.locator(".product .price"), page.locator("form.add button")
    with without_reload(page):
        page.locator("form.add input[name=quantity]").fill("2")
        operator.send("PUT", product, {"unitPrice": 12.5})
        expect(price).to_have_text("$12.50")
        expect(note).to_have_text("The price has changed: $3.50 → $12.50")
        for_everybody(page, "a changed price")
        operator.send("PUT", product, {"stock": 0})
        expect(add).to_be_disabled()
        expect(page.locator("[data-state]")).to_have_text("Sold out")
        for_everybody(page, "a sold-out product")
        operator.send("PUT", product, {"stock": 3})
        expect(add).to_be_enabled()
        expect(page.locator("form.add input[name=quantity]")).to_have_value("2")
    shifts(page, "the product's page")
    add.click()
    line, sums = page.locator("li.line"), page.locator(".sums .price")
    expect(sums).to_have_text("$25.00")
    more = line.locator(".stepper button").last
    with without_reload(page):
        more.focus()
        operator.send("PUT", product, {"unitPrice": 14})
        expect(sums).to_have_text("$28.00")
        expect(note).to_have_text(f"{given['name']}: The price has changed: $12.50 → $14.00")
        step(more.evaluate("button => button === document.activeElement"), "The focus was lost.")
        for_everybody(page, "a changed bag")
        before = len(sockets)
        page.evaluate(HIDE, True)
        until_closed(page, sockets[-1], "A hidden page keeps its connection.")
        operator.send("PUT", product, {"unitPrice": 15})
        page.evaluate(HIDE, False)
        expect(sums).to_have_text("$30.00")
        step(len(sockets) == before + 1, f"{len(sockets) - before} connections after the page was shown again.")
        with visit.offline():
            operator.send("PUT", product, {"unitPrice": 16})
        expect(sums).to_have_text("$32.00")
        operator.send("PUT", product, {"active": False})
        expect(line).to_contain_text("No longer available")
        shifts(page, "the bag")
    operator.send("PUT", product, {"active": True})
    visit.open(f"/products/{given['product']}")
    expect(add).to_be_enabled()
    with visit.refused("/products/", 404):
        operator.send("PUT", product, {"active": False})
        expect(add).to_be_disabled()
    expect(note).to_have_text("No longer available")


@flow
def shop_live_off(visit, given):
    """A server without live queries: the pages open no connection."""
    sockets = watched(visit.page)
    visit.open(f"/products/{given['product']}")
    visit.page.locator("form.add button").click()
    expect(visit.page.locator("li.line")).to_be_visible()
    visit.page.wait_for_load_state("networkidle")
    step(visit.page.locator("shop-live").count() == 0, "The page wants to listen.")
    step(not sockets, f"A connection was tried: {[socket.url for socket in sockets]}")


@flow
def shop_map(visit, given):
    """With tiles, the stores are on a map: a pin leads to the list and the list to a pin. The position is asked for by the button alone."""
    page = visit.page
    visit.hosts.add("tiles.example.org")
    page.route("https://tiles.example.org/**", lambda route: route.fulfill(body=png(256, 256), content_type="image/png"))
    visit.context.grant_permissions([])
    visit.open("/stores")
    map, told = page.get_by_role("application", name="Map of the stores"), page.locator("s-map [aria-live]")
    expect(map).to_be_visible()
    page.wait_for_function("""() => {
      const all = [...document.querySelectorAll('.tiles img')];
      return all.length > 1 && all.every((image) => image.naturalWidth === 256);
    }""")
    expect(page.get_by_role("link", name="© Makers of maps")).to_be_visible()
    for_everybody(page, "stores on a map")
    shifts(page, "the stores' page")
    map.focus()
    page.keyboard.press("PageDown")
    expect(told).to_have_text(re.compile(r", 1 of \d+$"))
    name = told.inner_text().split(", 1 of ")[0]
    page.keyboard.press("Enter")
    step(name in page.evaluate("document.activeElement.matches('li') ? document.activeElement.innerText : ''"), "The list does not follow.")
    last = page.locator("li[data-latitude]").last
    last.get_by_role("button").press("Enter")
    expect(told).to_contain_text(last.locator("strong").inner_text())
    page.get_by_role("button", name="Stores near me").click()
    expect(page.locator("shop-near [role=status]")).to_contain_text("does not share your position")
    visit.context.set_geolocation({"latitude": 46.95, "longitude": 7.44})
    visit.context.grant_permissions(["geolocation"])
    page.get_by_role("button", name="Stores near me").click()
    page.wait_for_url("**/stores?latitude=46.950&longitude=7.440")
    expect(page.locator("main li").first).to_contain_text("km away")
    expect(map).to_be_visible()
