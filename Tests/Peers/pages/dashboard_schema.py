"""Flows of the class views: columns, rows of every type, permissions, viewing as another user, queries."""
import re
import tempfile
from pathlib import Path

from playwright.sync_api import expect

import browser_checks
from dashboard import cell_of, enter, enter_cell, flow, png, report, save_dialog, step, toast

# Type, target class and default of each column, with all types of Parse.
COLUMNS = [
    ("text", "String", None, "new & <b>"), ("count", "Number", None, "7"), ("flag", "Boolean", None, "true"),
    ("moment", "Date", None, "2030-05-02T10:15:00Z"), ("friend", "Pointer", "{class}", None), ("fans", "Relation", "{class}", None),
    ("list", "Array", None, "[1]"), ("thing", "Object", None, '{"a":1}'), ("place", "GeoPoint", None, "1, 2"),
    ("area", "Polygon", None, None), ("paper", "File", None, None), ("raw", "Bytes", None, None),
]


def press(page, name, within="dialog"):
    page.locator(within).last.get_by_role("button", name=name, exact=True).click()


def for_everybody(page, place):
    report["failures"] += browser_checks.problems(page, place)


@flow
def schema(visit, given):
    """A class is created, gets a column of every type, a row that is edited in each, and an index; one column is deleted again."""
    page, name = visit.page, given["class"]
    enter(visit, given, "/dashboard/data")
    expect(page.get_by_role("link", name="_User", exact=False).first).to_be_visible()
    page.get_by_role("button", name="New class").click()
    page.get_by_label("Name of the class").fill("no name")
    press(page, "Create class")
    expect(page.locator("dialog .problem")).to_contain_text("begins with a letter")
    page.get_by_label("Name of the class").fill(name)
    for_everybody(page, "new class")
    press(page, "Create class")
    toast(page, f"The class {name} was created.")
    expect(page.get_by_role("heading", name=name)).to_be_visible()
    for column in COLUMNS:
        add_column(page, name, *column)
    expect(page.locator("s-table").first.locator("tbody tr")).to_have_count(len(COLUMNS))
    expect(page.locator("s-table tr", has_text="moment")).to_contain_text("2030-05-02T10:15:00.000Z")
    add_index(page)
    delete_column(page)
    page.get_by_role("link", name="Rows", exact=True).click()
    page.get_by_role("button", name="Add row").click()
    page.locator("dialog").get_by_label("text").fill("first")
    press(page, "Add row")
    toast(page, "was added.")
    every_type(visit, name)
    page.get_by_role("link", name="Columns and indexes").click()
    page.get_by_role("button", name="Delete class").click()
    page.get_by_label(f"Type {name} to confirm").fill(name)
    with visit.refused(f"/schemas/{name}", 400):
        press(page, "Delete class")
        expect(page.locator("dialog .problem")).to_contain_text("not empty")
    page.keyboard.press("Escape")


def add_column(page, class_name, name, kind, target, standard):
    page.get_by_role("button", name="Add column").click()
    box = page.locator("dialog")
    box.get_by_label("Name", exact=True).fill(name)
    box.get_by_label("Type").select_option(kind)
    step(box.get_by_label("Target class").is_visible() == bool(target), f"The class of a {kind} is asked for wrongly.")
    if target:
        box.get_by_label("Target class").fill(target.replace("{class}", class_name))
    if kind == "Number":
        box.get_by_label("Default").fill("many")
        press(page, "Add column")
        expect(box.locator(".problem")).to_contain_text("not a valid value of that type")
    if standard:
        box.get_by_label("Default").fill(standard)
    if kind == "Pointer":
        for_everybody(page, "new column")
    press(page, "Add column")
    expect(page.locator("dialog")).to_have_count(0)
    toast(page, f"The column {name} was added.")
    expect(page.locator("s-table").first.get_by_text(name, exact=True)).to_be_visible()


