"""Flows of the elements for any site: their page for app developers, and one of them in a page of another origin."""
import contextlib
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from playwright.sync_api import expect

import browser_checks
from dashboard import flow, png, report, step

BRANDS = ["Arnica", "Birch", "Cedar", "Dahlia", "Elder", "Fennel", "Ginger"]
PRODUCTS = 30


def for_everybody(page, place):
    """In light and dark mode, and no wider than the screen."""
    report["failures"] += browser_checks.problems_of_schemes(page, place)


class Operator:
    """Fills the shop by requests."""

    def __init__(self, given):
        self.api, self.token = given["api"], None
        self.token = self.send("/login", {"username": given["user"], "password": given["password"]})["sessionToken"]

    def send(self, path, body=None):
        kind = "image/png" if isinstance(body, bytes) else "application/json"
        headers = {"X-Parse-Application-Id": "satchel", "Content-Type": kind}
        if self.token:
            headers["X-Parse-Session-Token"] = self.token
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        return json.loads(urllib.request.urlopen(urllib.request.Request(self.api + path, data=data, headers=headers)).read())

    def fill(self):
        """Unless there are products with pictures."""
        if self.send("/classes/Product?limit=1&where=%7B%22fullsizeImage%22%3A%7B%22%24exists%22%3Atrue%7D%7D")["results"]:
            return
        picture = {"__type": "File", **self.send("/files/picture.png", png(600, 600))}
        brands = [self.send("/classes/Category", {"title": title})["objectId"] for title in BRANDS]
        brand = {"__type": "Pointer", "className": "Category", "objectId": brands[0]}
        for number in range(PRODUCTS):
            self.send("/classes/Product", {
                "name": f"Balm {number:02}", "unitPrice": 3.5, "priceUnit": "ea", "stock": 9, "brand": brand,
                "thumbnail": picture, "fullsizeImage": picture,
            })


class Example:
    """The live example of one element."""

    def __init__(self, page, name):
        self.page = page
        self.part = page.locator(f"#{name}")
        self.example = self.part.locator(".example")
        self.example.scroll_into_view_if_needed()
        self.rows = self.example.locator("li.row")
        self.heard = self.example.locator("[data-heard]")
        self.box = self.example.locator(".box")

    def titles(self):
        return self.rows.locator("strong").all_inner_texts()

    def button(self, name):
        return self.example.get_by_role("button", name=name)

    def there(self, least=1):
        expect(self.rows.nth(least - 1)).to_be_visible()
        return self


