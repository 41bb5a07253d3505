"""Known faults of other storefronts, which this one must not have."""
from playwright.sync_api import expect

from dashboard import step
from storefront import ADDRESS, fill_bag, pay, shop_flow

# Fills in a form without events, as some browsers do.
FILLED = """(values) => {
  for (const [name, value] of Object.entries(values)) document.querySelector(`main [name=${name}]`).value = value;
}"""


def shown_from_memory(page):
    """As by a browser that keeps left pages whole. Headless Chromium keeps none."""
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")


@shop_flow
def shop_faults(visit, given):
    """The bag after Back and in two tabs, quantity 0, filled-in forms, and an order that is ordered again."""
    page = visit.page
    quantity, badge = page.locator(".stepper span"), page.locator("[data-badge]")
    fill_bag(visit, given)
    visit.open("/bag")
    page.locator(".stepper button").last.click()
    expect(badge).to_have_text("2")
    page.locator(".stepper button").last.click()
    expect(badge).to_have_text("3")
    page.locator("main a[href='/checkout']").click()
    page.wait_for_url("**/checkout")
    page.go_back()
    expect(quantity).to_have_text("3")
    other = visit.watch(visit.context.new_page())
    old_tabs(visit, page, other, given)
    other.close()
    no_pieces(visit, given)
    fill_bag(visit, given)
    visit.open("/checkout")
    page.evaluate(FILLED, {**ADDRESS, "email": given["email"]})
    pay(page, "tok_visa")
    page.wait_for_url("**/orders/*")
    expect(badge).to_be_hidden()
    page.go_back()
    page.wait_for_url("**/bag")
    expect(badge).to_be_hidden()
    page.go_forward()
    page.locator("form[action$='/again'] button").click()
    page.wait_for_url("**/bag")
    expect(badge).to_have_text("1")


def old_tabs(visit, page, other, given):
    """A tab with an old bag neither pays for it nor overwrites the changes of another tab."""
    other.goto(visit.base + "/checkout")
    for name, value in {**ADDRESS, "email": given["email"]}.items():
        other.locator(f"main [name={name}]").fill(value)
    page.locator(".stepper button").first.click()
    expect(page.locator("[data-badge]")).to_have_text("2")
    pay(other, "tok_visa")
    expect(other.get_by_role("alert")).to_be_visible()
    expect(other.locator("main [name=city]")).to_have_value(ADDRESS["city"])
    expect(other.locator(".summary")).to_contain_text("2 ×")
    # A page that the browser kept shows the new number, and counts from it.
    other.goto(visit.base + "/bag")
    other.locator(".stepper button").first.click()
    expect(other.locator("[data-badge]")).to_have_text("1")
    with page.expect_navigation():
        shown_from_memory(page)
    expect(page.locator(".stepper span")).to_have_text("1")
    expect(page.locator("[data-badge]")).to_have_text("1")
    # A page of products stays as it is, with the new number.
    page.goto(visit.base + given["list"])
    expect(page.locator("[data-badge]")).to_have_text("1")
    page.evaluate("document.querySelector('form.find').dataset.sent = 'true'; document.title = 'kept'")
    other.locator(".stepper button").last.click()
    expect(other.locator("[data-badge]")).to_have_text("2")
    shown_from_memory(page)
    expect(page.locator("[data-badge]")).to_have_text("2")
    step(page.title() == "kept", "A page of products was loaded anew.")
    expect(page.locator("form[data-sent]")).to_have_count(0)


def no_pieces(visit, given):
    """A quantity of 0 removes the product, and every page has a link to go on."""
    page = visit.page
    late = visit.watch(visit.context.new_page())
    late.goto(visit.base + "/checkout")
    visit.open("/bag")
    for left in ("1", None):
        page.locator(".stepper button").first.click()
        if left:
            expect(page.locator("[data-badge]")).to_have_text(left)
    expect(page.locator("[data-badge]")).to_be_hidden()
    expect(page.locator("main .empty a")).to_be_visible()
    for name, value in {**ADDRESS, "email": given["email"]}.items():
        late.locator(f"main [name={name}]").fill(value)
    pay(late, "tok_visa")
    late.wait_for_url("**/bag")
    expect(late.locator("main .empty a")).to_be_visible()
    late.close()
    visit.open(given["list"])
    page.locator("main .cards .card a").first.click()
    page.locator("form.add input[type=number]").fill("0")
    page.locator("form.add button").click()
    step("/products/" in page.url, "No pieces were put into the bag.")
    # The server's answer, when the browser does not check the field.
    page.locator("form.add").evaluate("(form) => { form.noValidate = true; }")
    page.locator("form.add button").click()
    page.wait_for_url("**/bag")
    expect(page.locator("main :is(.empty, .problem)").first).to_be_visible()