def add_index(page):
    page.get_by_role("button", name="Add index").click()
    box = page.locator("dialog")
    box.get_by_label("Fields").fill("text, nothing")
    press(page, "Add index")
    expect(box.locator(".problem")).to_contain_text("Name columns of the class")
    box.get_by_label("Fields").fill("text, -count")
    for_everybody(page, "new index")
    press(page, "Add index")
    expect(page.locator("dialog")).to_have_count(0)
    toast(page, "was added.")
    row = page.locator("s-table tr", has_text="text_desc_count")
    expect(row).to_contain_text("an operator")
    row.get_by_role("button", name="Drop the index").click()
    page.get_by_label("Type text_desc_count to confirm").fill("text_desc")
    press(page, "Drop")
    expect(page.locator("dialog .problem")).to_contain_text("does not match")
    page.get_by_label("Type text_desc_count to confirm").fill("text_desc_count")
    press(page, "Drop")
    toast(page, "was dropped.")
    expect(row).to_have_count(0)


def convert_column(page):
    """Another type for the column: the preview does not change anything yet."""
    page.get_by_role("button", name="Change the type of the column short").click()
    page.locator("dialog").get_by_label("Type").select_option("Number")
    for_everybody(page, "changing a type")
    press(page, "Preview")
    expect(page.locator("dialog")).to_contain_text("0 rows are converted to Number.")
    expect(page.locator("s-table tr", has_text="short")).to_contain_text("String")
    press(page, "Change type")
    toast(page, "The column short is of type Number now.")
    expect(page.locator("s-table tr", has_text="short")).to_contain_text("Number")


def delete_column(page):
    """Deletes a column that was added for this; the others are edited afterwards."""
    add_column(page, "", "short", "String", None, None)
    convert_column(page)
    page.get_by_role("button", name="Delete the column short").click()
    page.get_by_label("Type short to confirm").fill("short")
    for_everybody(page, "deleting a column")
    press(page, "Delete")
    toast(page, "The column short was deleted.")
    expect(page.get_by_role("button", name="Delete the column short")).to_have_count(0)


def answers_disturb_nobody(visit):
    """The answer to a change arrives while the next value of that row is typed."""
    page, held = visit.page, []
    path = "**/parse/classes/**"
    page.route(path, lambda route: held.append(route) if route.request.method == "PUT" else route.continue_())
    enter_cell(page, "count")
    field = page.locator("s-data-grid .cellOfData > input:not([type=checkbox])")
    field.fill("8")
    page.keyboard.press("Enter")
    enter_cell(page, "text")
    field.fill("half")
    while not held:
        page.wait_for_timeout(20)
    with page.expect_response(path):
        held[0].continue_()
    page.unroute(path)
    visit.settle()
    expect(field).to_have_value("half")
    page.keyboard.press("Escape")
    expect(cell_of(page, "count")).to_have_text("8")
    expect(cell_of(page, "text")).to_have_text("first")