def touch(visit, box, moves):
    """A finger goes from the middle of an element's upper part by steps."""
    place = box.bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + 40
    session = visit.context.new_cdp_session(visit.page)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for right, down in moves:
        x, y = x + right, y + down
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@flow
def components_tables(visit, given):
    """Each example shows data; pages, sections, refreshing, selecting, editing, actions and the bag by keyboard and by touch."""
    page, is_phone = visit.page, given["viewport"] == "phone"
    Operator(given).fill()
    visit.open("/developers")
    page.get_by_role("link", name="Components", exact=True).click()
    expect(page.get_by_role("heading", name="Components", exact=True)).to_be_visible()
    for name in ("queryTable", "productTable", "sections", "infinite", "pull", "editing", "selection", "swipe"):
        Example(page, name).there(3)
    expect(page.locator("#queryTable img.there").or_(page.locator("#productTable img.there")).first).to_be_visible()
    expect(page.locator("#states .state")).to_have_text("No brand has this name.")
    for_everybody(page, "components")
    texts = page.locator("[data-code=html-queryTable]").inner_text()
    step(f"{visit.base}/components/v1/satchel-query-table.js" in texts and 'class-name="Category"' in texts, texts)

    infinite = Example(page, "infinite").there(8)
    first = infinite.rows.count()
    infinite.box.evaluate("box => { box.scrollTop = box.scrollHeight; }")
    expect(infinite.rows.nth(first)).to_be_visible()
    step(len(set(infinite.titles())) == infinite.rows.count(), f"Rows are there twice: {infinite.titles()}")

    sections = Example(page, "sections").there()
    last = sections.example.locator(".index button").last
    letter = last.inner_text()
    last.press("Enter")
    heading = sections.example.get_by_role("heading", name=letter, exact=True)
    expect(heading).to_be_focused()
    expect(heading).to_be_in_viewport()

    pull = Example(page, "pull").there()
    if is_phone:
        touch(visit, pull.box, [(0, 20)] * 10)
    else:
        pull.button("Refresh").press("Enter")
    expect(pull.heard).to_contain_text("satchel-refresh")
    pull.there()
    with visit.offline():
        pull.button("Refresh").click()
        expect(pull.example.get_by_role("alert").last).to_have_text("The server cannot be reached.")
        step(pull.rows.count() > 0, "The rows went with the connection.")
    pull.button("Try again").press("Enter")
    expect(pull.button("Try again")).to_have_count(0)

    selection = Example(page, "selection").there()
    for row in (0, 2):
        selection.rows.nth(row).get_by_role("checkbox").press("Space")
    expect(selection.heard).to_have_text("satchel-select rows: [2]")
    chosen = page.locator("#selection satchel-query-table").evaluate("table => table.selected.map((row) => row.title)")
    step(chosen == [selection.titles()[0], selection.titles()[2]], f"Selected: {chosen}")

    edits(visit, Example(page, "editing").there(3), is_phone)

    swipe = Example(page, "swipe").there()
    save = swipe.rows.first.get_by_role("button", name="Save")
    if is_phone:
        expect(save).not_to_be_in_viewport(ratio=0.9)
        swipe.box.evaluate("box => { box.scrollTop = 0; }")
        touch(visit, swipe.rows.first, [(-15, 0)] * 14)
        expect(save).to_be_in_viewport(ratio=0.9)
    save.click()
    expect(swipe.heard).to_contain_text("satchel-action name: save")
    # The keyboard brings the buttons into sight.
    delete = swipe.rows.nth(1).get_by_role("button", name="Delete")
    delete.focus()
    expect(delete).to_be_in_viewport(ratio=0.9)
    before = swipe.titles()
    delete.press("Enter")
    expect(swipe.rows).to_have_count(len(before) - 1)

    bag = Example(page, "productTable").there()
    add = bag.button("Add to bag").first
    add.press("Enter")
    expect(bag.heard).to_contain_text("satchel-bag row:")
    # Everything was loaded anew for the guest's account; the button is the same to its user.
    expect(add).to_be_focused()
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("heading", name="Elemente", exact=True)).to_be_visible()
    expect(Example(page, "editing").there().button("Bearbeiten")).to_be_visible()
    for_everybody(page, "Elemente")


def edits(visit, table, is_phone):
    before = table.titles()
    table.button("Edit").press("Enter")
    expect(table.button("Done")).to_be_focused()
    for_everybody(visit.page, "editing")
    down = table.rows.first.get_by_role("button", name=f"Move {before[0]} down")
    down.press("Enter")
    expect(table.heard).to_contain_text("from: 0, to: 1")
    expect(table.rows.nth(1)).to_contain_text(before[0])
    down = table.rows.nth(1).get_by_role("button", name=f"Move {before[0]} down")
    expect(down).to_be_focused()
    if not is_phone:
        handle, other = table.rows.nth(1).locator(".handle").bounding_box(), table.rows.first.bounding_box()
        visit.page.mouse.move(handle["x"] + 8, handle["y"] + 8)
        visit.page.mouse.down()
        visit.page.mouse.move(handle["x"] + 8, other["y"] + 4, steps=5)
        visit.page.mouse.up()
        expect(table.rows.first).to_contain_text(before[0])
        down = table.rows.first.get_by_role("button", name=f"Move {before[0]} down")
        down.press("Enter")
    expect(table.rows.nth(1)).to_contain_text(before[0])
    table.button(f"Delete {before[0]}").press("Enter")
    expect(table.rows).to_have_count(len(before) - 1)
    expect(table.button(f"Delete {before[2]}")).to_be_focused()
    field = table.example.get_by_label("New entry")
    field.fill("Aaa <b>bold</b>")
    field.press("Enter")
    expect(table.rows.first).to_contain_text("Aaa <b>bold</b>")
    expect(table.heard).to_contain_text("satchel-insert")
    table.button("Done").press("Enter")
    expect(table.button("Edit")).to_be_focused()


