"""The accessibility of every page of the storefront: see browser_checks."""
from playwright.sync_api import expect

from dashboard import step
from storefront import for_everybody, shop_flow
from storefront.ways import sign_up

FOR_ALL = ["/bag", "/log-in", "/sign-up", "/account/forgotten", "/stores", "/stores?q=nowhere", "/search", "/search?q=nothing", "/offline"]
OF_A_SHOPPER = [
    "/favorites", "/account", "/account/contact", "/account/addresses", "/account/addresses/new", "/account/payments",
    "/account/devices", "/account/password", "/account/delete",
]


@shop_flow
def shop_pages(visit, given):
    """Public pages, pages of the demo shop (the first is a brand), and a shopper's account."""
    page = visit.page
    found = given["pages"]
    for path in [*FOR_ALL, *found, found[0] + "?view=list"]:
        seen(visit, path)
    with visit.refused("/products/nothing", 404):
        seen(visit, "/products/nothing")
    visit.open("/sign-up")
    sign_up(page, given)
    page.wait_for_url("**/account*")
    visit.open(given["product"])
    page.locator("form[action='/favorites'] button").click()
    page.wait_for_load_state()
    for path in [*OF_A_SHOPPER, given["product"] + "/review"]:
        seen(visit, path)
    # Every field that is wrong says so.
    visit.open("/account/addresses/new")
    page.locator("main form").first.evaluate("(form) => { form.noValidate = true; }")
    page.locator("main form button").first.click()
    expect(page.locator("main [aria-invalid=true]").first).to_be_visible()
    for_everybody(page, "a wrong address")


def seen(visit, path):
    visit.open(path)
    expect(visit.page.locator("h1")).to_have_count(1)
    step(visit.page.locator("main").inner_text().strip(), f"{path} is empty.")
    for_everybody(visit.page, path)
