"""The flow of the dashboard's operations views: functions, webhooks, jobs, the log, Config, settings, backups, metrics."""
import json
import urllib.error

from playwright.sync_api import expect

import browser_checks
from dashboard import enter, flow, post, report, step, toast, undo

DIALOG = "dialog"


def press(page, name, within=DIALOG):
    page.locator(within).get_by_role("button", name=name, exact=True).click()


def row_of(page, text, table=None):
    place = page.locator("s-table") if table is None else page.get_by_role("grid", name=table)
    return place.locator("tbody tr", has_text=text)


@flow
def operations(visit, given):
    """An operator's actions on the running suite; the webhook `hook` never answers, and its calls write log lines."""
    enter(visit, given, "/dashboard/operations")
    metrics(visit)
    functions(visit, given)
    add_webhook(visit, given)
    log(visit, given)
    change_webhook(visit, given)
    jobs(visit)
    config(visit, given)
    settings(visit, given)
    backups(visit, given)


def metrics(visit):
    """A second measurement gives rates, without leaving the page."""
    page = visit.page
    gateway = page.locator("[data-process=gateway]")
    expect(gateway).to_contain_text("MB")
    expect(gateway).to_contain_text("99th percentile")
    expect(page.locator("[data-process=catalog]")).to_contain_text("catalog-1")
    expect(page.locator("[data-process=catalog] .spark")).to_be_attached()
    past(visit)


def past(visit):
    """The figures of a day and of 30 days; a gateway tells them soon after its start."""
    page = visit.page
    rate = page.locator("[data-figure=rate]")
    expect(rate.locator("svg")).to_be_visible()
    rate.get_by_text("Figures as a table").click()
    step(rate.locator(".figures tbody tr").count() > 0, "The table has no minutes.")
    page.get_by_role("button", name="30 days", exact=True).press("Enter")
    expect(page.get_by_role("button", name="30 days", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="30 days", exact=True)).to_be_focused()
    expect(page.locator("[data-figure='past.failed'] svg")).to_be_visible()


def functions(visit, given):
    page = visit.page
    page.get_by_role("link", name="Functions", exact=True).click()
    page.get_by_label("Name or description").fill("nearestSt")
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Run nearestStores").press("Enter")
    field = page.get_by_label("Parameters as JSON")
    field.fill("[1")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    field.fill('{"latitude": 46.9, "longitude": 7.4, "limit": 1}')
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("pre.result")).to_contain_text("[")
    expect(page.get_by_role("alert")).to_have_count(0)
    report["failures"] += browser_checks.problems(page, "a function")


def add_webhook(visit, given):
    page = visit.page
    visit.open("/dashboard/operations/webhooks")
    page.get_by_role("button", name="Add function").click()
    box = page.locator(DIALOG)
    box.get_by_label("Name").fill(given["hook"])
    box.get_by_label("Address").fill("http://127.0.0.1:9/hook")
    report["failures"] += browser_checks.problems(page, "new webhook")
    press(page, "Save")
    toast(page, f"{given['hook']} was added.")
    expect(row_of(page, given["hook"])).to_contain_text("127.0.0.1:9/hook")


def cause_a_line(visit, given):
    token = visit.page.evaluate("JSON.parse(sessionStorage.getItem('satchel.session')).token")
    try:
        post(given, f"/functions/{given['hook']}", token)
        step(False, "A webhook that nobody answers has answered.")
    except urllib.error.HTTPError:
        pass


def log(visit, given):
    """A line written while the log is open appears once; lines written during a pause come after it."""
    page = visit.page
    visit.open("/dashboard/operations/logs")
    expect(page.locator(".log li").first).to_be_visible()
    report["failures"] += browser_checks.problems(page, "log")
    page.get_by_label("Text in the log").fill(given["hook"])
    page.wait_for_url(lambda url: f"text={given['hook']}" in url)
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    lines = page.locator(".log li", has_text=given["hook"])
    cause_a_line(visit, given)
    expect(lines).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status").filter(has_text="Paused")).to_be_visible()
    cause_a_line(visit, given)
    cause_a_line(visit, given)
    step(lines.count() == 1, "A line came while the log was paused.")
    page.get_by_role("button", name="Pause").click()
    expect(lines).to_have_count(3)
    page.get_by_role("combobox", name="Process").select_option("mail")
    expect(page.locator(".log li", has_text=given["hook"])).to_have_count(0)


def change_webhook(visit, given):
    """Another address, and no webhook: each is taken back once."""
    page, name = visit.page, given["hook"]
    visit.open("/dashboard/operations/webhooks")
    row = row_of(page, name)
    row.get_by_role("button", name=f"Edit: {name}").click()
    page.locator(DIALOG).get_by_label("Address").fill("http://127.0.0.1:9/other")
    press(page, "Save")
    expect(row).to_contain_text("127.0.0.1:9/other")
    undo(page, f"{name} was changed.")
    expect(row).to_contain_text("127.0.0.1:9/hook")
    for is_kept in (True, False):
        row.get_by_role("button", name=f"Delete: {name}").click()
        press(page, "Delete")
        expect(row).to_have_count(0)
        if is_kept:
            undo(page, f"{name} was deleted.")
            expect(row).to_contain_text("127.0.0.1:9/hook")


