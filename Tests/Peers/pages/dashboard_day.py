"""A flow of an operator's day: what stopped a new operator who had only docs/guides/operator.md."""
from playwright.sync_api import expect

from dashboard import enter, everybody, flow, step, toast


@flow
def day(visit, given):
    """A declined payment leads to its customer, a refunded piece leaves the parcel, and a brand's products are found."""
    page, number = visit.page, f"№ {given['number']}"
    enter(visit, given, "/dashboard/orders")
    page.get_by_role("link", name="Payments", exact=True).click()
    page.get_by_role("button", name="declined").click()
    row = page.get_by_role("row").filter(has=page.locator(f"a[href$='{given['bag']}']"))
    expect(row).to_contain_text("Your card was declined.")
    visit.settle()
    row.get_by_role("link", name="Open the order").press("Enter")
    # The bag is no order: it cannot be shipped or refunded.
    expect(page.get_by_role("heading", name="Not ordered yet")).to_be_visible()
    for name in ["Ship", "Refund", "Cancel order"]:
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    everybody(page, "a bag")
    page.locator("#content").get_by_role("link", name="Customer", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Write a mail")).to_be_visible()

    visit.open(f"/dashboard/orders/{given['order']}")
    page.get_by_role("button", name="Refund").click()
    box = page.locator("dialog")
    # The amount follows without leaving the field.
    box.get_by_label(given["product"]).press("ArrowUp")
    expect(box.get_by_label("Amount")).to_have_value("3.50")
    box.get_by_label("Return the items").check()
    box.get_by_role("button", name="Refund").click()
    toast(page, "$3.50 was refunded.")
    expect(page.locator("table.lines")).to_contain_text("2 (1 refunded)")
    page.get_by_role("link", name="Packing slip").click()
    expect(page.locator("article.sheet")).to_contain_text("1 piece in this parcel.")
    page.get_by_role("link", name=number).click()
    page.get_by_role("button", name="Cancel order").click()
    box.get_by_role("button", name="Keep the order").click()
    expect(box).to_have_count(0)

    visit.open(f"/dashboard/orders?search={given['number']}")
    bulk = page.get_by_role("group", name="Bulk changes")
    bulk.get_by_label("All on this page").check()
    expect(bulk).to_contain_text("1 chosen")
    bulk.get_by_role("link", name="Picking list").click()
    expect(page.locator("article.sheet tbody tr", has_text=given["product"])).to_contain_text("1")

    visit.open("/dashboard/brands")
    page.get_by_label("Name").fill(given["brand"])
    rows = page.locator("s-table tbody tr")
    expect(rows).to_have_count(1)
    page.get_by_role("link", name="Show its products").click()
    expect(page.get_by_label("Brand")).to_have_value(given["brandId"])
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(given["product"])
    page.get_by_label("Brand").select_option(label="Every brand")
    step(page.get_by_label("Brand").input_value() == "", "The brand stays chosen.")
    everybody(page, "products by brand")
