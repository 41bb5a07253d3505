"""Flows of open views whose data other clients change."""
import contextlib
import json
import re
import urllib.request

from playwright.sync_api import expect

from dashboard import enter, everybody, flow, sign_in, step, toast

SIGN = ".live"


class Other:
    """Another client, over REST."""

    def __init__(self, given, token):
        self.api, self.token = given["api"], token

    @classmethod
    def operator(cls, given):
        """The same account in another session."""
        body = {"username": given["user"], "password": given["password"]}
        return cls(given, cls(given, None).send("POST", "/login", body)["sessionToken"])

    def send(self, method, path, body=None):
        headers = {"X-Parse-Application-Id": "satchel", "Content-Type": "application/json"}
        if self.token:
            headers["X-Parse-Session-Token"] = self.token
        data = json.dumps(body or {}).encode()
        request = urllib.request.Request(self.api + path, data=data, headers=headers, method=method)
        return json.loads(urllib.request.urlopen(request).read())

    def run(self, name, parameters):
        return self.send("POST", f"/functions/{name}", parameters)["result"]

    def orders(self, product, address):
        """Buys and pays one piece."""
        self.run("addToBag", {"productId": product, "quantity": 1})
        return self.run("checkout", {"tokenId": "tok_visa", "shippingAddress": address})


def watched(page):
    """The WebSockets that a page opens from now on."""
    sockets = []
    page.on("websocket", lambda socket: sockets.append(socket))
    return sockets


@contextlib.contextmanager
def without_reload(page):
    """Checks that the page is not reloaded meanwhile."""
    page.evaluate("window.isTheSame = true")
    yield
    step(page.evaluate("window.isTheSame === true"), "The page was loaded anew.")


@flow
def live_orders(visit, given):
    """New orders appear automatically if the list is not in use, else on request; a changed state is updated in place."""
    page, shopper, operator = visit.page, Other(given, given["shopper"]), Other.operator(given)
    sockets = watched(page)
    enter(visit, given, "/dashboard/orders")
    expect(page.locator(SIGN)).to_be_visible()
    page.mouse.move(0, 0)
    news = page.locator(".newsPlace")
    with without_reload(page):
        first = shopper.orders(given["product"], given["address"])
        expect(page.get_by_role("link", name=f"№ {first['orderNo']}")).to_be_visible()
        expect(news).to_have_text("1 new order")
        # The operator uses the list: nothing moves until requested.
        row = page.locator("s-table tbody tr", has_text=f"№ {first['orderNo']}")
        row.locator("td").nth(2).focus()
        before = page.locator("s-table tbody").inner_text()
        second = shopper.orders(given["product"], given["address"])
        expect(news).to_contain_text("1 new order")
        expect(news.get_by_role("button", name="Show")).to_be_visible()
        step(page.locator("s-table tbody").inner_text() == before, "Rows moved below who was in them.")
        everybody(page, "a list with news")
        operator.run("shipOrder", {"orderId": first["orderId"]})
        expect(row).to_contain_text("Shipped")
        step(row.locator("td").nth(2).evaluate("cell => cell === document.activeElement"), "The focus was lost in the list.")
        news.get_by_role("button", name="Show").press("Enter")
        expect(page.get_by_role("link", name=f"№ {second['orderNo']}")).to_be_visible()
        expect(news).to_be_empty()
        step(page.evaluate("document.activeElement.matches('td[role=gridcell]')"), "The focus was lost with the button.")
        page.get_by_role("link", name="Today").click()
        expect(page.locator(".figuresRow")).to_contain_text("Waiting to be shipped")
        expect(page.locator(SIGN)).to_be_visible()
        waiting = page.locator(".figure", has_text="Waiting to be shipped").locator("dd").first
        many = int(waiting.inner_text().replace(",", ""))
        shopper.orders(given["product"], given["address"])
        expect(waiting).to_have_text(f"{many + 1:,}")
        expect(page.get_by_role("heading", name=f"{many + 1} orders to ship")).to_be_visible()
    step(len(sockets) == 1, f"There were {len(sockets)} connections.")
    step(not any("r:" in socket.url or "oken" in socket.url for socket in sockets), f"A token is in an address: {sockets[0].url}")


@flow
def live_order(visit, given):
    """Another operator changes an order while it is viewed, while a note is written and while a form is open."""
    page, operator = visit.page, Other.operator(given)
    order = {"orderId": given["order"]}
    enter(visit, given, f"/dashboard/orders/{given['order']}")
    expect(page.locator(SIGN)).to_be_visible()
    tag, note, timeline = page.locator(".heading .tag"), page.get_by_label("Note for the team"), page.locator(".timeline")
    with without_reload(page):
        note.fill("Half a note")
        operator.run("shipOrder", {**order, "trackingNumber": "PP-78"})
        expect(tag).to_have_text("Shipped")
        expect(timeline).to_contain_text("PP-78")
        toast(page, "has changed.")
        step(note.input_value() == "Half a note", "A note that was being written is gone.")
        step(note.evaluate("field => field === document.activeElement"), "The focus was lost.")
        operator.run("addOrderNote", {**order, "text": "Called <b>twice</b>."})
        expect(timeline.locator("li.note")).to_contain_text("Called <b>twice</b>.")
        toast(page, "has changed.")
        page.get_by_role("button", name="Mark as delivered").click()
        box = page.locator("dialog")
        operator.run("deliverOrder", order)
        expect(box).to_contain_text("Someone else has changed this in the meantime")
        expect(tag).to_have_text("Shipped")
        everybody(page, "a form of what somebody else has changed")
        page.keyboard.press("Escape")
        expect(tag).to_have_text("Delivered")
        expect(page.get_by_role("button", name="Mark as delivered")).to_have_count(0)


