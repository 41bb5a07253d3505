"""Payments that the shopper's bank asks about, in the sandbox and at Stripe."""
import json
import urllib.request

from playwright.sync_api import expect

from dashboard import step
from storefront import fill_bag, for_everybody, pay, shop_flow


def receipt_stays(page):
    page.wait_for_url("**/orders/*")
    expect(page.get_by_role("status")).to_be_visible()
    page.reload()
    expect(page.locator("h1")).to_contain_text("№")
    expect(page.locator("[data-badge]")).to_be_hidden()


@shop_flow
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


@shop_flow
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