def jobs(visit):
    """A job runs and ends while the page is open; another is scheduled, and the schedule removed."""
    page = visit.page
    visit.open("/dashboard/operations/jobs")
    row_of(page, "recountRatings", "Jobs").get_by_role("button", name="Run recountRatings").click()
    page.get_by_label("Parameters as JSON").fill('{"why": "from the desk"}')
    press(page, "Run")
    toast(page, "recountRatings was started.")
    first = page.get_by_role("grid", name="History").locator("tbody tr").first
    expect(first).to_contain_text("recountRatings")
    expect(first).to_contain_text("succeeded")
    expect(first).to_contain_text("products")
    page.get_by_role("button", name="Schedule a job").click()
    box = page.locator(DIALOG)
    box.get_by_label("Job").select_option("sweepFiles")
    box.get_by_label("Not before").fill("2039-01-01T00:00")
    box.get_by_label("When").select_option(label="At an interval of minutes")
    box.get_by_label("Minutes, time or line").fill("0")
    press(page, "Save")
    expect(box.get_by_role("alert").filter(has_text="whole number")).to_be_visible()
    box.get_by_label("Minutes, time or line").fill("90")
    press(page, "Save")
    toast(page, "sweepFiles was scheduled.")
    plan = row_of(page, "sweepFiles", "Schedules")
    expect(plan).to_contain_text("every 90 minutes")
    for is_kept in (True, False):
        plan.get_by_role("button", name="Delete sweepFiles").click()
        press(page, "Delete")
        expect(plan).to_have_count(0)
        if is_kept:
            undo(page, "sweepFiles was deleted.")
            expect(plan).to_contain_text("every 90 minutes")


def config(visit, given):
    """A parameter is added and changed, each time after a comparison of before and after; a parameter that others changed is not overwritten."""
    page, name = visit.page, given["parameter"]
    visit.open("/dashboard/operations/config")
    page.get_by_role("button", name="Add parameter").click()
    box = page.locator(DIALOG)
    box.get_by_label("Name").fill(name)
    box.get_by_label("Type").select_option(label="Number")
    box.get_by_label("Value").fill("many")
    press(page, "Preview")
    expect(box.get_by_role("alert").filter(has_text="not a valid value of this type")).to_be_visible()
    box.get_by_label("Value").fill("12.5")
    press(page, "Preview")
    expect(box.locator("ins").first).to_have_text("12.5")
    report["failures"] += browser_checks.problems(page, "preview of Config")
    press(page, "Save")
    toast(page, f"{name} was saved.")
    row = row_of(page, name)
    expect(row).to_contain_text("Every app")
    row.get_by_role("button", name=f"Edit: {name}").click()
    box.get_by_label("Type").select_option(label="JSON object")
    box.get_by_label("Value").fill(json.dumps({"markup": given["markup"]}))
    box.get_by_label("Master key only").check()
    press(page, "Preview")
    expect(box.locator("del").first).to_have_text("12.5")
    press(page, "Save")
    toast(page, f"{name} was saved.")
    expect(row).to_contain_text("Master key only")
    step(page.locator("#content [onerror], #content script").count() == 0, "A parameter became markup.")


def settings(visit, given):
    page = visit.page
    visit.open("/dashboard/operations/settings")
    page.get_by_label("Name of a setting").fill("MASTER_KEY")
    masked = row_of(page, "SATCHEL_MASTER_KEY").filter(has_text="set, not shown")
    expect(masked).to_have_count(1)
    expect(page.locator("s-table")).to_contain_text("SATCHEL_MASTER_KEY_IPS")
    page.get_by_label("Name of a setting").fill("")
    expect(row_of(page, "SATCHEL_SHOP_NAME").first).to_contain_text("Beauty & Me")
    expect(row_of(page, "SATCHEL_LANES").first).to_contain_text("default")
    step(given["secret"] not in page.content(), "A secret is in the page.")


def backups(visit, given):
    """The records of scripts/backup: the last backup is old, and the view says so. The books are checked."""
    page = visit.page
    visit.open("/dashboard/operations/backups")
    expect(page.locator(".backupWarning")).to_be_visible()
    visit.open("/dashboard/operations/books")
    page.get_by_role("button", name="Check now").click()
    expect(page.locator("s-table").last).to_contain_text("order.charge", timeout=60_000)
    visit.open("/dashboard/operations/audit")
    expect(page.get_by_role("heading", name="Audit log")).to_be_visible()


@flow
def parked(visit, given):
    """Today counts refused work; one mail is tried again, another is dropped by keyboard."""
    page = visit.page
    enter(visit, given)
    page.locator("#content").get_by_role("link", name="Refused work").click()
    expect(page.locator("#content h1")).to_have_text("Refused work")
    again, gone = row_of(page, given["again"]), row_of(page, given["gone"])
    expect(again).to_contain_text("550 No such user")
    expect(gone).to_contain_text("Mail")
    report["failures"] += browser_checks.problems(page, "refused work")
    again.get_by_role("button", name="Try again").click()
    toast(page, "It is tried again.")
    expect(again).to_have_count(0)
    gone.locator("td").last.focus()
    page.keyboard.press("Enter")
    box = page.locator(DIALOG)
    expect(box).to_contain_text("It is not done any more.")
    report["failures"] += browser_checks.problems(page, "dropping refused work")
    press(page, "Cancel")
    expect(box).to_have_count(0)
    expect(gone).to_have_count(1)
    gone.get_by_role("button", name="Drop").click()
    press(page, "Drop")
    toast(page, "It was dropped.")
    expect(gone).to_have_count(0)