def every_type(visit, name):
    """Values that are edited in dialogs; the flow `data` covers values that are edited in place."""
    page = visit.page
    expect(page.locator(".rowsOfData .rowOfData")).to_have_count(1)
    expect(cell_of(page, "count")).to_have_text("7")
    for column, text, bad in (
        ("area", "[[0, 0], [0, 1], [1, 1]]", "[[0, 0]]"), ("raw", '{"__type": "Bytes", "base64": "aGk="}', '{"base64": 1}'),
        ("list", '["a", 7]', "{}"), ("thing", '{"deep": true}', "[]"),
    ):
        enter_cell(page, column)
        page.locator("dialog textarea").fill(bad)
        save_dialog(page)
        expect(page.locator("dialog .problem")).not_to_be_empty()
        page.locator("dialog textarea").fill(text)
        save_dialog(page, closes=True)
    answers_disturb_nobody(visit)
    for column, text in (("text", "first & <b>"), ("count", "0.5"), ("moment", "2031-02-03T04:05")):
        enter_cell(page, column)
        page.locator("s-data-grid .cellOfData > input:not([type=checkbox])").fill(text)
        page.keyboard.press("Enter")
    enter_cell(page, "place")
    page.locator("dialog [name=place]").fill("3, 4")
    save_dialog(page, closes=True)
    enter_cell(page, "flag")
    page.locator("s-data-grid select").select_option(label="false")
    page.keyboard.press("Enter")
    enter_cell(page, "friend")
    page.locator("dialog .picks label").first.click()
    save_dialog(page, closes=True)
    enter_cell(page, "fans")
    expect(page.locator("dialog")).to_contain_text("No members.")
    press(page, "Add a member")
    page.locator("dialog").last.locator(".picks label").first.click()
    page.locator("dialog").last.get_by_role("button", name="Save").click()
    expect(page.locator("dialog")).to_have_count(1)
    expect(page.locator("dialog .rights li")).to_contain_text("new")
    for_everybody(page, "relation editor")
    save_dialog(page, closes=True)
    toast(page, "fans was saved.")
    enter_cell(page, "fans")
    page.get_by_role("button", name="Remove", exact=False).first.click()
    expect(page.locator("dialog del")).to_have_count(1)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Discard changes").click()
    expect(page.locator("dialog")).to_have_count(0)
    enter_cell(page, "paper")
    with tempfile.TemporaryDirectory() as folder:
        paper = Path(folder, "paper.png")
        paper.write_bytes(png(8, 8))
        page.get_by_label("Choose a file").set_input_files(paper)
        for_everybody(page, "file editor")
        save_dialog(page, closes=True)
    visit.settle()
    visit.open(f"/dashboard/data/{name}")
    expect(page.locator(".rowsOfData .rowOfData")).to_have_count(1)
    expect(cell_of(page, "paper")).to_contain_text("paper.png")
    expect(cell_of(page, "area")).to_contain_text("[0,1]")
    expect(cell_of(page, "fans")).to_contain_text(name)


@flow
def permissions(visit, given):
    """A permission is changed after its difference was shown; a customer does not see a row of the operators."""
    page, name = visit.page, given["class"]
    enter(visit, given, f"/dashboard/data/{name}")
    rows = page.locator(".rowsOfData .rowOfData")
    expect(rows).to_have_count(2)
    see_as(page, given["customer"])
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("everybody's")
    step("secret" not in rows.inner_text(), "A row of the operators is shown.")
    step(page.get_by_role("button", name="Add row").count() == 0, "Rows can be added while one looks as somebody else.")
    enter_cell(page, "text")
    toast(page, "You cannot make changes while you view as another user.")
    for_everybody(page, "rows as somebody else")
    page.get_by_role("link", name="Permissions", exact=True).click()
    save = page.get_by_role("button", name="Review and save")
    expect(save).to_be_disabled()
    # By keyboard: each box names its caller and operation.
    page.get_by_role("checkbox", name="Everybody: Delete", exact=True).focus()
    page.keyboard.press(" ")
    hidden = page.get_by_role("checkbox", name="text is hidden from Everybody")
    hidden.focus()
    page.keyboard.press(" ")
    expect(hidden).to_be_checked()
    expect(hidden).to_be_focused()
    add_name(page, "Role or user", "role:", is_good=False)
    add_name(page, "Role or user", "role:admins")
    page.get_by_role("checkbox", name="role:admins: Delete").check()
    # Operators also belong to the public group; a group that hides nothing shows them the field.
    add_name(page, "Hide from", "role:admins")
    expect(page.get_by_text("4 differences, not saved yet")).to_be_visible()
    page.get_by_text("As JSON").click()
    for_everybody(page, "permissions")
    step('"role:admins": true' in page.locator("pre").inner_text(), "The JSON is not what would be saved.")
    save.click()
    differences = page.locator("dialog .differences li")
    expect(differences).to_have_count(4)
    expect(differences.filter(has_text="text is hidden")).to_contain_text("added")
    expect(differences.filter(has_text="Everybody: Delete")).to_contain_text("removed")
    for_everybody(page, "differences")
    press(page, "Save")
    toast(page, f"The permissions of {name} were saved.")
    expect(save).to_be_disabled()
    # The reverse change grants public access again, and the page marks that.
    page.get_by_role("checkbox", name="Everybody: Delete", exact=True).check()
    save.click()
    expect(page.locator("dialog .differences li")).to_contain_text("everybody")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Reset").click()
    expect(save).to_be_disabled()
    page.get_by_role("link", name="Rows", exact=True).click()
    expect(rows).to_have_count(2)
    expect(cell_of(page, "text", 1)).to_have_text("everybody's")
    see_as(page, given["customer"])
    expect(rows).to_have_count(1)
    expect(cell_of(page, "text")).to_have_text("")


