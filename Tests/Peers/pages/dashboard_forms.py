"""Flows of forms: typed text is kept, errors are beside their fields, and changes can be undone; a new shop; no connection."""
from playwright.sync_api import expect

from dashboard import enter, everybody, flow, report, sign_in, step, toast

QUESTION = "Discard your changes?"


def fields(page):
    return page.get_by_label("Product", exact=True), page.get_by_label("Price"), page.locator("dialog")


def stay(page):
    """The question is there, and the operator goes on typing."""
    expect(page.get_by_role("heading", name=QUESTION)).to_be_visible()
    page.get_by_role("button", name="Keep editing").click()
    expect(page.locator("dialog", has_text=QUESTION)).to_have_count(0)


@flow
def typed(visit, given):
    """Links, Back, reloading, Escape and Cancel ask before typed values are lost; a redrawn view and an undone change keep them."""
    page = visit.page
    name, price, box = fields(page)
    enter(visit, given, "/dashboard/reviews")
    page.get_by_role("link", name="Products").click()
    page.get_by_label("Name or description").fill(given["name"])
    page.get_by_role("link", name=given["name"]).click()
    expect(name).to_have_value(given["name"])
    place = page.url
    name.fill("Half a name")
    page.get_by_role("link", name="Reviews").click()
    everybody(page, "the question before leaving")
    stay(page)
    page.go_back(wait_until="commit")
    stay(page)
    step(page.url == place, f"The address is another: {page.url}")
    with page.expect_event("dialog") as asked:
        page.evaluate("setTimeout(() => location.reload())")
    step(asked.value.type == "beforeunload", f"A reload asked {asked.value.type}.")
    expect(name).to_have_value("Half a name")
    page.get_by_role("button", name="Stop selling").click()
    note = page.locator(".toast", has_text="was saved.")
    expect(page.locator(".heading .tag")).to_have_text("Not for sale")
    everybody(page, "a note with Undo")
    note.get_by_role("button", name="Undo").click()
    toast(page, "Undone.")
    expect(page.locator(".heading .tag")).not_to_have_text("Not for sale")
    expect(name).to_have_value("Half a name")
    # The error is beside its field, which has the focus.
    price.fill("1,2,3")
    page.get_by_role("button", name="Save").click()
    expect(price).to_be_focused()
    expect(price).to_have_attribute("aria-invalid", "true")
    step(price.evaluate("field => document.getElementById(field.getAttribute('aria-describedby')).textContent.includes('price')"),
         "The field does not name its error.")
    everybody(page, "an error beside its field")
    page.get_by_role("link", name="Reviews").click()
    page.get_by_role("button", name="Discard changes").click()
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    page.get_by_role("link", name="Products").click()
    page.get_by_role("button", name="Add a product").click()
    # In the dialog's first field, without a press.
    expect(box.get_by_label("Product", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(box.locator(".problem")).not_to_be_empty()
    page.keyboard.type("Half")
    for _ in range(2):
        page.keyboard.press("Escape")
        stay(page)
    expect(box.get_by_label("Product", exact=True)).to_have_value("Half")
    box.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Discard changes").click()
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Add a product").click()
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)


@flow
def session_over_a_form(visit, given):
    """The server says once that the session has ended: the same operator goes on with the refused request, another one does not."""
    page = visit.page
    name, price, box = fields(page)
    enter(visit, given, f"/dashboard/products/{given['product']}")
    price.fill("7.25")
    save_refused(visit)
    for _ in range(2):
        page.keyboard.press("Escape")
    expect(box.get_by_label("E-mail or user name")).to_be_visible()
    everybody(page, "sign-in over a page")
    with visit.refused("/login", 404):
        sign_in(visit, {**given, "password": "not the password"})
        expect(box.get_by_role("alert").filter(has_text="Name or password is wrong.")).to_be_visible()
        expect(box.get_by_label("Password")).to_be_focused()
    sign_in(visit, given, keep=True)
    toast(page, "was saved.")
    expect(box).to_have_count(0)
    expect(price).to_have_value("7.25")
    name.fill("The first operator's")
    save_refused(visit)
    sign_in(visit, given["other"], keep=True)
    expect(box).to_have_count(0)
    expect(name).to_have_value(given["name"])
    step(page.locator(".toast").count() == 0, "The first operator's page left a note.")


def save_refused(visit):
    """Saves with a session that has ended, as the server says in its answer to the change."""
    page, refused = visit.page, []

    def answer(route):
        if route.request.method != "PUT" or refused:
            return route.continue_()
        refused.append(route.request.url)
        route.fulfill(status=400, json={"code": 209, "error": "Invalid session token"})

    page.route("**/classes/Product/*", answer)
    with visit.refused("/classes/Product", 400):
        page.get_by_role("button", name="Save").click()
        expect(page.locator("dialog").get_by_role("alert").filter(has_text="Your session has ended")).to_be_visible()


@flow
def new_shop(visit, given):
    """The checklist on the first view, each step with its page, until it is hidden."""
    page = visit.page
    visit.open("/dashboard")
    sign_in(visit, given, keep=True)
    steps = page.locator(".checklist li")
    expect(steps).to_have_count(6)
    expect(steps.filter(has_text="Add the first product")).to_contain_text("done" if given["hasProducts"] else "open")
    expect(steps.filter(has_text="Choose a payment provider")).to_contain_text("open")
    everybody(page, "the checklist")
    page.get_by_role("link", name="Choose a payment provider").click()
    expect(page.get_by_label("Name of a setting")).to_have_value("SATCHEL_PAYMENTS")
    page.get_by_role("link", name="Today").click()
    page.get_by_role("button", name="Hide this list").click()
    expect(steps).to_have_count(0)
    page.reload()
    expect(page.locator(".figuresRow")).to_be_visible()
    visit.settle()
    step(steps.count() == 0, "A hidden list is back.")
    if not given["hasProducts"]:
        expect(page.locator("#content")).to_contain_text("There are no products yet.")


@flow
def no_connection(visit, given):
    """Without a connection the page says so and keeps working where it can; the view appears when the connection is back."""
    page = visit.page
    enter(visit, given, "/dashboard/reviews")
    visit.settle()
    with visit.offline():
        expect(page.get_by_role("status").filter(has_text="You are offline")).to_be_visible()
        page.get_by_role("link", name="Orders", exact=True).click()
        expect(page.get_by_role("heading", name="This did not work")).to_be_visible()
        expect(page.locator("#content")).to_contain_text("The server cannot be reached.")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#content")).to_contain_text("The server cannot be reached.")
    expect(page.get_by_role("heading", name="Orders")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="You are offline")).to_have_count(0)
    # A view shows at once that it is being loaded.
    held = []
    page.route("**/functions/reviewsToModerate", lambda route: held.append(route))
    page.get_by_role("link", name="Reviews").click()
    expect(page.locator("#content .bones").first).to_be_visible()
    expect(page.get_by_role("heading", name="Orders")).to_have_count(0)
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    report["steps"] += 1
