"""A shopper's flows at the storefront in a browser."""
import json
import urllib.request

from playwright.sync_api import expect

import browser_checks
from dashboard import flow, report, step

ADDRESS = {
    "firstName": "Ann", "lastName": "Lee", "address1": "1 Main St", "city": "Springfield", "state": "IL", "zipcode": "62701",
}


def for_everybody(page, place):
    """In light and dark mode, and no wider than the screen."""
    report["failures"] += browser_checks.problems_of_schemes(page, place)
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    step(wide <= 0, f"{place} is {wide} pixels wider than the screen.")


def pay(page, card):
    page.locator("[name=card]").select_option(card)
    page.locator("form[action='/checkout'] button").click()


@flow
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


def receipt_stays(page):
    page.wait_for_url("**/orders/*")
    expect(page.get_by_role("status")).to_be_visible()
    page.reload()
    expect(page.locator("h1")).to_contain_text("№")
    expect(page.locator("[data-badge]")).to_be_hidden()


@flow
def shop_confirms(visit, given):
    """The sandbox's bank asks a guest: the page survives Reload, a refusal is explained, and the second attempt pays."""
    page = visit.page
    fill_bag(visit, given)
    pay(page, "tok_authenticationRequiredOnSetup")
    page.wait_for_url("**/checkout/return*")
    for_everybody(page, "the bank's page")
    page.reload()
    # From the bank's site: the browser sends the session's cookie.
    place = page.url
    page.goto("about:blank")
    page.set_content(f"<a href='{place}'>Back to the shop</a>")
    page.get_by_role("link").click()
    page.wait_for_url(place)
    with visit.refused("/checkout", 400):
        page.locator("main button[name=confirms][value='0']").press("Enter")
        expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("main [name=city]")).to_have_value("Springfield")
    pay(page, "tok_authenticationRequiredOnSetup")
    page.locator("main button[name=confirms][value='1']").press("Enter")
    receipt_stays(page)


# In place of Stripe's script, which needs Stripe's servers: a form without fields, and a bank that the flow answers for.
STRIPE = """globalThis.Stripe = (key, { locale }) => ({
  elements: ({ mode, paymentMethodCreation }) => ({
    submit: async () => ({}),
    create: (kind) => ({ mount: (node) => { node.textContent = [key, locale, mode, paymentMethodCreation, kind].join(' '); } }),
  }),
  createPaymentMethod: async () => ({ paymentMethod: { id: 'pm_card_threeDSecure2Required' } }),
  handleNextAction: ({ clientSecret }) => bank(clientSecret),
});"""


@flow
def shop_pays_by_stripe(visit, given):
    """Stripe's card form and the bank's page, which fails first; a double of Stripe, and a stub of its script."""
    page = visit.page
    outcomes = ["succeed", "fail"]

    def bank(_, secret):
        step("_secret_" in secret, "The bank's page got no client secret.")
        order = json.dumps({"outcome": outcomes.pop()}).encode()
        urllib.request.urlopen(urllib.request.Request(given["double"] + "/_control/authenticate", data=order)).read()
        return {}

    visit.hosts.add("js.stripe.com")
    visit.context.route("https://js.stripe.com/v3/", lambda route: route.fulfill(content_type="text/javascript", body=STRIPE))
    visit.context.expose_binding("bank", bank)
    fill_bag(visit, given)
    expect(page.locator("shop-card")).to_contain_text("pk_test_double en payment manual payment")
    for_everybody(page, "checkout with Stripe")
    button = page.locator("form[action='/checkout'] button")
    with visit.refused("/checkout", 400):
        button.dblclick()
        expect(page.get_by_role("alert")).to_be_visible()
    expect(page.locator("[data-badge]")).to_have_text("1")
    expect(page.locator("main [name=city]")).to_have_value("Springfield")
    expect(page.locator("shop-card")).to_contain_text("pk_test_double")
    button.click()
    receipt_stays(page)
    step(not outcomes, "The bank was not asked twice.")


@flow
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
    cards.last.scroll_into_view_if_needed()
    page.mouse.wheel(0, 4000)
    expect(cards.nth(first)).to_be_visible()
    place = cards.nth(first + 2)
    place.scroll_into_view_if_needed()
    name = place.get_by_role("link").inner_text()
    place.get_by_role("link").click()
    expect(page.locator("h1")).to_have_text(name.strip())
    page.go_back()
    expect(cards.nth(first + 2)).to_be_in_viewport()
    visit.open("/")
    expect(page.locator("main")).to_contain_text(name.strip())