def add_name(page, label, name, is_good=True):
    field = page.get_by_label(label)
    field.fill(name)
    page.locator("form", has=field).get_by_role("button", name="Add").click()
    if is_good:
        expect(field.first).to_be_focused()
    else:
        expect(field).to_have_attribute("aria-invalid", "true")


def see_as(page, customer):
    page.get_by_role("button", name="View as").click()
    press(page, "View")
    expect(page.locator("dialog .problem")).to_contain_text("Choose a user")
    page.get_by_label("The user’s objectId").fill(customer)
    for_everybody(page, "choosing a viewer")
    press(page, "View")
    expect(page.locator(".viewer")).to_contain_text(customer)


@flow
def console(visit, given):
    """Classes without rows here say why. A query is run, counted and explained; an invalid one gets an error; the address contains it."""
    page, name = visit.page, given["class"]
    enter(visit, given, "/dashboard/data")
    page.get_by_role("link", name="_Installation", exact=False).first.press("Enter")
    expect(page.locator("#content")).to_contain_text("a device token lets its owner be addressed")
    expect(page.locator("#content").get_by_role("link", name="Promotions")).to_be_visible()
    for_everybody(page, "a class without rows")
    page.locator("a.back").press("Enter")
    page.get_by_role("link", name="_User", exact=False).first.press("Enter")
    page.get_by_role("link", name="All accounts").press("Enter")
    expect(page.get_by_label("Beginning of a name or e-mail")).to_be_visible()
    visit.open("/dashboard/data")
    page.get_by_role("link", name="Console").click()
    where = page.get_by_label("Condition")
    where.fill('{"text": ')
    # The wait for "Condition" above ensures that this is not the field "Class" of the previous view.
    page.get_by_label("Class").fill(name)
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert").filter(has_text="not valid JSON")).to_be_visible()
    where.fill('{"text": "everybody\'s"}')
    page.get_by_role("button", name="Run").click()
    expect(page.locator("s-table tbody tr")).to_have_count(1)
    expect(page.locator("#content")).to_contain_text(" ms")
    for_everybody(page, "rows of the console")
    page.get_by_role("button", name="JSON", exact=True).click()
    expect(page.locator("pre.json")).to_contain_text("everybody's")
    page.get_by_role("button", name="Count").click()
    expect(page.locator("#content")).to_contain_text("1 row")
    page.get_by_role("button", name="Explain").click()
    # PostgreSQL reads all rows in the order of their key.
    dear = re.compile("Every row is read|An index gives the order")
    expect(page.get_by_role("heading", name=dear)).to_be_visible()
    for_everybody(page, "a plan")
    where.fill(f'{{"objectId": "{given["row"]}"}}')
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("heading", name="An index finds the rows")).to_be_visible()
    address = page.url
    step(given["row"] in address and name in address, f"The address has not the query: {address}")
    visit.open(address.removeprefix(visit.base))
    expect(page.get_by_label("Class")).to_have_value(name)
