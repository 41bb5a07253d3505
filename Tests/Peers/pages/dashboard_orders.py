"""Flows of the orders' list and of orders on paper."""
import csv
import datetime
import io
import unicodedata

from playwright.sync_api import Error, expect
from pypdf import PdfReader

from dashboard import enter, flow, sign_in, step, toast, write


def printed(page):
    """The texts of the pages on which a view is printed."""
    reader = PdfReader(io.BytesIO(page.pdf(format="A4")))
    # A font may have one sign for "fi".
    return [unicodedata.normalize("NFKC", sheet.extract_text()) for sheet in reader.pages]


def check_sheet(visit, title, texts, absent):
    page = visit.page
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    visit.settle()
    pages = printed(page)
    words = " ".join(" ".join(pages).split())
    step(all(sheet.strip() for sheet in pages), f"{title} has an empty page among {len(pages)}.")
    for text in [title, *texts]:
        step(unicodedata.normalize("NFKC", text) in words, f"{title}: {text} is missing in {words!r}.")
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
    slip = check_sheet(visit, "Packing slip", [number, given["product"], "2 pieces", "Springfield", "Beauty & Me"], ["$"])
    step(len(slip) == 1, f"The packing slip has {len(slip)} pages.")
    page.get_by_role("link", name=number).click()
    page.get_by_role("link", name="Invoice").click()
    bill = check_sheet(visit, "Invoice", [number, given["product"], "$3.50", "$7.00", "Springfield"], [])
    step(len(bill) == 1, f"The invoice has {len(bill)} pages.")
    visit.open("/dashboard/orders")
    page.get_by_role("link", name="Picking list").click()
    check_sheet(visit, "Picking list", [number, given["product"]], ["$"])
    visit.open("/dashboard/orders/sheets/poster")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


@flow
def shop_zone(visit, given):
    """Dates and days follow the shop's time zone, in which it is another day than in the browser's."""
    page = visit.page
    day = datetime.date.fromisoformat(given["date"])
    enter(visit, given, f"/dashboard/orders?from={given['date']}&to={given['date']}")
    row = page.locator("s-table tbody tr", has_text=f"№ {given['order']}")
    expect(row).to_contain_text(f"{day:%b} {day.day}, {day.year}")
    visit.open(f"/dashboard/orders?from={given['before']}&to={given['before']}")
    expect(page.locator("#content h1")).to_be_visible()
    expect(row).to_have_count(0)
    visit.open("/dashboard/analytics?days=1")
    expect(page.get_by_label("To", exact=True)).to_have_value(given["date"])
    expect(page.get_by_label("From", exact=True)).to_have_value(given["date"])
    expect(page.locator("#content")).to_contain_text(given["zone"])
    visit.open("/dashboard")
    expect(page.locator("#content")).to_contain_text(f"{day:%B} {day.day}")


@flow
def typing(visit, given):
    """Text that is typed while the response to an earlier search is on its way is kept and searched."""
    page, held = visit.page, []
    enter(visit, given, "/dashboard/orders")
    page.route("**/functions/orders", lambda route: held.append(route))
    search = page.get_by_label("Number, name, city or tracking")
    with page.expect_request("**/functions/orders"):
        search.press_sequentially("Mid")
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
def written(visit, given):
    """A mail is written to an order's customer and stays in the timeline as text."""
    page = visit.page
    enter(visit, given, f"/dashboard/orders/{given['order']}")
    page.get_by_role("button", name="Write a mail").click()
    expect(page.get_by_label("Subject")).to_have_value(f"Your order № {given['number']}")
    write(page, "<b>Hello</b>\nIt is packed.")
    step_of_mail = page.locator(".timeline li", has_text="wrote to the customer")
    expect(step_of_mail).to_contain_text("<b>Hello</b>")
    expect(step_of_mail.get_by_role("button")).to_have_count(0)