@flow
def live_products(visit, given):
    """The stock is updated in the grid and in an open form; typed input remains, and nothing is overwritten."""
    page, operator, product = visit.page, Other.operator(given), f"/classes/Product/{given['product']}"
    sockets, held = watched(page), []

    def hold(route):
        if held:
            return route.continue_()
        held.append((route, route.fetch()))

    looks = re.compile(r"/classes/Product\?.*%24in")
    page.route(looks, hold)
    enter(visit, given, f"/dashboard/products?search={given['search']}")
    expect(page.locator(SIGN)).to_be_visible()
    row = page.locator("s-table tbody tr")
    expect(row).to_have_count(1)
    with without_reload(page):
        # A change during the grid's look at its rows, whose answer is older.
        for _ in range(600):
            if held:
                break
            page.wait_for_timeout(100)
        with sockets[0].expect_event("framereceived", lambda text: '"op":"update"' in str(text)):
            operator.send("PUT", product, {"stock": 40})
        route, answer = held[0]
        route.fulfill(response=answer)
        expect(row.locator("td").nth(3)).to_contain_text("40")
        page.unroute(looks, hold)
        operator.send("PUT", product, {"stock": 41})
        expect(row.locator("td").nth(3)).to_contain_text("41")
        # A price is being typed, so its row is not updated yet.
        row.locator("td").nth(2).press("Enter")
        page.keyboard.type("9")
        field = page.locator("s-table input:not([type=checkbox])")
        with page.expect_response(lambda answer: "/classes/Product?" in answer.url):
            operator.send("PUT", product, {"stock": 42})
        step(field.evaluate("field => field === document.activeElement"), "The field was lost.")
        page.keyboard.press("Escape")
        expect(row.locator("td").nth(3)).to_contain_text("42")
        row.get_by_role("link").click()
        name, stock = page.get_by_label("Product", exact=True), page.locator("input[inputmode=numeric][name=stock]")
        expect(stock).to_have_value("42")
        expect(page.locator(SIGN)).to_be_visible()
        name.fill("Another name")
        operator.send("PUT", product, {"stock": 43})
        expect(stock).to_have_value("43")
        step(name.input_value() == "Another name", "A name that was being typed is gone.")
        operator.send("PUT", product, {"name": "A third name"})
        changed = page.locator(".changed", has_text="Someone else has changed this in the meantime: Product")
        expect(changed).to_be_visible()
        step(name.input_value() == "Another name", "A name that was being typed is gone.")
        everybody(page, "a product that somebody else has changed")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").filter(has_text="Someone has changed this in the meantime")).to_be_visible()


@flow
def live_rows(visit, given):
    """Rows of the data browser that others change are counted, and shown on request; the operator's own changes are not counted."""
    page, operator, name = visit.page, Other.operator(given), given["class"]
    enter(visit, given, f"/dashboard/data/{name}")
    expect(page.locator(SIGN)).to_be_visible()
    news, cell = page.locator(".newsPlace"), page.get_by_role("gridcell", name="row 1", exact=True)
    # The operator's own change arrives both as an answer and as an event.
    cell.press("Enter")
    with page.expect_response(lambda answer: answer.request.method == "PUT"):
        page.locator(".cellOfData > input:not([type=checkbox])").fill("own")
        page.keyboard.press("Enter")
    rows = operator.send("GET", f"/classes/{name}")["results"]
    with without_reload(page):
        for row in [row for row in rows if row["text"] != "own"][:2]:
            operator.send("PUT", f"/classes/{name}/{row['objectId']}", {"text": "by another"})
        expect(news).to_contain_text("2 rows were changed by others.")
        step(page.get_by_role("gridcell", name="by another").count() == 0, "Rows changed before that was wanted.")
        news.get_by_role("button", name="Show").click()
        expect(page.get_by_role("gridcell", name="by another")).to_have_count(2)
        expect(news).to_be_empty()


@flow
def live_off(visit, given):
    """A server without live queries: the page opens no connection, and the dashboard works."""
    page = visit.page
    sockets = watched(page)
    enter(visit, given, "/dashboard/orders")
    order = Other(given, given["shopper"]).orders(given["product"], given["address"])
    page.get_by_role("link", name="Today").click()
    expect(page.locator(".figuresRow")).to_be_visible()
    page.get_by_role("link", name="Orders", exact=True).click()
    expect(page.get_by_role("link", name=f"№ {order['orderNo']}")).to_be_visible()
    expect(page.locator(SIGN)).to_be_hidden()
    visit.settle()
    step(not sockets, f"A connection was tried: {[socket.url for socket in sockets]}")


@flow
def live_session(visit, given):
    """A revoked session ends the connection, and the view waits for the next sign-in; signing out does not count as an expired session."""
    page = visit.page
    sockets = watched(page)
    enter(visit, given, "/dashboard/orders")
    expect(page.locator(SIGN)).to_be_visible()
    closed = []
    sockets[0].on("close", lambda socket: closed.append(socket.url))
    token = page.evaluate("JSON.parse(sessionStorage.getItem('satchel.session')).token")
    # A request in flight at that moment is refused.
    with visit.refused("/parse/", 400):
        Other(given, token).send("POST", "/logout")
        expect(page.get_by_role("alert").filter(has_text="Your session has ended")).to_be_visible()
        expect(page.locator("s-table")).to_have_count(1)
    # The answer to a request may come before the end of the connection.
    for _ in range(600):
        if closed:
            break
        page.wait_for_timeout(100)
    step(closed, "The connection stays.")
    sign_in(visit, given, keep=True)
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator(SIGN)).to_be_visible()
    step(len(sockets) == 2, f"There were {len(sockets)} connections.")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    expect(page.locator(".entry .problem")).to_be_empty()
