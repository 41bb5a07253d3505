"""Flows of the orders' list and of orders on paper."""
import io

from playwright.sync_api import Error, expect
from pypdf import PdfReader

from dashboard import enter, flow, step


def printed(page):
    """The texts of the pages on which a view is printed."""
    reader = PdfReader(io.BytesIO(page.pdf(format="A4")))
    return [sheet.extract_text() for sheet in reader.pages]


def check_sheet(page, title, texts, absent):
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    page.wait_for_load_state("networkidle")
    pages = printed(page)
    words = " ".join(" ".join(pages).split())
    for text in [title, *texts]:
        step(text in words, f"{title}: {text} is missing in {words!r}.")
    # The menu, the buttons and other parts of the screen.
    for text in ["Reviews", "Sign out", "Print", *absent]:
        step(text not in words, f"{title}: {text} is printed in {words!r}.")
    return pages


@flow
def paper(visit, given):
    """Packing slip, invoice and picking list as PDF pages, also in dark mode."""
    page, number = visit.page, f"№ {given['number']}"
    page.emulate_media(color_scheme="dark")
    enter(visit, given, f"/dashboard/orders/{given['order']}")
    page.get_by_role("link", name="Packing slip").click()
    slip = check_sheet(page, "Packing slip", [number, given["product"], "2 pieces", "Springfield", "Beauty & Me"], ["$"])
    step(len(slip) == 1, f"The packing slip has {len(slip)} pages.")
    page.get_by_role("link", name=number).click()
    page.get_by_role("link", name="Invoice").click()
    bill = check_sheet(page, "Invoice", [number, given["product"], "$3.50", "$7.00", "Springfield"], [])
    step(len(bill) == 1, f"The invoice has {len(bill)} pages.")
    visit.open("/dashboard/orders")
    page.get_by_role("link", name="Picking list").click()
    check_sheet(page, "Picking list", [number, given["product"]], ["$"])
    visit.open(f"/dashboard/orders/{given['order']}/poster")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@flow
def typing(visit, given):
    """Text that is typed while the response to an earlier search is on its way is kept and searched."""
    page, held = visit.page, []
    enter(visit, given, "/dashboard/orders")
    page.route("**/classes/Order?*", lambda route: held.append(route))
    search = page.get_by_label("Number, name, city or tracking")
    search.press_sequentially("Mid")
    with page.expect_request("**/classes/Order?*"):
        pass
    search.press_sequentially("night")
    page.unroute_all(behavior="ignoreErrors")
    for route in held:
        try:
            route.continue_()
        except Error:
            pass  # The page has aborted this request.
    expect(page).to_have_url(visit.base + "/dashboard/orders?search=Midnight")
    page.keyboard.press("End")
    page.keyboard.type(" rose")
    expect(search).to_have_value("Midnight rose")
    expect(page).to_have_url(visit.base + "/dashboard/orders?search=Midnight+rose")
    expect(search).to_be_focused()


@flow
def failures(visit, given):
    """Today's counts of failures lead to the charges and mails behind them."""
    page = visit.page
    enter(visit, given)
    page.get_by_role("link", name="Payments declined").click()
    expect(page.get_by_role("heading", name="Charges")).to_be_visible()
    expect(page.get_by_role("button", name="declined")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("gridcell", name="declined").first).to_be_visible()
    page.get_by_role("button", name="succeeded").click()
    expect(page.get_by_role("gridcell", name="declined")).to_have_count(0)
    page.get_by_role("link", name="Open the order").first.press("Enter")
    expect(page.locator(".timeline")).to_be_visible()
    visit.open("/dashboard")
    page.get_by_role("link", name="Mails that failed").click()
    expect(page.get_by_role("heading", name="Mails", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="failed")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="sent", exact=True).click()
    page.get_by_role("link", name=f"№ {given['number']}").first.press("Enter")
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    expect(page.locator("s-table tbody tr")).to_have_count(1)