@flow
def apart(visit, given):
    """Ctrl-click on a row and a middle click on its link open a tab that is signed in, though nothing is stored."""
    page = visit.page
    visit.open("/dashboard/orders")
    sign_in(visit, given)
    row = page.locator("s-table tbody tr").first
    presses = [
        lambda: row.locator("td").nth(2).click(modifiers=["Control"]),
        lambda: row.get_by_role("link").click(button="middle"),
    ]
    for press in presses:
        with visit.context.expect_page() as opened:
            press()
        tab = opened.value
        expect(tab.locator(".timeline")).to_be_visible()
        step(tab.evaluate("sessionStorage.length") == 0, "The session was stored.")
        tab.close()
    expect(page).to_have_url(visit.base + "/dashboard/orders")
    other = visit.context.new_page()
    other.goto(visit.base + "/dashboard/orders")
    expect(other.get_by_label("Password")).to_be_visible()


@flow
def failures(visit, given):
    """Today's counts of failures lead to the charges and mails behind them."""
    page = visit.page
    enter(visit, given)
    page.get_by_role("link", name="Payments declined").click()
    expect(page.get_by_role("heading", name="Payments")).to_be_visible()
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
    page.get_by_role("button", name="Sent", exact=True).click()
    page.get_by_role("row").filter(has_text=f"№ {given['number']}").get_by_role("link", name="confirmation").first.click()
    expect(page.frame_locator("iframe.mail").get_by_text("Thank you for your order")).to_be_visible()
    expect(page.locator("pre.mail")).to_contain_text("Thank you for your order")
    page.locator("a.back").click()
    page.get_by_role("button", name="Sent", exact=True).click()
    expect(page.get_by_role("button", name="Sent", exact=True)).to_have_attribute("aria-pressed", "true")
    visit.settle()
    page.get_by_role("link", name=f"№ {given['number']}").first.press("Enter")
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    expect(page.locator("s-table tbody tr")).to_have_count(1)


@flow
def several(visit, given):
    """The quick search leads to an order, and back to the list as it was; two orders are printed, shipped and exported at once."""
    page, name = visit.page, given["name"]
    first, second = given["orders"]
    enter(visit, given, "/dashboard/orders")
    page.get_by_label("Number, name, city or tracking").fill(name)
    rows = page.locator("s-table tbody tr")
    expect(rows).to_have_count(2)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.get_by_role("searchbox", name="Find orders, products and customers").fill(str(first))
    expect(page.locator("dialog").get_by_role("link", name=f"№ {first}")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"№ {first}")).to_be_visible()
    page.locator("a.back").click()
    expect(rows).to_have_count(2)
    choose(page, first, second)
    bulk = page.get_by_role("group", name="Bulk changes")
    bulk.get_by_role("link", name="Packing slip").click()
    expect(page.locator("article.sheet")).to_have_count(2)
    step(len(printed(page)) == 2, "Two slips are not on a page each.")
    page.locator("a.back").click()
    expect(page.get_by_label("Number, name, city or tracking")).to_have_value(name)
    choose(page, first, second)
    bulk.get_by_role("button", name="Ship 2 orders").click()
    box = page.locator("dialog")
    box.get_by_label("Parcels").fill(f"{first}, Post, PP-1\n7, Post, PP-2")
    box.get_by_role("button", name="Ship", exact=True).click()
    expect(box.locator(".problem")).to_contain_text("Line 2")
    box.get_by_label("Parcels").fill(f"{first}, Post, PP-1\n{second}, \"Post, Inc.\", PP-2")
    box.get_by_role("button", name="Ship", exact=True).click()
    toast(page, "2 orders are on their way.")
    expect(page.get_by_role("gridcell", name="Shipped")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    step([line["order"] for line in lines] == [str(first), str(second)], f"The file has {lines}.")
    step(all(line["sum"] == "7.00" and line["state"] == "shipped" for line in lines), f"The file has {lines}.")


def choose(page, *numbers):
    for number in numbers:
        page.get_by_label(f"Choose № {number}", exact=True).check()
    expect(page.get_by_text(f"{len(numbers)} chosen")).to_be_visible()
