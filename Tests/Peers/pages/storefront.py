"""A shopper's flows at the storefront in a browser."""
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


@flow
def shop_browses(visit, given):
    """Suggestions by keyboard, more products while scrolling, their place after Back, and what was viewed."""
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
