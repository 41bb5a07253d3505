"""An operator's flows at the dashboard in a browser, checked by what the page shows.

Usage: dashboard.py <base URL> <flow> [<JSON with the flow's data>]
       dashboard.py

Prints one JSON object: {"failures": [text…], "steps": n, …}. Flows are the functions below; `viewport`, `scheme` and `language` in the JSON
choose the screen. Without arguments it keeps one browser and takes flows one after the other: POST {"base", "flow", "given"}.
"""
import csv
import io
import json
import sys
import tempfile
import time
import traceback
import urllib.request
import zlib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from playwright.sync_api import expect

import browser_checks
from browser import Chromium, Visit

# Browsers share the machine with suites of other tests.
expect.set_options(timeout=60000)

FLOWS, report = {}, {"failures": [], "steps": 0}
# Flows in other files import this one.
sys.modules["dashboard"] = sys.modules[__name__]


def flow(function):
    FLOWS[function.__name__] = function
    return function


def step(is_right, text):
    report["steps"] += 1
    if not is_right:
        report["failures"].append(text)


def sign_in(visit, given, keep=False, code=None):
    page = visit.page
    page.get_by_label("E-mail or user name").fill(given["user"])
    page.get_by_label("Password").fill(given["password"])
    if keep:
        page.get_by_label("Stay signed in").check()
    page.get_by_role("button", name="Sign in").click()
    if code:
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Sign in").click()


def enter(visit, given, path="/dashboard"):
    """Opens a view, signed in so that further addresses can be opened afterwards."""
    visit.open(path)
    sign_in(visit, given, keep=True)
    expect(visit.page.locator("#content h1")).to_be_visible()


def undo(page, text):
    """Takes back what a message tells."""
    page.locator(".toast", has_text=text).get_by_role("button", name="Undo").click()
    toast(page, "Undone.")


def toast(page, text):
    """Waits for a message and dismisses it, so that a second message with the same text belongs to a second action."""
    notes = page.locator(".toast", has_text=text)
    expect(notes.first).to_be_visible()
    notes.evaluate_all("notes => notes.forEach((note) => note.remove())")


@flow
def signing_in(visit, given):
    """Wrong passwords, customers' accounts, a second factor, reloading, signing out, an expired session."""
    page = visit.page
    visit.open("/dashboard/orders?state=made")
    with visit.refused("/login", 404):
        sign_in(visit, {**given, "password": "not the password"})
        expect(page.get_by_role("alert").filter(has_text="Name or password is wrong.")).to_be_visible()
    sign_in(visit, given["customer"])
    expect(page.get_by_role("alert").filter(has_text="does not belong to the shop")).to_be_visible()
    step(page.evaluate("sessionStorage.length") == 0, "A customer's session was kept.")
    sign_in(visit, given)
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    step("state=made" in page.url, f"The address was lost: {page.url}")
    step(page.evaluate("sessionStorage.length + localStorage.length") == 0, "A session was kept that was not to be.")
    page.reload()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    sign_in(visit, given, keep=True)
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    step(visit.context.cookies() == [], "There is a cookie.")
    token = page.evaluate("JSON.parse(sessionStorage.getItem('satchel.session')).token")
    # Tested before a view without live queries, which notices the end only with its next request.
    page.get_by_role("link", name="Reviews").click()
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    post(given, "/logout", token)
    with visit.refused("/parse/", 400):
        page.get_by_role("link", name="Products").click()
        expect(page.get_by_role("alert").filter(has_text="Your session has ended")).to_be_visible()
    sign_in(visit, given, keep=True)
    expect(page.get_by_role("heading", name="Products")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    step(page.evaluate("sessionStorage.length") == 0, "A session was kept after signing out.")


def post(given, path, token):
    headers = {"X-Parse-Application-Id": "satchel", "X-Parse-Session-Token": token, "Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(given["api"] + path, data=b"{}", headers=headers)).read()


@flow
def second_factor(visit, given):
    """`code` is accepted once; a wrong code before it is refused."""
    page = visit.page
    visit.open("/dashboard")
    with visit.refused("/login", 400):
        sign_in(visit, given, code="000000x")
        expect(page.get_by_role("alert").filter(has_text="The code is wrong")).to_be_visible()
    page.get_by_label("Code").fill(given["code"])
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".figuresRow")).to_be_visible()


