"""Flows of the promotion views: writing, sending, cancelling, and the results."""
import datetime
import time

from playwright.sync_api import expect

from dashboard import enter, flow, step, toast, undo
from dashboard_shop import DIALOG, for_everybody, no_markup, press

# Seconds without a change after which the page counts an audience.
COUNT_PAUSE = 0.4


@flow
def promotions(visit, given):
    """A promotion is written with its preview, sent to a channel, and viewed; another is scheduled and cancelled."""
    page = visit.page
    enter(visit, given, "/dashboard/promotions")
    page.get_by_role("link", name="Add a promotion").press("Enter")
    expect(page.get_by_role("heading", name="Add a promotion")).to_be_visible()
    page.get_by_label("Text", exact=True).fill(given["content"])
    page.get_by_label("Discount code").fill("SAVE10")
    phone = page.get_by_role("group", name="Preview on a phone")
    expect(phone.locator(".note")).to_contain_text(given["content"])
    expect(phone.locator(".flyer")).to_contain_text("SAVE10")
    step(phone.locator("img, script").count() == 0, "The preview made markup of the text.")
    # The audience is counted while it is edited; an invalid audience is not queried.
    line = page.get_by_role("status").filter(has_text="evice")
    expect(line).to_contain_text("Reaches")
    asked = lambda: sum("countAudience" in (request.post_data or "") for request in visit.requests)
    page.get_by_label("Recipients").select_option("channels")
    expect(line).to_contain_text("when the condition is complete")
    before = asked()
    page.get_by_label("Channels").fill("2bad")
    page.get_by_role("button", name="Save").click()
    step(asked() == before, "What is no audience was counted.")
    expect(page.get_by_role("alert").filter(has_text="2bad is not a valid channel name")).to_be_visible()
    page.get_by_label("Channels").fill("")
    begin = time.monotonic()
    page.get_by_label("Channels").press_sequentially(given["channel"], delay=20)
    # A pause between two letters, which a busy machine makes too, is followed by a count.
    pauses = int((time.monotonic() - begin) / COUNT_PAUSE)
    expect(line).to_have_text(f"Reaches {given['devices']} devices now.")
    step(asked() - before <= 3 + pauses, f"It was counted {asked() - before} times while a name was typed.")
    page.get_by_role("button", name="Save").click()
    toast(page, "The promotion was saved.")
    page.get_by_role("button", name="Send", exact=True).wait_for()
    no_markup(page, "a promotion")
    page.get_by_label("Discount code").fill("SAVE20")
    page.get_by_role("button", name="Send", exact=True).click()
    toast(page, "Please save your changes first.")
    for is_kept in (False, True):
        page.get_by_label("Discount code").fill("SAVE20")
        page.get_by_role("button", name="Save").click()
        if not is_kept:
            undo(page, "The promotion was saved.")
            expect(page.get_by_label("Discount code")).to_have_value("SAVE10")
    toast(page, "was saved.")
    page.get_by_role("button", name="Send", exact=True).click()
    for_everybody(page, "sending")
    expect(page.locator(DIALOG)).to_contain_text(f"Channels: {given['channel']}")
    expect(page.locator(DIALOG)).to_contain_text(f"Reaches {given['devices']} devices now.")
    page.get_by_label("Heading").fill("News")
    press(page, "Send now")
    toast(page, "The promotion is being sent.")
    refresh_until(visit, page.locator(".figuresRow dd").nth(1), str(given["devices"]))
    expect(page.locator(".result s-table .tag")).to_have_text("Sent")
    page.get_by_label("On the home page from").fill("2024-05-02T10:00")
    page.get_by_label("Until").fill("2024-05-01T10:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="The end must be after a start.")).to_be_visible()
    page.get_by_label("Until").fill("")
    tomorrow = datetime.datetime.now() + datetime.timedelta(days=1)
    page.get_by_label("Send at").fill(tomorrow.strftime("%Y-%m-%dT%H:%M"))
    page.get_by_role("button", name="Save").click()
    toast(page, "was saved.")
    page.get_by_role("button", name="Send", exact=True).click()
    press(page, "Schedule")
    toast(page, "The promotion is scheduled.")
    page.get_by_role("button", name="Stop notifications").click()
    press(page, "Stop notifications")
    toast(page, "1 notification was stopped.")
    refresh_until(visit, page.locator(".result s-table .tag").first, "Stopped")
    visit.open("/dashboard/promotions")
    page.get_by_role("link", name="Notifications").click()
    expect(page.get_by_role("heading", name="Notifications", exact=True)).to_be_visible()
    pushes = page.locator("s-table tbody tr", has_text=given["search"])
    expect(pushes).to_have_count(2)
    page.get_by_role("button", name="Stopped").click()
    expect(pushes).to_have_count(1)
    expect(pushes).to_contain_text("Stopped")
    visit.open("/dashboard/promotions")
    page.get_by_label("Text or discount code").fill(given["search"])
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    expect(page.locator("s-table")).to_contain_text(f"Channels: {given['channel']}")
    no_markup(page, "promotions")


@flow
def codes(visit, given):
    """An unknown code of a promotion is made there; then it is found, changed and switched off."""
    page, code = visit.page, given["code"]
    enter(visit, given, "/dashboard/promotions/new")
    page.get_by_label("Discount code").fill(code.lower())
    page.get_by_label("Discount code").press("Tab")
    page.get_by_role("button", name="Make this code").click()
    box = page.locator(DIALOG)
    expect(box.get_by_label("Code")).to_have_value(code)
    box.get_by_label("Discount", exact=True).fill("120")
    press(page, "Save")
    expect(box.get_by_role("alert")).to_contain_text("from 1 to 100")
    box.get_by_label("Discount", exact=True).fill("20")
    for_everybody(page, "a discount code")
    press(page, "Save")
    toast(page, "was saved.")
    expect(page.get_by_role("button", name="Make this code")).to_have_count(0)
    page.get_by_label("Discount code").fill("")
    visit.open(f"/dashboard/codes?search={code.lower()}")
    rows = page.locator("s-table tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("20%")
    page.get_by_role("button", name=f"Edit: {code}").click()
    box.get_by_label("Kind of discount").select_option("amount")
    box.get_by_label("Discount", exact=True).fill("5.00")
    press(page, "Save")
    toast(page, "was saved.")
    expect(rows).to_contain_text("$5.00")
    page.get_by_role("button", name=f"Switch off: {code}").click()
    toast(page, "is switched off")
    expect(rows).to_contain_text("Switched off")
    for_everybody(page, "discount codes")


@flow
def promotion_result(visit, given):
    """The orders after a promotion with their revenue, and failures by reason; without analytics, no number is shown."""
    page = visit.page
    enter(visit, given, f"/dashboard/promotions/{given['promotion']}")
    followed = page.locator(".followed .figure")
    expect(followed).to_have_count(2)
    orders, revenue = followed.nth(0), followed.nth(1)
    expect(orders.locator("dt")).to_have_text("Orders that followed")
    expect(orders.locator("dd").first).to_have_text(given["orders"])
    expect(orders.locator(".note")).to_have_text(given["cancelled"])
    expect(revenue.locator("dt")).to_have_text("Revenue (USD)")
    expect(revenue.locator("dd").first).to_have_text(given["revenue"])
    expect(revenue.locator(".note")).to_have_text(given["refunded"])
    expect(page.locator(".result")).to_contain_text("Orders within 7 days after the customer opened the notification.")
    expect(page.get_by_role("heading", name="Failed by reason")).to_be_visible()
    reasons = page.locator(".result s-table").last.locator("tbody tr")
    expect(reasons).to_have_count(1)
    expect(reasons.locator("td").first).to_contain_text("Stopped before it was sent")
    expect(reasons.locator("td").last).to_have_text(given["failed"])
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    step(wide <= 0, f"The page is {wide} pixels wider than the screen.")
    for_everybody(page, "a promotion's result")
    page.route("**/functions/promotionReport", without_analytics)
    page.get_by_role("button", name="Refresh").click()
    expect(orders.locator("dd").first).to_have_text("–")
    expect(revenue.locator("dd").first).to_have_text("–")
    page.unroute("**/functions/promotionReport")


def without_analytics(route):
    answer = route.fetch()
    result = answer.json()["result"]
    route.fulfill(response=answer, json={"result": {key: result[key] for key in result if key not in ("opened", "orders", "sales")}})


def refresh_until(visit, place, text):
    """Sending happens in the background."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        expect(place).to_be_visible()
        if place.inner_text() == text:
            return
        visit.page.get_by_role("button", name="Refresh").click()
        visit.settle()
    expect(place).to_have_text(text)
