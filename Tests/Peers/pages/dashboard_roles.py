"""Operators with a role: the parts of the dashboard that they see, and that nothing they open is refused."""
import json
import urllib.request

from playwright.sync_api import Error, expect

from dashboard import everybody, flow, in_both_schemes, sign_in, step


# Views whose name differs from their menu entry.
HEADINGS = {"Operations": "Health"}


@flow
def one_role(visit, given):
    """The menu and the first view contain the role's parts; every view opens without a refusal; another role's view is refused."""
    page, refused, batches = visit.page, [], []
    page.on("response", lambda answer: answer.status >= 400 and refused.append(f"{answer.status} {answer.url}"))
    page.on("response", lambda answer: answer.url.endswith("/batch") and batches.append(answer))
    visit.open("/dashboard")
    sign_in(visit, given, keep=True)
    heading = page.locator("#content h1")

    def look(place):
        opened(visit, heading, place)
        # A refusal within a batch is no console error. Its body is gone with the page.
        while batches:
            try:
                parts = batches.pop().json()
            except Error:
                continue  # It came when the page had gone.
            refused.extend(part["error"] for part in parts if part.get("error", {}).get("code") == 119)

    expect(heading).to_contain_text("Good ")
    menu = page.get_by_role("navigation", name="Menu").get_by_role("link")
    expect(menu).to_have_text(["Today", *given["entries"]])
    look("today")
    for card in given["cards"]:
        found = any(page.locator("#content").get_by_text(text).count() for text in card.split("|"))
        step(found, f"The first view has nothing of {card}.")
    in_both_schemes(page, "today of a role")
    for entry in given["entries"]:
        menu.filter(has_text=entry).click()
        expect(heading).to_contain_text(HEADINGS.get(entry, entry))
        look(entry)
    for path in given["paths"]:
        visit.open("/dashboard" + path)
        look(path)
    visit.open("/dashboard" + given["foreign"])
    expect(heading).to_have_text("This belongs to another role")
    in_both_schemes(page, "elsewhere")
    page.locator("#content").get_by_role("link", name=given["entries"][0]).click()
    expect(heading).to_contain_text(HEADINGS.get(given["entries"][0], given["entries"][0]))
    look("the way back")
    step(not refused, f"Refused: {refused}")


def opened(visit, heading, place):
    page = visit.page
    visit.settle()
    expect(page.locator("#content .bones")).to_have_count(0)
    text = heading.inner_text()
    step(text not in ("This did not work", "Page not found", "This belongs to another role"), f"{place}: {text}")
    step(page.get_by_text("Your account may not do this").count() == 0, f"{place} shows a refusal.")


@flow
def role_taken_away(visit, given):
    """After the role is removed, the tab's stored session does not lead to an empty dashboard."""
    page = visit.page
    visit.open("/dashboard")
    sign_in(visit, given, keep=True)
    expect(page.get_by_role("navigation", name="Menu")).to_be_visible()
    opened(visit, page.locator("#content h1"), "today")
    # An order of another flow may make the page look before it is left.
    with visit.refused("/parse/functions/", 400):
        leave(given)
        page.reload()
        expect(page.get_by_role("alert").filter(has_text="does not belong to the shop")).to_be_visible()
    step(page.evaluate("sessionStorage.length") == 0, "A session was kept that leads nowhere.")
    everybody(page, "sign-in after leaving")


def leave(given):
    user = {"__type": "Pointer", "className": "_User", "objectId": given["userId"]}
    body = json.dumps({"users": {"__op": "RemoveRelation", "objects": [user]}}).encode()
    headers = {"X-Parse-Application-Id": "satchel", "X-Parse-Master-Key": given["masterKey"], "Content-Type": "application/json"}
    request = urllib.request.Request(f"{given['api']}/roles/{given['role']}", data=body, headers=headers, method="PUT")
    urllib.request.urlopen(request).read()