@flow
def orders(visit, given):
    """Two orders: the first is found by its number, gets a note, is shipped, delivered and partly refunded; the second is cancelled."""
    page = visit.page
    first, second = given["orders"]
    enter(visit, given, "/dashboard/orders")
    page.get_by_label("Number, name, city or tracking").fill(str(first))
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    # Enter in the grid opens the order.
    page.locator("s-table tbody td").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=f"№ {first}")).to_be_visible()
    take_note(page)
    page.get_by_role("button", name="Ship", exact=True).click()
    page.get_by_label("Carrier").fill("Parcel Post")
    page.get_by_label("Tracking number").fill("PP-77")
    page.get_by_label("Tracking link").fill("https://post.example/track?n=PP-77")
    page.locator("dialog").get_by_role("button", name="Ship", exact=True).click()
    toast(page, f"Order {first} is on its way.")
    expect(page.locator(".timeline")).to_contain_text("PP-77")
    step(page.locator(".timeline a[target]").get_attribute("href") == "https://post.example/track?n=PP-77", "The link to the parcel is another.")
    page.get_by_role("button", name="Correct tracking").click()
    box = page.locator("dialog")
    expect(box.get_by_label("Carrier")).to_have_value("Parcel Post")
    box.get_by_label("Tracking number").fill("PP-78")
    box.get_by_role("button", name="Correct tracking").click()
    toast(page, f"The tracking of order {first} was corrected.")
    expect(page.locator(".timeline")).to_contain_text("Parcel Post · PP-77 → Parcel Post · PP-78")
    page.get_by_role("button", name="Mark as delivered").click()
    page.locator("dialog").get_by_role("button", name="Mark as delivered").click()
    toast(page, f"Order {first} was delivered.")
    expect(page.get_by_role("button", name="Correct tracking")).to_have_count(0)
    page.get_by_role("button", name="Refund").click()
    amount = page.get_by_label("Amount")
    amount.fill("1000000")
    page.locator("dialog").get_by_role("button", name="Refund").click()
    expect(page.locator("dialog .problem")).to_contain_text("at most")
    amount.fill("1.50")
    page.get_by_label("Reason").fill("One was broken.")
    page.locator("dialog").get_by_role("button", name="Refund").click()
    toast(page, "$1.50 was refunded.")
    expect(page.locator(".facts")).to_contain_text("-$1.50")
    open_until(visit, page.locator(".timeline"), "Mail: shipped", "Notification: shipped")
    visit.open("/dashboard/orders?state=made")
    page.get_by_role("link", name=f"№ {second}").press("Enter")
    page.get_by_role("button", name="Cancel order").click()
    # Escape sends no request.
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    page.get_by_role("button", name="Cancel order").click()
    page.locator("dialog").get_by_role("button", name="Cancel order").click()
    toast(page, f"Order {second} was cancelled.")
    expect(page.locator(".heading .tag")).to_have_text("Cancelled")


def open_until(visit, place, *texts):
    """Opens the page again and again until a place on it has the texts: services tell each other of changes with a delay."""
    end, missing = time.monotonic() + 60, texts
    while missing and time.monotonic() < end:
        visit.open(visit.page.url.removeprefix(visit.base))
        expect(place).to_be_visible()
        shown = " ".join(place.text_content().split())
        missing = [text for text in texts if text not in shown]
    step(not missing, f"The page lacks {missing}.")


@flow
def views(visit, given):
    """A view of the orders is saved under a name, used after the page was reloaded, and removed."""
    page = visit.page
    name = given["name"]
    enter(visit, given, "/dashboard/orders")
    page.get_by_role("group", name="Status").get_by_role("button", name="Shipped").click()
    expect(page.locator("s-table th", has_text="Pieces")).to_have_count(1)
    page.locator(".views summary").click()
    page.get_by_label("Pieces").uncheck()
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("s-table th", has_text="Pieces")).to_have_count(0)
    if given["viewport"] == "desk":  # On a phone, rows are cards without column headings.
        page.get_by_role("button", name="Number").click()
        expect(page.locator("s-table th[aria-sort=ascending]")).to_have_count(1)
    page.get_by_role("button", name="Save view").click()
    page.locator("dialog").get_by_label("Name").fill(name)
    page.locator("dialog").get_by_role("button", name="Save").click()
    toast(page, f"The view {name} was saved.")
    saved = page.url
    view = page.get_by_role("navigation", name="Saved views").get_by_role("link", name=name)
    expect(view).to_have_attribute("aria-current", "true")
    # Markup in a column or a name is shown as text.
    step(page.locator(".views b").count() == 0, "The name of a view became markup.")
    visit.open("/dashboard/orders?state=made")
    expect(view).to_be_visible()
    step(view.get_attribute("aria-current") is None, "Another view is said to be this one.")
    view.press("Enter")
    expect(page.get_by_role("button", name="Shipped")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("s-table th", has_text="Pieces")).to_have_count(0)
    step(sorted(page.url.split("?")[1].split("&")) == sorted(saved.split("?")[1].split("&")), f"The link is another: {page.url}")
    page.get_by_role("button", name="Remove view").click()
    page.locator("dialog").get_by_role("button", name="Remove view").click()
    toast(page, f"The view {name} was removed.")
    expect(view).to_have_count(0)


def take_note(page):
    """Two notes for the team, one of which is removed again. Markup in them is shown as text."""
    notes = page.locator(".timeline li.note")
    for index, text in enumerate(["Called: after <b>six</b>.", "Wrong order"]):
        page.get_by_label("Note for the team").fill(text)
        page.get_by_role("button", name="Add note").click()
        toast(page, "The note was added.")
        expect(notes).to_have_count(index + 1)
        expect(notes.last).to_contain_text(text)
    step(page.locator(".timeline b").count() == 0, "A note became markup.")
    # The printed page goes into the parcel, so it contains no notes.
    page.emulate_media(media="print")
    expect(notes.first).to_be_hidden()
    expect(page.get_by_label("Note for the team")).to_be_hidden()
    page.emulate_media(media="screen")
    notes.last.get_by_role("button", name="Remove note").click()
    page.locator("dialog").get_by_role("button", name="Remove note").click()
    toast(page, "The note was removed.")
    expect(notes).to_have_count(1)


