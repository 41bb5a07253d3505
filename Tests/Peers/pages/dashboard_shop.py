"""Flows of the product and crash views."""
import csv
import io
import tempfile
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import expect

import browser_checks
from dashboard import enter, flow, labels_apart, open_until, png, report, step, toast

DIALOG = "dialog"


def press(page, name, within=DIALOG):
    page.locator(within).get_by_role("button", name=name, exact=True).click()


def for_everybody(page, place):
    report["failures"] += browser_checks.problems(page, place)


def no_markup(page, place):
    """Users' input is shown as text, wherever it appears."""
    step(page.locator("#content [onerror], #content script").count() == 0, f"A text became markup in {place}.")
    step("onerror" in page.locator("#content").inner_text() + str(page.locator("#content textarea, #content input").evaluate_all(
        "fields => fields.map((field) => field.value)")), f"The text with markup is not in {place}.")


@flow
def one_product(visit, given):
    """All fields of one product are changed, a photo is added and removed; changes by others meanwhile are not overwritten."""
    page = visit.page
    enter(visit, given, f"/dashboard/products?search={given['search']}")
    page.get_by_role("link", name=given["name"]).press("Enter")
    expect(page.get_by_role("heading", name=given["name"])).to_be_visible()
    no_markup(page, "a product")
    page.get_by_label("Price").fill("1,2,3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="A price is an amount")).to_be_visible()
    page.get_by_label("Price").fill("21.40")
    page.get_by_label("Stock").fill("")
    page.get_by_label("Description").fill("New words,\nin two lines.")
    page.get_by_label("Brand").select_option(label="No brand")
    with tempfile.TemporaryDirectory() as folder:
        photo = Path(folder, "new photo.png")
        photo.write_bytes(png(300, 200))
        page.get_by_label("Choose a photo").set_input_files(photo)
        expect(page.locator(".photo img")).to_be_visible()
        page.get_by_role("button", name="Save").click()
        toast(page, "was saved.")
    page.wait_for_function("document.querySelector('.photo img')?.src.includes('/files/')")
    page.get_by_role("button", name="Stop selling").click()
    expect(page.locator(".heading .tag")).to_have_text("Not for sale")
    history = page.locator(".history")
    open_until(visit, history, "For sale: from yes to no", "Price: from $3.50 to $21.40")
    expect(history.locator(".timeline > li", has_text="Price: from $3.50 to $21.40")).to_contain_text(given["user"])
    expect(page.locator(".moves")).to_contain_text("Counting began: +")
    no_markup(page, "a product's history")
    page.route("**/classes/Product/*?*", lambda route: changed_meanwhile(route))
    page.get_by_label("Price").fill("30")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="Someone has changed this in the meantime")).to_be_visible()
    page.unroute("**/classes/Product/*?*")


def changed_meanwhile(route):
    answer = route.fetch()
    route.fulfill(response=answer, json={**answer.json(), "unitPrice": 99.99})


