"""A shopper's flows at the storefront in a browser."""
import functools

from playwright.sync_api import expect

import browser_checks
from dashboard import flow, report, step

# Reports a sum of layout shifts above 0.1. The sum is stricter than CLS, which takes the worst five seconds.
SHIFTS = """(() => {
  let sum = 0, isTold = false;
  new PerformanceObserver((list) => {
    for (const shift of list.getEntries()) {
      if (!shift.hadRecentInput) sum += shift.value;
      if (sum <= 0.1 || isTold) continue;
      isTold = true;
      const moved = shift.sources.map(({ node, previousRect, currentRect }) =>
        `${node?.outerHTML?.slice(0, 80)} ${previousRect.y} to ${currentRect.y}`).join(' | ');
      noticed(`${location.pathname} moves by ${sum.toFixed(2)}: ${moved}`);
    }
  }).observe({ type: 'layout-shift', buffered: true });
})()"""

# Finds inputs that phones zoom into, and prices that screen readers do not read as one text with a currency.
SHOP_RULES = r"""() => {
  const found = [];
  for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
    const size = parseFloat(getComputedStyle(field).fontSize);
    if (size < 16) found.push(`${size} px: ${field.outerHTML.slice(0, 80)}`);
  }
  for (const price of document.querySelectorAll('.price, .sums dd')) {
    const isPlain = !price.children.length && !price.closest('[aria-hidden=true]') && !price.matches('[aria-label], [role]');
    if (!isPlain || !/\d[.,]\d\d/.test(price.textContent) || !/[$€]|USD|EUR/.test(price.textContent))
      found.push(`not read as a price: ${price.outerHTML.slice(0, 120)}`);
  }
  return found;
}"""

ADDRESS = {
    "firstName": "Ann", "lastName": "Lee", "address1": "1 Main St", "city": "Springfield", "state": "IL", "zipcode": "62701",
}


def shop_flow(function):
    """A flow that fails on layout shifts."""
    @functools.wraps(function)
    def run(visit, given):
        visit.context.add_init_script(SHIFTS)
        function(visit, given)
    return flow(run)


def for_everybody(page, place):
    """In light and dark mode, no wider than the screen, with readable prices."""
    report["failures"] += browser_checks.problems_of_schemes(page, place)
    report["failures"] += [f"{place}: {text}" for text in page.evaluate(SHOP_RULES)]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    step(wide <= 0, f"{place} is {wide} pixels wider than the screen.")


def pay(page, card):
    page.locator("[name=card]").select_option(card)
    page.locator("form[action='/checkout'] button").click()


@shop_flow
def shop_buys(visit, given):
    """A guest finds a product, fills the bag, signs up and keeps it, is declined, pays, and sees the receipt again after Reload."""
    page = visit.page
    badge = page.locator("[data-badge]")
    visit.open("/")
    expect(page.locator("h1")).to_be_visible()
    for_everybody(page, "home")
    page.locator("#q").fill(given["search"])
    page.locator("#q").press("Enter")
    page.locator("main").get_by_role("link", name=given["search"]).first.click()
    expect(page.locator("h1")).to_have_text(given["search"])
    expect(badge).to_be_hidden()
    for_everybody(page, "product")
    page.locator("form.add button").click()
    expect(badge).to_have_text("1")
    page.locator(".stepper button").last.click()
    expect(badge).to_have_text("2")
    for_everybody(page, "bag")
    visit.open("/sign-up?next=%2Fbag")
    for name, value in {"firstName": "Ann", "lastName": "Lee", "email": given["email"], "password": "a-long-secret"}.items():
        page.locator(f"main [name={name}]").fill(value)
    for_everybody(page, "sign-up")
    page.locator("main form button").click()
    page.wait_for_url("**/bag")
    expect(badge).to_have_text("2")
    page.locator("main a[href='/checkout']").click()
    for name, value in ADDRESS.items():
        page.locator(f"main [name={name}]").fill(value)
    for_everybody(page, "checkout")
    pay(page, "tok_chargeDeclinedInsufficientFunds")
    expect(page.get_by_role("alert")).to_contain_text("insufficient funds")
    expect(page.locator("main [name=city]")).to_have_value("Springfield")
    pay(page, "tok_visa")
    page.wait_for_url("**/orders/*")
    receipt = page.url
    expect(page.get_by_role("status")).to_be_visible()
    report["order"] = page.locator("h1").inner_text().split("№ ")[1].split()[0]
    expect(badge).to_be_hidden()
    for_everybody(page, "receipt")
    page.reload()
    expect(page.locator("h1")).to_contain_text("№")
    # Nothing is left to pay.
    visit.open("/checkout")
    page.wait_for_url("**/bag")
    visit.open("/account")
    expect(page.locator("main").get_by_role("link", name="№")).to_have_count(1)
    for_everybody(page, "account")
    step(receipt.split("?")[0].endswith(page.locator("main").get_by_role("link", name="№").get_attribute("href")), "Another order.")


def fill_bag(visit, given):
    """One product, and the address at the checkout."""
    visit.open(given["list"])
    visit.page.locator("main .cards .card").first.get_by_role("link").click()
    visit.page.locator("form.add button").click()
    expect(visit.page.locator("[data-badge]")).to_have_text("1")
    visit.open("/checkout")
    for name, value in {**ADDRESS, "email": given["email"]}.items():
        visit.page.locator(f"main [name={name}]").fill(value)


def scroll_to(visit, place):
    """Scrolls in steps until there are more products than `place`."""
    cards = visit.page.locator("main .cards .card")
    visit.page.mouse.move(100, 300)
    for _ in range(200):
        if cards.count() > place:
            return expect(cards.nth(place)).to_be_visible()
        visit.page.mouse.wheel(0, 300)
        visit.settle()
    raise AssertionError("The list does not grow.")


@shop_flow
def shop_browses(visit, given):
    """Suggestions by keyboard, more products while scrolling, their place after Back, and viewed products."""
    page = visit.page
    visit.open("/")
    page.locator("#q").click()
    page.keyboard.type(given["word"])
    option = page.get_by_role("option").first
    expect(option).to_be_visible()
    for_everybody(page, "suggestions")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#q")).to_have_attribute("aria-activedescendant", option.get_attribute("id"))
    page.keyboard.press("Enter")
    expect(page.locator("main .price").first).to_be_visible()
    visit.open(given["list"])
    for_everybody(page, "a brand")
    cards = page.locator("main .cards .card")
    first = cards.count()
    # A page that does not come leaves the list and its link.
    pages = page.locator("shop-pages")
    with visit.offline():
        pages.get_by_role("link").click()
        expect(pages.get_by_role("status")).to_have_text(pages.get_attribute("data-failed"))
    pages.get_by_role("link").click()
    expect(cards.nth(first)).to_be_visible()
    scroll_to(visit, 2 * first)
    place = cards.nth(2 * first + 2)
    place.scroll_into_view_if_needed()
    name = place.get_by_role("link").inner_text()
    place.get_by_role("link").click()
    expect(page.locator("h1")).to_have_text(name.strip())
    page.go_back()
    expect(cards.nth(2 * first + 2)).to_be_in_viewport()
    # With the pages before it, once each.
    names = cards.locator(".name").all_inner_texts()
    step(len(names) == len(set(names)) == given["count"], f"The list has {len(names)} products: {names}")
    page.reload()
    expect(cards.nth(2 * first + 2)).to_be_in_viewport()
    visit.open("/")
    expect(page.locator("main")).to_contain_text(name.strip())


from storefront import faults, pages, pays, rules, ways  # noqa: E402,F401 (their flows)