@flow
def products(visit, given):
    """A product with a photo is added, priced, counted and unpublished by keyboard; a refusal reverts the shown change."""
    page = visit.page
    enter(visit, given, "/dashboard/products")
    page.get_by_role("button", name="Add a product").click()
    box = page.locator("dialog")
    box.get_by_label("Product", exact=True).fill(given["name"])
    box.get_by_label("Price").fill("12.50")
    box.get_by_label("Stock").fill("7")
    box.get_by_label("Brand").select_option(label=given["brand"])
    with tempfile.TemporaryDirectory() as folder:
        photo = Path(folder, "a photo.png")
        photo.write_bytes(png(600, 400))
        box.locator("[name=photo]").set_input_files(photo)
        expect(box.locator(".photo img")).to_be_visible()
        # In a dialog on top of the product's dialog.
        box.get_by_role("button", name="Crop").click()
        page.get_by_role("button", name="Square").click()
        page.get_by_role("button", name="Use this part").click()
        expect(box).to_have_count(1)
        page.wait_for_function("() => document.querySelector('.photo img').naturalWidth === 400")
        box.get_by_role("button", name="Add product").click()
        toast(page, "was added.")
    # The first row, although the list is sorted by name.
    expect(page.locator("s-table tbody tr").first).to_contain_text(given["name"])
    page.get_by_label("Name or description").fill(given["name"])
    row = page.locator("s-table tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(given["brand"])
    page.wait_for_function("document.querySelector('s-table img')?.naturalWidth > 0")
    edit(page, row, "$12.50", "13,75")
    expect(row).to_contain_text("$13.75")
    toast(page, "was saved.")
    edit(page, row, "7", "3")
    toast(page, "was saved.")
    switch = row.get_by_role("switch")
    switch.click()
    expect(row.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    visit.open(f"/dashboard/products?search={given['name']}")
    expect(row).to_contain_text("$13.75")
    expect(row.get_by_role("switch")).to_have_attribute("aria-checked", "false")
    # Shown at once, and reverted with a message when the server refuses.
    page.route("**/classes/Product/*", lambda route: route.fulfill(status=400, json={"code": 142, "error": "No such price today."}))
    with visit.refused("/classes/Product", 400):
        edit(page, row, "$13.75", "99")
        toast(page, "No such price today.")
    expect(row).to_contain_text("$13.75")
    page.unroute("**/classes/Product/*")
    page.locator("s-table td").nth(3).press("Enter")
    page.keyboard.type("-1")
    page.keyboard.press("Enter")
    toast(page, "The stock is a whole number")
    page.keyboard.press("Escape")
    expect(row.locator("td").nth(3)).to_contain_text("3")


FIELD = "s-table input:not([type=checkbox])"


def edit(page, row, shown, wanted):
    """By keyboard only: Enter on the cell, a new value, Enter; then the cell has the focus again."""
    cell = row.locator("td", has_text=shown).last
    cell.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter") if page.locator(FIELD).count() == 0 else None
    page.locator(FIELD).fill(wanted)
    page.keyboard.press("Enter")
    step(page.evaluate("document.activeElement.matches('td[role=gridcell]')"), f"The focus was lost after {wanted}.")


def png(width, height, right=(143, 67, 29)):
    """A picture of one colour, or with another colour in its right half."""
    def chunk(kind, data):
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    head = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    left = width // 2
    rows = (b"\0" + bytes([143, 67, 29]) * left + bytes(right) * (width - left)) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@flow
def reviews(visit, given):
    """One reported review is kept; another is answered, hidden with a reason and shown again. Markup in them is shown as text."""
    page = visit.page
    keep, hide = given["reviews"]
    enter(visit, given, "/dashboard/reviews")
    search = page.get_by_label("Text or product")
    search.fill(given["product"].upper())
    page.wait_for_url(lambda url: "search=" in url)
    expect(page.locator("article")).to_have_count(2)
    card = page.locator("article", has_text=keep)
    expect(card).to_contain_text("1 report")
    card.get_by_role("button", name="Keep").click()
    toast(page, "The review is kept.")
    expect(page.locator("article", has_text=keep)).to_have_count(0)
    page.locator("article", has_text=hide).get_by_role("button", name="Write a mail").click()
    step(page.get_by_label("Subject").input_value().startswith("Your review of"), "The subject does not name the review.")
    write(page, given["answer"])
    page.locator("article", has_text=hide).get_by_role("button", name="Hide").click()
    page.get_by_label("Reason").fill("An advertisement.")
    page.locator("dialog").get_by_role("button", name="Hide").click()
    toast(page, "The review was hidden.")
    page.get_by_role("button", name="Hidden", exact=True).click()
    hidden = page.locator("article", has_text=hide)
    expect(hidden).to_contain_text("An advertisement.")
    hidden.get_by_role("button", name="Show again").click()
    toast(page, "The review is shown again.")
    page.get_by_role("button", name="All", exact=True).click()
    expect(page.locator("article")).to_have_count(2)
    search.fill(keep.split(" <")[0])
    expect(page.locator("article")).to_have_count(1)
    step(page.locator("article img[onerror], article script").count() == 0, "A review became markup.")


def write(page, text):
    """In the dialog of a mail to a customer."""
    box = page.locator("dialog")
    box.get_by_label("Text").fill(text)
    everybody(page, "a mail to a customer")
    box.get_by_role("button", name="Send").click()
    toast(page, "The mail is on its way.")


@flow
def customers(visit, given):
    """A customer is found by name, viewed, written to, signed out everywhere, tagged, noted and exported."""
    page = visit.page
    enter(visit, given, "/dashboard/customers")
    page.get_by_label("Name, city, phone or e-mail").fill(given["name"])
    page.get_by_role("link", name=given["name"]).press("Enter")
    expect(page.get_by_role("heading", name=given["shown"])).to_be_visible()
    expect(page.locator(".facts").first).to_contain_text(given["email"])
    page.get_by_role("button", name="Write a mail").click()
    page.get_by_label("Subject").fill("A question")
    write(page, given["text"])
    mails = page.locator("section.card", has=page.get_by_role("heading", name="Mails from the team"))
    expect(mails).to_contain_text("A question")
    expect(mails).to_contain_text(given["text"])
    page.get_by_role("button", name="Sign out everywhere").click()
    page.locator("dialog").get_by_role("button", name="Sign out everywhere").click()
    toast(page, "1 session was ended.")
    expect(page.get_by_text("Not signed in anywhere.")).to_be_visible()
    tag = given["tag"]
    card = page.locator("section.card", has=page.get_by_role("heading", name="Tags and notes"))
    card.get_by_role("button", name="Change tags").click()
    everybody(page, "tags of a customer")
    page.locator("dialog").get_by_label("Tags").fill(f"{tag}, VIP")
    page.locator("dialog").get_by_role("button", name="Save").click()
    toast(page, "The tags were saved.")
    expect(card.get_by_text(tag)).to_be_visible()
    card.get_by_label("Note for the team").fill("Rings twice.")
    card.get_by_role("button", name="Add note").click()
    toast(page, "The note was added.")
    expect(card.get_by_text("Rings twice.")).to_be_visible()
    everybody(page, "customer")
    visit.open(f"/dashboard/customers?tag={tag}&sort=-spent")
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    expect(page.locator("s-table tbody tr")).to_contain_text(given["email"])
    everybody(page, "customers with a tag")
    text = csv_of(page, "Export")
    step(given["email"] in text and tag in text, f"The file lacks the customer: {text}")


@flow
def accounts(visit, given):
    """A user without orders is found by mail and by name, edited, and deleted after the consequences were shown."""
    page = visit.page
    enter(visit, given, "/dashboard/customers")
    page.get_by_role("button", name="All accounts").click()
    expect(page.get_by_text("Type at least two characters")).to_be_visible()
    page.get_by_label("Beginning of a name or e-mail").fill(given["email"].upper())
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Ada").press("Enter")
    expect(page.get_by_text("No orders yet.")).to_be_visible()
    card = page.locator("section.card", has=page.get_by_role("heading", name="Account", exact=True))
    expect(card).to_contain_text("password")
    everybody(page, "account")
    card.get_by_role("button", name="Edit account").click()
    everybody(page, "account editor")
    box = page.locator("dialog")
    box.get_by_label("Last name").fill(given["lastName"])
    box.get_by_label("E-mail").fill("nobody")
    with visit.refused("/functions/updateAccount", 400):
        box.get_by_role("button", name="Save").click()
        expect(box.locator(".problem")).not_to_be_empty()
    box.get_by_label("E-mail").fill(given["address"])
    box.get_by_role("button", name="Save").click()
    toast(page, "The account was saved.")
    expect(page.locator("#content h1")).to_have_text(f"Ada {given['lastName']}")
    expect(card).to_contain_text(given["address"])
    visit.open("/dashboard/customers?show=accounts")
    page.get_by_label("Beginning of a name or e-mail").fill(given["search"])
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    page.get_by_role("link", name=given["lastName"]).press("Enter")
    card.get_by_role("button", name="Delete account").click()
    expect(box).to_contain_text("1 session ends at once.")
    everybody(page, "deletion")
    box.get_by_label(given["address"]).fill("somebody else")
    box.get_by_role("button", name="Delete account").click()
    expect(box.locator(".problem").last).not_to_be_empty()
    box.get_by_label(given["address"]).fill(given["address"])
    box.get_by_role("button", name="Delete account").click()
    toast(page, "The account was deleted.")
    expect(page.get_by_role("heading", name="Customers")).to_be_visible()


@flow
def today(visit, given):
    """The first view, its transferred size, and the chart's numbers for users who cannot see the chart."""
    page = visit.page
    visit.open("/dashboard")
    sign_in(visit, given)
    expect(page.locator(".figuresRow")).to_be_visible()
    visit.settle()
    report["bytes"] = visit.bytes_received()
    expect(page.locator(".figuresRow")).to_contain_text(given["sales"])
    for chart in (page.locator("s-line-chart"), page.locator("s-bar-chart")):
        chart.get_by_text("Figures as a table").click()
        step(chart.locator(".figures tbody tr").count() == 30, "The table has another number of days.")
        chart.locator("svg").focus()
        last = chart.locator(".reading").inner_text()
        page.keyboard.press("ArrowLeft")
        step(chart.locator(".reading").inner_text() != last, "The arrows do not move along the chart.")
    page.get_by_role("combobox", name="Language").select_option("de")
    # The session was not stored.
    expect(page.get_by_role("heading", name="Anmelden")).to_be_visible()
    step(page.locator("html").get_attribute("lang") == "de", "The page does not say its language.")


@flow
def analytics(visit, given):
    """Each part of the statistics, compared with the period before, as a table and as a file whose formulas spreadsheets do not run."""
    page = visit.page
    enter(visit, given, "/dashboard/analytics?days=7")
    figures = page.get_by_role("group", name="Figures")
    expect(page.locator(".figuresRow")).to_contain_text("Average order")
    expect(page.locator(".ranks tbody tr", has_text=given["product"])).to_contain_text(given["amount"])
    page.get_by_role("button", name="Compare with previous period").click()
    expect(page.locator("s-line-chart .before").first).to_be_attached()
    labels_apart(page, "analytics")
    if given["viewport"] == "desk":
        tops = [place.bounding_box()["y"] for place in (page.get_by_label("From", exact=True), page.get_by_role("button", name="Compare with"))]
        step(abs(tops[0] - tops[1]) < 20, f"The button is not on the line of the days: {tops}")
    step("compare=yes" in page.url and "days=7" in page.url, f"The address has not the whole view: {page.url}")
    card = page.locator("section.card", has_text="Net sales")
    card.get_by_text("Figures as a table").click()
    step(card.locator(".figures tbody tr").count() == 7, "The table has another number of days.")
    step(card.locator(".figures tbody tr").first.locator("td").count() == 2, "The table lacks the period before.")
    step("Time,Net sales,Previous period" in csv_of(page, "Net sales as CSV"), "The file lacks the period before.")
    figures.get_by_role("button", name="App usage").click()
    expect(page.locator("section.card", has_text="App opens").locator("svg[role=img]")).to_be_visible()
    expect(page.locator(".ranks", has_text="Whole period")).to_be_visible()
    coming_back(page, figures)
    figures.get_by_role("button", name="Events").click()
    expect(suggestion(page, "Event", given["event"])).to_be_attached()
    page.get_by_label("Event").fill(given["event"])
    page.get_by_label("Event").press("Tab")
    expect(suggestion(page, "Break down by", "word")).to_be_attached()
    page.get_by_label("Break down by").fill("word")
    page.get_by_role("button", name="Show").click()
    ranks = page.locator(".ranks", has_text=given["formula"])
    expect(ranks).to_be_visible()
    file = csv_of(page, f"{given['event']} by word as CSV")
    step(f"'{given['formula']}" in file and f"\n{given['formula']}" not in file, f"A spreadsheet would run this: {file}")
    ranks.get_by_role("link", name=given["formula"]).click()
    expect(page.get_by_role("heading", name=f"word = {given['formula']}")).to_be_visible()
    figures.get_by_role("button", name="Steps to an order").click()
    expect(suggestion(page, "Event: product viewed", given["event"])).to_be_attached()
    page.get_by_label("Event: product viewed").fill(given["event"])
    page.get_by_role("button", name="Show").click()
    rows = page.locator(".ranks tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(f"{given['events']}")
    figures.get_by_role("button", name="API requests").click()
    for title in ("class", "verb", "device", "SDK"):
        expect(page.locator("section.card", has_text=f"Requests by {title}").locator("tbody tr").first).to_be_visible()
    page.get_by_label("From", exact=True).fill("2030-01-01")
    page.get_by_label("To", exact=True).fill("2029-01-01")
    expect(page.get_by_role("button", name="30 days")).to_be_visible()
    step(page.locator(".ranks img, .ranks script").count() == 0, "An event became markup.")


def suggestion(page, label, text):
    """An entry of the list from which a field's value is chosen."""
    return page.locator(f"#{page.get_by_label(label).get_attribute('list')} option[value='{text}']")


def labels_apart(page, place):
    """No two labels of a chart's axes overlap, and none is cut off."""
    found = page.evaluate("""() => [...document.querySelectorAll('.chart svg')].flatMap((picture) => {
      const edge = picture.getBoundingClientRect();
      const texts = [...picture.querySelectorAll('text.tick')].map((text) => [text.textContent, text.getBoundingClientRect()]);
      const out = texts.filter(([, box]) => box.left < edge.left - 1 || box.right > edge.right + 1).map(([text]) => `outside: ${text}`);
      const over = texts.flatMap(([text, a], at) => texts.slice(at + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom)
        .map(([other]) => `${text} on ${other}`));
      return [...out, ...over];
    })""")
    step(not found, f"Labels of a chart of {place}: {found[:5]}")


def coming_back(page, figures):
    """Devices by their first day: two on one day, one of which returned two days later."""
    figures.get_by_role("button", name="Returning visitors").click()
    page.get_by_role("group", name="First visit").get_by_role("button", name="By day").click()
    step("by=day" in page.url, f"The address has not the whole view: {page.url}")
    card = page.locator("section.card", has_text="Returning devices")
    row = card.locator("s-heat-map tbody tr").first
    expect(row.locator("td").nth(0)).to_have_text("2")
    expect(row.locator("td").nth(2)).to_contain_text("50%")
    expect(row.locator("td.heat5")).to_have_count(1)
    headings = card.get_by_role("columnheader").all_inner_texts()
    step(headings[:4] == ["By day", "New", "Day 1", "Day 2"], f"The table has other headings: {headings}")
    step(card.get_by_role("rowheader").count() >= 2, "The rows have no headings.")
    file = csv_of(page, "Returning devices as CSV")
    step("By day,New,Day 1,Day 2" in file and ",2,0,1," in file, f"The file has other figures: {file}")


def csv_of(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return Path(download.value.path()).read_text(encoding="utf-8-sig")


@flow
def data(visit, given):
    """Rows of a class with every type: found, sorted, edited in place, added, deleted with undo; pages by cursors."""
    page = visit.page
    name = given["class"]
    enter(visit, given, "/dashboard/data")
    page.get_by_label("Another class").fill(name)
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    expect(page.locator(".heading")).to_contain_text(f"{given['rows']} rows")
    step(page.locator("s-data-grid img, s-data-grid script").count() == 0, "A text became markup.")
    expect(page.get_by_role("gridcell", name=given["script"])).to_have_count(1)
    # Scrolling to the end loads page after page by cursors. Few rows exist as elements, which are reused.
    page.evaluate("window.first = new Set(document.querySelectorAll('.rowsOfData .rowOfData'))")
    page.wait_for_function("""() => {
      const grid = document.querySelector('s-data-grid');
      grid.scrollTop = grid.scrollHeight;
      return grid.textContent.includes('row 0');
    }""")
    expect(page.locator("[role=grid]")).to_have_attribute("aria-rowcount", str(given["rows"] + 1))
    expect(page.get_by_role("gridcell", name="row 0", exact=True)).to_be_visible()
    step(page.locator(".rowOfData").count() < 80, f"There are {page.locator('.rowOfData').count()} rows of elements.")
    again = page.evaluate("[...document.querySelectorAll('.rowsOfData .rowOfData')].filter((row) => window.first.has(row)).length")
    step(again * 2 > page.locator(".rowsOfData .rowOfData").count(), f"Only {again} rows are elements that were there before.")
    step(not any("skip=" in request.url for request in visit.requests), "Rows were asked for by skip.")
    from_row_to_row(page, given["rows"])
    add_filter(page, "count", "is at most", "1")
    expect(page.locator(".rowsOfData .rowOfData")).to_have_count(2)
    exporting(page)
    page.get_by_role("button", name="count", exact=True).click()
    expect(page.locator(".rowsOfData .rowOfData").first).to_contain_text("row 0")
    address = page.url
    step("filter=" in address and "sort=count" in address, f"The address has not the whole view: {address}")
    visit.open(address.removeprefix(visit.base))
    expect(page.locator(".rowsOfData .rowOfData")).to_have_count(2)
    # By mouse or touch: the first press selects a cell, the second edits it.
    for _ in range(2):
        cell_of(page, "count").click()
    expect(page.get_by_label("New value of count")).to_be_focused()
    page.keyboard.press("Escape")
    type_in(page, "text", "row 0 & <b>co</b>")
    type_in(page, "count", "0.5")
    choose_in(page, "flag", "false")
    type_in(page, "when", "2031-02-03T04:05")
    enter_cell(page, "place")
    page.locator("dialog .pin").wait_for()
    page.locator("dialog [name=place]").fill("1.5, 200")
    save_dialog(page)
    expect(page.locator("dialog .problem")).to_contain_text("cannot have such a value")
    page.locator("dialog [name=place]").fill("1.5, -2.5")
    everybody(page, "place editor")
    save_dialog(page, closes=True)
    expect(cell_of(page, "place")).to_have_text("1.5, -2.5")
    step(page.evaluate("document.activeElement.matches('[role=gridcell]')"), "The focus was lost after a place.")
    enter_cell(page, "tags")
    page.locator("dialog textarea").fill("[1, 2")
    save_dialog(page)
    expect(page.locator("dialog .problem")).to_contain_text("not a JSON array")
    page.locator("dialog textarea").fill('["a", 7]')
    save_dialog(page, closes=True)
    enter_cell(page, "more")
    page.locator("dialog textarea").fill('{"deep": {"er": true}}')
    save_dialog(page, closes=True)
    enter_cell(page, "owner")
    page.get_by_label("Search by name, title or id").fill(given["owner"])
    page.locator("dialog .picks label", has_text=given["owner"]).click()
    everybody(page, "pointer picker")
    save_dialog(page, closes=True)
    enter_cell(page, "ACL")
    page.get_by_label("User or role").fill("role:admins")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("role:admins may write").check()
    everybody(page, "ACL editor")
    save_dialog(page, closes=True)
    visit.settle()
    # An invalid value is not sent; a value that the server refuses is reverted.
    enter_cell(page, "count")
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    toast(page, "cannot have such a value")
    page.keyboard.press("Escape")
    page.route(f"**/classes/{name}/*", lambda route: route.fulfill(status=400, json={"code": 142, "error": "Not today."}))
    with visit.refused(f"/classes/{name}", 400):
        type_in(page, "text", "never")
        toast(page, "Not today.")
    page.unroute(f"**/classes/{name}/*")
    expect(cell_of(page, "text")).to_have_text("row 0 & <b>co</b>")
    # On a phone, notes with Undo are above the button.
    toast(page, "was saved.")
    page.get_by_role("button", name="Add row").click()
    everybody(page, "new row")
    page.locator("dialog").get_by_label("text").fill("=2+2 added")
    page.locator("dialog").get_by_label("count").fill("-1")
    page.locator("dialog").get_by_label("Further fields").fill('{"fresh": ["new column"]}')
    page.locator("dialog").get_by_role("button", name="Add row").click()
    toast(page, "was added.")
    expect(page.locator(".rowsOfData .rowOfData")).to_have_count(3)
    columns = page.locator(".columnsOfData")
    columns.locator("summary").click()
    everybody(page, "columns")
    for box in columns.get_by_role("checkbox").all():
        box.set_checked(box.get_attribute("name") in ("objectId", "text", "count"))
    columns.get_by_role("button", name="Apply").click()
    expect(page.get_by_role("columnheader")).to_have_count(4)
    deleting(visit, given)


def exporting(page):
    """The files have the filtered rows only."""
    lines = list(csv.DictReader(io.StringIO(csv_of(page, "Export the filtered rows as CSV"), newline="")))
    step(sorted(line["text"] for line in lines) == ["row 0", "row 1"], f"The file has {lines}.")
    rows = json.loads(csv_of(page, "Export the filtered rows as JSON"))
    step(sorted(row["text"] for row in rows["results"]) == ["row 0", "row 1"], f"The file has {rows}.")


def from_row_to_row(page, rows):
    """With the keyboard, beyond the visible rows: the focus is in the row that a screen reader announces."""
    page.get_by_role("gridcell", name="row 0", exact=True).focus()
    for key, row in (("PageUp", 10), *((("PageUp", 20 + 10 * turn) for turn in range(6))), ("ArrowUp", 71), ("Control+End", 0), ("PageUp", 10)):
        page.keyboard.press(key)
        told = page.evaluate("""() => {
          const row = document.activeElement.closest('[role=row]');
          const stops = document.querySelectorAll('.rowsOfData [tabindex="0"]');
          return { index: Number(row?.ariaRowIndex), text: row?.textContent ?? '', stops: [...stops].map((stop) => stop === document.activeElement) };
        }""")
        # The newest rows come first, below the headings.
        step(told["index"] == rows + 1 - row, f"{key}: the row is said to be {told['index']}.")
        step(f"row {row}" in told["text"], f"{key}: {row} is not in {told['text'][:80]}.")
        step(told["stops"] == [True], f"{key}: Tab stops at {told['stops']}.")
    # Elements keep their places while the user scrolls; afterwards their order matches the rows.
    page.wait_for_function("""() => {
      const indices = [...document.querySelectorAll('.rowsOfData .rowOfData')].map((row) => Number(row.ariaRowIndex));
      return indices.length > 0 && indices.every((index, at) => at === 0 || indices[at - 1] < index);
    }""")
    step(page.evaluate("document.activeElement.matches('[role=gridcell]')"), "The focus was lost when the rows were put in order.")
    places = page.evaluate("""() => {
      const top = (element) => element.getBoundingClientRect().top;
      const { bottom } = document.querySelector('.headings').getBoundingClientRect();
      return {
        headings: top(document.querySelector('.headings')) - top(document.querySelector('s-data-grid')),
        row: top(document.activeElement) - bottom, scrolled: document.querySelector('s-data-grid').scrollTop,
      };
    }""")
    step(places["scrolled"] > 100 and abs(places["headings"]) <= 2 and places["row"] > -2, f"The headings are not above the rows: {places}")


def deleting(visit, given):
    """One row is kept by an undo in time; another is deleted when the time is over."""
    page = visit.page
    page.clock.install()
    visit.open(page.url.removeprefix(visit.base))
    rows = page.locator(".rowsOfData .rowOfData")
    expect(rows).to_have_count(3)
    sent = lambda: sum("/batch" in request.url and "DELETE" in (request.post_data or "") for request in visit.requests)
    now = lambda: page.evaluate("Date.now()")
    for is_kept in (True, False):
        rows.nth(0 if is_kept else 2).get_by_role("checkbox").click()
        begin = now()
        page.get_by_role("button", name="Delete 1 row").click()
        expect(page.locator("[data-state=going]")).to_have_count(1)
        step(sent() == 0, "Something was deleted before its time.")
        if is_kept:
            page.get_by_role("button", name="Undo").click()
            expect(page.locator("[data-state=going]")).to_have_count(0)
        else:
            page.clock.run_for(9000)
            # The clock also goes on by itself.
            step(sent() == 0 or now() - begin >= 10000, "Something was deleted before its time.")
            page.clock.run_for(2000)
            toast(page, "1 row was deleted.")
    visit.open(page.url.removeprefix(visit.base))
    expect(rows).to_have_count(2)
    # Leaving before the time is over deletes nothing.
    rows.first.get_by_role("checkbox").click()
    page.get_by_role("button", name="Delete 1 row").click()
    visit.open(page.url.removeprefix(visit.base))
    expect(rows).to_have_count(2)


def everybody(page, place):
    report["failures"] += browser_checks.problems(page, place)


def add_filter(page, name, operation, value):
    page.locator(".filters summary").click()
    page.get_by_label("Field", exact=True).select_option(name)
    page.get_by_label("Condition").select_option(label=operation)
    page.get_by_label("Value", exact=True).fill(value)
    everybody(page, "filter builder")
    page.locator(".filters").get_by_role("button", name="Apply").click()


def cell_of(page, name, row=0):
    headings = page.get_by_role("columnheader").all_inner_texts()
    column = next(index for index, text in enumerate(headings) if text.split()[:1] == [name])
    return page.locator(".rowsOfData .rowOfData").nth(row).get_by_role("gridcell").nth(column)


def enter_cell(page, name):
    """By keyboard only, as everything in the grid."""
    cell_of(page, name).focus()
    page.keyboard.press("Enter")


def type_in(page, name, text):
    enter_cell(page, name)
    page.locator("s-data-grid .cellOfData > input:not([type=checkbox])").fill(text)
    page.keyboard.press("Enter")
    step(page.evaluate("document.activeElement.matches('[role=gridcell]')"), f"The focus was lost after {text}.")


def choose_in(page, name, label):
    enter_cell(page, name)
    page.locator("s-data-grid select").select_option(label=label)
    page.keyboard.press("Enter")


def save_dialog(page, closes=False):
    page.locator("dialog").get_by_role("button", name="Save").click()
    if closes:
        expect(page.locator("dialog")).to_have_count(0)


@flow
def accessible(visit, given):
    """Views are accessible, in light and dark mode: see browser_checks. `grid`: the grid of products, by keyboard, too."""
    visit.open("/dashboard")
    expect(visit.page.get_by_role("heading", name="Sign in")).to_be_visible()
    in_both_schemes(visit.page, "sign-in")
    sign_in(visit, given, keep=True)
    expect(visit.page.locator(".figuresRow")).to_be_visible()
    for path in given["paths"]:
        visit.open("/dashboard" + path)
        expect(visit.page.locator("#content h1")).to_be_visible()
        visit.settle()
        in_both_schemes(visit.page, path)
        report["steps"] += 1
    if not given["grid"]:
        return
    for scheme in browser_checks.SCHEMES:
        # On a reloaded page, Tab continues from its old position, even if nothing has the focus any more.
        visit.open("/dashboard/products")
        visit.page.emulate_media(color_scheme=scheme)
        report["failures"] += browser_checks.keyboard_problems(visit.page)
    visit.page.get_by_role("button", name="Add a product").click()
    in_both_schemes(visit.page, "dialog")


def in_both_schemes(page, place):
    report["failures"] += browser_checks.problems_of_schemes(page, place)


def run(base, name, given, chromium=None):
    """A flow in a visit of its own, with its report."""
    report.clear()
    report.update(failures=[], steps=0)
    given["api"] = base + "/parse"
    screen = {key: given[key] for key in ("viewport", "scheme", "language") if key in given}
    with Visit(base, **screen, chromium=chromium) as visit:
        try:
            FLOWS[name](visit, given)
            visit.settle()
        except Exception:
            text = visit.page.locator("body").inner_text()[:1500]
            report["failures"].append(f"{traceback.format_exc()}\nAt {visit.page.url}:\n{text}")
        report["failures"] += visit.problems
    report["requests"] = len(visit.requests)
    return report


class Flows(BaseHTTPRequestHandler):
    """Playwright allows one thread, so that one flow follows the other."""
    chromium = None

    def log_message(self, *_):
        pass

    def do_POST(self):
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if Flows.chromium and not Flows.chromium.process.is_connected():
            Flows.chromium.close()
            Flows.chromium = None
        Flows.chromium = Flows.chromium or Chromium()
        body = json.dumps(run(wanted["base"], wanted["flow"], wanted["given"], Flows.chromium)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    if len(sys.argv) > 1:
        base, name = sys.argv[1:3]
        print(json.dumps(run(base, name, json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})))
        return
    server = HTTPServer(("127.0.0.1", 0), Flows)
    print("listening", server.server_address[1], flush=True)
    server.serve_forever()


import components  # noqa: E402,F401 (its flows)
import dashboard_day  # noqa: E402,F401 (its flows)
import dashboard_forms  # noqa: E402,F401 (its flows)
import dashboard_live  # noqa: E402,F401 (its flows)
import dashboard_maps  # noqa: E402,F401 (its flows)
import dashboard_operations  # noqa: E402,F401 (its flows)
import dashboard_orders  # noqa: E402,F401 (its flows)
import dashboard_photos  # noqa: E402,F401 (its flows)
import dashboard_promotions  # noqa: E402,F401 (its flows)
import dashboard_roles  # noqa: E402,F401 (its flows)
import dashboard_schema  # noqa: E402,F401 (its flows)
import dashboard_shop  # noqa: E402,F401 (its flows)
import dashboard_storefront  # noqa: E402,F401 (its flows)
import dashboard_team  # noqa: E402,F401 (its flows)
import developers  # noqa: E402,F401
import storefront  # noqa: E402,F401 (its flows)
import storefront.live  # noqa: E402,F401 (its flows)

main()