@flow
def many_products(visit, given):
    """Prices of selected rows change after a preview; a refused row shows the error, and a second press retries only that row."""
    page = visit.page
    enter(visit, given, f"/dashboard/products?search={given['search']}")
    rows = page.locator("s-table tbody tr")
    expect(rows).to_have_count(3)
    bulk = page.get_by_role("group", name="Bulk changes")
    expect(bulk.get_by_role("button", name="Change prices")).to_be_disabled()
    # By keyboard: the space bar in the first cell selects a row.
    rows.nth(0).locator("td").first.focus()
    page.keyboard.press(" ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(bulk).to_contain_text("2 chosen")
    bulk.get_by_role("button", name="Change prices").click()
    page.get_by_label("Change", exact=True).fill("-10")
    preview = page.get_by_role("group", name="Preview of the changes")
    for text in given["preview"]:
        expect(preview).to_contain_text(text)
    for_everybody(page, "preview of prices")
    page.get_by_label("How", exact=True).select_option("by")
    page.get_by_label("Change", exact=True).fill("-4")
    expect(preview).to_contain_text("negative price")
    press(page, "Make these changes")
    expect(page.get_by_text("Some prices would be negative.")).to_be_visible()
    page.get_by_label("How", exact=True).select_option("percent")
    page.get_by_label("Change", exact=True).fill("-10")
    page.route("**/batch", refuse_second)
    press(page, "Make these changes")
    expect(preview).to_contain_text("Not this one.")
    expect(preview.locator(".tag.good")).to_have_count(1)
    page.unroute("**/batch")
    press(page, "Make these changes")
    toast(page, "2 products were changed.")
    for text in given["after"]:
        expect(page.locator("s-table")).to_contain_text(text)
    bulk.get_by_label("All on this page").check()
    expect(bulk).to_contain_text("3 chosen")
    bulk.get_by_role("button", name="Stop selling").click()
    press(page, "Make these changes")
    toast(page, "3 products were changed.")
    expect(page.locator("s-table [role=switch][aria-checked=false]")).to_have_count(3)


def refuse_second(route):
    answer = route.fetch(post_data={"requests": route.request.post_data_json["requests"][:1]})
    route.fulfill(response=answer, json=[*answer.json(), {"error": {"code": 142, "error": "Not this one."}}])


@flow
def products_as_files(visit, given):
    """An exported file has no formulas and imports without a change; an edited file shows its changes or errors per row."""
    page = visit.page
    enter(visit, given, f"/dashboard/products?search={given['search']}")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    text = Path(download.value.path()).read_text("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    step(len(rows) == 1 + len(given["ids"]), f"The file has {len(rows)} rows.")
    dangerous = [cell for row in rows for cell in row if cell[:1] in "=+-@\t\r" and cell]
    step(not dangerous, f"A spreadsheet would run {dangerous}.")
    step(any(cell == "'" + given["formula"] for row in rows for cell in row), f"The formula is not there as a text: {rows}")
    place = page.locator(f"{DIALOG} [aria-live]")
    page.get_by_role("button", name="Import").click()
    import_file(page, text)
    expect(place).to_contain_text(f"{len(given['ids'])} rows without a change")
    press(page, "Make these changes")
    expect(page.locator(f"{DIALOG} .problem").last).to_have_text("There is nothing to change.")
    first, second = given["ids"][:2]
    lines = [
        "objectId,name,unitPrice,stock,colour,brand",
        f"{first},'{given['formula']} again,7.77,12,red,{given['brand']}",
        f"{second},<img src=x onerror=alert(1)>,cheap,-1,red,Nobody's",
        f"nobody,x,1,1,red,{given['brand']}",
        f",{given['search']} new,5.00,3,red,{given['brand']}",
    ]
    import_file(page, "\n".join(lines))
    expect(place).to_contain_text("Unknown columns, which are ignored: colour")
    expect(place).to_contain_text("1 new product")
    expect(place).to_contain_text("2 rows with problems")
    bad = place.locator("tr", has_text="onerror")
    for told in ("not “cheap”", "not “-1”", "no brand named “Nobody's”"):
        expect(bad).to_contain_text(told)
    expect(bad.locator("td").first).to_have_text("3")
    expect(place.locator("tr", has_text="There is no product nobody.")).to_be_visible()
    step(place.locator("img").count() == 0, "A name in a file became markup.")
    good = place.locator("tr", has_text=given["formula"])
    expect(good).to_contain_text("$7.77")
    for_everybody(page, "preview of a file")
    press(page, "Make these changes")
    toast(page, "2 products were imported.")
    expect(page.locator("s-table")).to_contain_text(f"{given['search']} new")
    expect(page.locator("s-table")).to_contain_text("$7.77")
    page.get_by_role("button", name="Import").click()
    import_file(page, 'name\n"open')
    expect(place).to_contain_text("The quotes in line 2 do not match.")


def import_file(page, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "products.csv")
        file.write_text(text, "utf-8")
        page.get_by_label("File (CSV)").set_input_files(file)
        expect(page.locator(f"{DIALOG} [aria-live] p").first).to_be_visible()


@flow
def shelves(visit, given):
    """A brand, a store and a page are added, edited and removed."""
    page, name = visit.page, given["name"]
    box = page.locator(DIALOG)
    enter(visit, given, "/dashboard/brands")
    page.get_by_role("button", name="Add a brand").click()
    box.get_by_label("Brand", exact=True).fill(name)
    press(page, "Save")
    toast(page, f"{name} was saved.")
    page.get_by_role("link", name="Stores", exact=True).click()
    page.get_by_role("button", name="Add a store").click()
    box.get_by_label("Name", exact=True).fill(name)
    box.get_by_label("City").fill("Bern")
    box.get_by_label("Latitude").fill("91")
    box.get_by_label("Longitude").fill("7.44")
    press(page, "Save")
    expect(page.locator(f"{DIALOG} .problem")).to_contain_text("latitude -90 to 90")
    box.get_by_label("Latitude").fill("46.95")
    press(page, "Save")
    toast(page, f"{name} was saved.")
    page.get_by_role("button", name=f"Edit: {name}").click()
    box.get_by_label("Opening hours").fill("9 to 5")
    press(page, "Save")
    expect(page.locator("s-table tr", has_text=name)).to_contain_text("9 to 5")
    page.get_by_role("link", name="Pages", exact=True).click()
    page.get_by_role("button", name="Add a page").click()
    box.get_by_label("Title").fill(f"{name} <img src=x onerror=alert(1)>")
    box.get_by_label("Address").fill("Not An Address")
    with visit.refused("/classes/Page", 400):
        press(page, "Save")
        expect(page.locator(f"{DIALOG} .problem")).to_contain_text("small letters")
    box.get_by_label("Address").fill(given["address"])
    box.get_by_label("Text (Markdown)").fill("# About\n<script>alert(1)</script>")
    box.get_by_label("Visible to customers").uncheck()
    press(page, "Save")
    row = page.locator("s-table tr", has_text=given["address"])
    expect(row).to_contain_text("Draft")
    no_markup(page, "pages")
    page.get_by_label("Title, address or text").fill(given["address"])
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    row.get_by_role("button", name="Delete").click()
    press(page, "Delete")
    toast(page, "was deleted.")
    expect(page.get_by_text("No such pages.")).to_be_visible()


@flow
def crashes(visit, given):
    """A crash is found by its version, viewed and resolved; when it recurs with a newer version it is a regression, and is then ignored."""
    page = visit.page
    enter(visit, given, f"/dashboard/crashes?project={given['project']}")
    page.get_by_label("Version, as reported by the app").fill("shop@0.0.1")
    expect(page.get_by_text("No such issues. Good.")).to_be_visible()
    page.get_by_label("Version, as reported by the app").fill("shop@1.0.0")
    row = page.locator("s-table tr", has_text="OutOfBag")
    expect(row).to_contain_text("Open")
    for text, count in (("nothing like it", 0), ("outofbag", 1)):
        page.get_by_label("Title or place of an issue").fill(text)
        expect(row).to_have_count(count)
    no_markup(page, "crashes")
    row.get_by_role("link").press("Enter")
    expect(page.locator("pre mark")).to_contain_text("let item = items[7]")
    expect(page.locator("pre mark i")).to_have_text("17")
    expect(page.locator(".timeline")).to_contain_text("ui.tap")
    expect(page.locator(".facts").last).to_contain_text("iPhone14,2")
    expect(page.get_by_role("heading", name="Reports by version")).to_be_visible()
    by_day = page.locator("section.card", has_text="Reports by day")
    expect(by_day.locator(".reading strong")).to_have_text("1")
    step(by_day.locator(".figures tbody tr").count() == 30, "The reports of an issue are not those of 30 days.")
    no_markup(page, "a crash")
    page.get_by_role("button", name="Resolve").click()
    press(page, "Resolve")
    toast(page, "The issue is resolved.")
    expect(page.locator(".heading .tag").first).to_have_text("Resolved")
    report_again(visit, given)
    page.reload()
    expect(page.locator(".heading .tag").first).to_have_text("Regression")
    versions = page.locator("section.card", has_text="Reports by version")
    expect(versions.locator("text.tick", has_text=".0")).to_have_text(["1.0.0", "1.1.0"])
    labels_apart(page, "a crash")
    page.get_by_role("button", name="Ignore").click()
    toast(page, "does not reopen")
    visit.open(f"/dashboard/crashes?project={given['project']}&show=ignored")
    expect(page.locator("s-table")).to_contain_text("OutOfBag")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_text("No such issues. Good.")).to_be_visible()
    figures(page)
    projects(visit, given)


def projects(visit, given):
    """A new project is in the list with its DSN, to which an app reports; a disabled key takes nothing."""
    page = visit.page
    page.get_by_role("button", name="Projects").click()
    page.get_by_role("button", name="Add a project").click()
    page.get_by_label("Name of the app").fill(" ")
    press(page, "Add")
    expect(page.locator(f"{DIALOG} .problem")).to_contain_text("needs a name")
    page.get_by_label("Name of the app").fill(given["app"])
    for_everybody(page, "a new project")
    press(page, "Add")
    toast(page, f"{given['app']} was added.")
    row = page.locator("s-table tr", has_text=given["app"])
    dsn = urlsplit(row.locator("code").inner_text())
    project = dsn.path.removeprefix("/")
    step(f"{dsn.scheme}://{dsn.netloc.split('@')[1]}" == visit.base, f"The DSN leads elsewhere: {dsn.geturl()}")
    for_everybody(page, "projects")
    report_again(visit, {**given, "project": project, "key": dsn.username})
    row.get_by_role("button", name="Disable the key").click()
    press(page, "Disable the key")
    toast(page, "is disabled.")
    expect(row).to_contain_text("Disabled")
    visit.open(f"/dashboard/crashes?project={project}")
    expect(page.locator("s-table")).to_contain_text("OutOfBag")


def figures(page):
    """How many sessions and devices of the project had no crash: one session of three and one device of two had a crash."""
    page.get_by_role("button", name="Figures").click()
    sessions = page.locator("section.card", has_text="Sessions without a crash")
    expect(sessions.locator(".sum")).to_have_text("66.66% of 3 sessions")
    expect(sessions.locator("svg[role=img]")).to_be_visible()
    devices = page.locator("section.card", has_text="Devices without a crash")
    expect(devices.locator(".sum")).to_contain_text("50.00% of 2 devices")
    expect(page.locator("section.card", has_text="Sessions by version").locator("tbody tr")).to_contain_text("66.66%")
    labels_apart(page, "crashes")
    with page.expect_download() as download:
        page.get_by_role("button", name="Sessions without a crash as CSV").click()
    file = Path(download.value.path()).read_text(encoding="utf-8-sig")
    step(",3,1,0.6666" in file, f"The file has other figures: {file}")
    page.get_by_role("button", name="7 days").click()
    # The view is rendered again, with its fields.
    expect(page.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")
    step("days=7" in page.url and "sheet=figures" in page.url, f"The address has not the whole view: {page.url}")
    # A version without reports has no rate, rather than 100 percent.
    page.get_by_label("Version, as reported by the app").fill("shop@0.0.1")
    expect(page.get_by_text("No app reported sessions in this period.").first).to_be_visible()


def report_again(visit, given):
    """The app crashes again, in a newer version."""
    headers = {"Content-Type": "application/x-sentry-envelope",
               "X-Sentry-Auth": f"Sentry sentry_version=7, sentry_key={given['key']}, sentry_client=t/1"}
    url = f"{visit.base}/api/{given['project']}/envelope/"
    urllib.request.urlopen(urllib.request.Request(url, data=given["again"].encode(), headers=headers)).read()