@flow
def components_accounts(visit, given):
    """Log-in, log-out and sign-up with their problems; a picture, and a download with progress."""
    page = visit.page
    Operator(given).fill()
    visit.open("/developers/components")
    log_in = Example(page, "logIn")
    log_in.button("Log in").click()
    expect(log_in.example.get_by_label("E-mail or user name")).to_be_focused()
    expect(log_in.example.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    log_in.example.get_by_label("E-mail or user name").fill(given["user"])
    log_in.example.get_by_label("Password").fill("not the password")
    with visit.refused("/login", 404):
        log_in.example.get_by_label("Password").press("Enter")
        expect(log_in.example.get_by_role("alert")).to_have_text("Name or password is wrong.")
    for_everybody(page, "log-in")
    log_in.example.get_by_label("Password").fill(given["password"])
    log_in.example.get_by_label("Password").press("Enter")
    expect(log_in.heard).to_contain_text("satchel-session user:")
    step("r:…" in log_in.heard.inner_text(), f"The session is shown: {log_in.heard.inner_text()}")
    log_in.button("Log out").click()
    expect(log_in.button("Log in")).to_be_visible()

    sign_up = Example(page, "signUp")
    for label, value in {"First name": "Ann", "Last name": "Lee", "E-mail": "ann", "Password": "12345"}.items():
        sign_up.example.get_by_label(label).fill(value)
    sign_up.button("Sign up").click()
    expect(sign_up.example.get_by_label("E-mail")).to_be_focused()
    expect(sign_up.example.get_by_text("A password has at least 6 characters.")).to_be_visible()
    sign_up.example.get_by_label("E-mail").fill(given["email"])
    sign_up.example.get_by_label("Password").fill("a-long-secret")
    sign_up.button("Sign up").click()
    expect(sign_up.example.get_by_text("You are logged in as Ann.")).to_be_visible()
    stored = page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    step("r:" not in stored, f"The session is kept: {stored}")

    image = Example(page, "image")
    expect(image.heard).to_contain_text("satchel-loaded")
    expect(image.example.get_by_role("img", name="A product of this shop")).to_be_visible()
    download = Example(page, "download")
    with page.expect_download() as saved:
        download.button("Download A product of this shop").press("Enter")
    step(saved.value.suggested_filename == "picture.jpg", f"It was saved as {saved.value.suggested_filename}")
    expect(download.heard).to_contain_text("satchel-download blob")
    expect(download.button("Download A product of this shop")).to_be_focused()

    # The server wants the code of a second factor.
    log_in.example.get_by_label("E-mail or user name").fill("ann")
    log_in.example.get_by_label("Password").fill("a-long-secret")
    page.route("**/login", lambda route: route.fulfill(status=400, json={"code": 211, "error": "Missing code."}), times=1)
    with visit.refused("/login", 400):
        log_in.example.get_by_label("Password").press("Enter")
        expect(log_in.example.get_by_label("Code of the second factor")).to_be_focused()
    expect(log_in.example.get_by_label("Password")).to_have_value("a-long-secret")


class OtherSite:
    """A page of another origin, with a policy that allows the shop alone."""

    def __init__(self, shop, body):
        policy = (
            f"default-src 'none'; script-src {shop}; connect-src {shop}; img-src {shop} blob:; base-uri 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'")
        markup = f"<!DOCTYPE html><html lang='en'><head><title>Other</title></head><body>{body}</body></html>"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                self.wfile.write(markup.encode())

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"

    @contextlib.contextmanager
    def served(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        yield f"http://{self.host}/"
        self.server.shutdown()


@flow
def components_elsewhere(visit, given):
    """A page of another origin with a strict policy uses the lines that the developers' page shows."""
    page = visit.page
    Operator(given).fill()
    visit.open("/developers/components")
    lines = [page.locator(f"[data-code=html-{name}]").inner_text() for name in ("selection", "productTable", "image")]
    body = "".join(lines)
    if "elements" in given:
        body = body.replace(f"{visit.base}/components/v1", given["elements"])
    site = OtherSite(visit.base, f"<main><h1>Other</h1>{body}</main>")
    visit.hosts.add(site.host)
    with site.served() as address:
        page.goto(address)
        expect(page.locator("satchel-query-table li.row").nth(2)).to_be_visible()
        page.get_by_role("checkbox").first.check()
        expect(page.locator("satchel-product-table li.row img.there").first).to_be_visible()
        expect(page.locator("satchel-image img.there").last).to_be_visible()
        page.get_by_role("button", name="Add to bag").first.click()
        expect(page.locator("satchel-product-table [role=status]")).to_contain_text("is in the bag")
        for_everybody(page, "another site")
        step(visit.context.cookies() == [], "There is a cookie.")
