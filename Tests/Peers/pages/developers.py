"""Flows of the page for app developers: the snippets and the routes, as an app developer reads and tries them."""
import json
import os
import subprocess
import sys

from playwright.sync_api import expect

import browser_checks
from dashboard import flow, report, step

ORIGINS = ["clipboard-read", "clipboard-write"]


def for_everybody(page, place):
    """In light and dark mode."""
    report["failures"] += browser_checks.problems_of_schemes(page, place)


def run(command, text):
    """A program's output for a given input."""
    # A proxy configured on this machine must not be used for local addresses.
    environment = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [*command, text], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, env=environment, check=False)
    step(done.returncode == 0, f"{command[0]} failed with the page's own text: {done.stderr[-500:]}\n{text}")
    return done.stdout


@flow
def developers_start(visit, given):
    """The snippets contain this server's address; one is copied, and the snippets of installed programs run unchanged."""
    page = visit.page
    visit.context.grant_permissions(ORIGINS, origin=visit.base)
    visit.open("/developers")
    expect(page.get_by_role("heading", name="For app developers")).to_be_visible()
    texts = {name: page.locator(f"[data-code={name}]").inner_text() for name in (
        "swift", "ios", "android", "javascript", "php", "python", "curl")}
    for name, text in texts.items():
        address = given["api"].removesuffix("/parse") if name == "php" else given["api"]
        step(address in text and "satchel" in text, f"{name} has another server: {text}")
        step("YOUR_" not in text, f"{name} wants a key that nobody needs here: {text}")
    page.get_by_role("button", name="Copy: curl").click()
    expect(page.locator(".toast", has_text="Copied: curl")).to_be_visible()
    step(page.evaluate("navigator.clipboard.readText()") == texts["curl"], "What was copied is not what is shown.")
    found = json.loads(run(["bash", "-c"], texts["curl"]) or "{}").get("results", [])
    step(len(found) >= 1 and all("name" in product for product in found), f"curl got no products: {found}")
    printed = run([sys.executable, "-c"], texts["python"]).splitlines()
    step(printed == [product.get("name") for product in found], f"Python printed {printed}")
    for_everybody(page, "start")
    step(visit.context.cookies() == [], "There is a cookie.")


@flow
def developers_routes(visit, given):
    """A route is found, read and tried as a guest; a change is sent only after the request was shown; then with a session."""
    page = visit.page
    visit.open("/developers/routes")
    search = page.get_by_role("searchbox")
    search.fill("get /classes")
    page.get_by_role("link", name="/classes/{className}", exact=True).first.click()
    expect(page.get_by_role("heading", name="GET /classes/{className}", exact=True)).to_be_visible()
    expect(page.get_by_role("region", name="Parameters")).to_contain_text("where")
    expect(page.locator("[data-code=example]")).to_contain_text(f"{given['api']}/classes/")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".trial :invalid").first).to_be_visible()
    page.get_by_label("className", exact=True).fill("Product")
    page.get_by_label("limit").fill("1")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("200 OK")).to_be_visible()
    expect(page.get_by_role("region", name="Request")).to_contain_text("GET /parse/classes/Product?limit=1 HTTP/1.1")
    answer = json.loads(page.locator("[data-code=answer]").inner_text())
    step(len(answer["results"]) == 1, f"The answer is another: {answer}")
    for_everybody(page, "a route")

    visit.open("/developers/functions/nearestStores")
    sent = len([request for request in visit.requests if request.method == "POST"])
    page.get_by_label("Body (JSON)").fill('{"latitude": 1, ')
    page.get_by_role("button", name="Show the request").click()
    expect(page.get_by_role("alert").filter(has_text="body is not valid JSON")).to_be_visible()
    page.get_by_label("Body (JSON)").fill('{"latitude": 1, "longitude": 2}')
    page.get_by_role("button", name="Show the request").click()
    expect(page.get_by_role("region", name="Request")).to_contain_text('"longitude": 2')
    step(len([request for request in visit.requests if request.method == "POST"]) == sent, "It was sent before it was shown.")
    page.get_by_role("button", name="Send this POST").click()
    expect(page.get_by_text("200 OK")).to_be_visible()
    expect(page.locator("[data-code=answer]")).to_contain_text("result")
    for_everybody(page, "a function")

    page.get_by_role("button", name="Sign in").click()
    box = page.locator("dialog")
    for_everybody(page, "signing in")
    box.get_by_label("E-mail or user name").fill(given["user"])
    box.get_by_label("Password").fill("not the password")
    with visit.refused("/login", 404):
        box.get_by_role("button", name="Sign in").click()
        expect(box.get_by_role("alert")).to_have_text("Name or password is wrong.")
    box.get_by_label("Password").fill(given["password"])
    box.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    expect(page.get_by_text(f"With the session of {given['user']}.")).to_be_visible()
    stored = page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])")
    step("r:" not in stored, f"The session is kept: {stored}")
    page.get_by_role("link", name="Routes", exact=True).click()
    page.get_by_role("searchbox").fill("getCurrentUser")
    page.get_by_role("link", name="/users/me", exact=True).click()
    expect(page.get_by_text(f"With the session of {given['user']}.")).to_be_visible()
    page.get_by_role("button", name="Send").click()
    expect(page.locator("[data-code=answer]")).to_contain_text(given["user"])
    request = page.get_by_role("region", name="Request").inner_text()
    step("X-Parse-Session-Token" in request and "…" in request, f"The request is another: {request}")

    visit.open("/developers/functions/checkout")
    example = page.locator("[data-code=example]").inner_text()
    sign_in, request = example.split("\n\n")
    step("X-Parse-Session-Token: $SESSION_TOKEN" in request, f"The example of checkout has no session: {example}")
    mine = sign_in.replace("ann@example.com", given["user"]).replace("a-long-secret", given["password"])
    step(run(["bash", "-c"], f'{mine}\nprintf %s "$SESSION_TOKEN"').startswith("r:"), f"It signs nobody in: {sign_in}")

    visit.open("/developers/routes/purgeClass")
    expect(page.get_by_text("It needs the master key")).to_be_visible()
    expect(page.locator("[data-code=example]")).to_contain_text("$MASTER_KEY")
    step(page.get_by_role("button", name="Sign out").count() == 0, "The session outlived the page.")
    page.get_by_label("Language").select_option("de")
    expect(page.get_by_role("link", name="Routen", exact=True)).to_be_visible()
    page.get_by_role("link", name="Routen", exact=True).click()
    expect(page.get_by_role("heading", name="Routen")).to_be_visible()
    page.get_by_role("searchbox").fill("nothing has these words")
    expect(page.get_by_text("Keine passende Route.")).to_be_visible()
    for_everybody(page, "routes")
