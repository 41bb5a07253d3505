"""Flow of the storefront's look: the preview, and that shoppers see it only after saving."""
from playwright.sync_api import expect

from dashboard import enter, flow, step, toast


@flow
def storefront_look(visit, given):
    """Name, colours, sections and screen are tried in the preview, saved, and taken back."""
    page = visit.page
    enter(visit, given, "/dashboard/storefront")
    expect(page.get_by_role("heading", name="Storefront", exact=True)).to_be_visible()
    shop = page.frame_locator("iframe[title='Preview']")
    brand = shop.locator(".top .brand")
    expect(brand).to_have_text("Beauty & Me")

    def in_shop(name):
        script = "(page, name) => getComputedStyle(page).getPropertyValue(name).trim()"
        return shop.locator("html").evaluate(script, name)

    page.get_by_label("Name of the shop").fill(given["name"])
    expect(brand).to_have_text(given["name"])
    step(shop.locator(".top .brand img").count() == 0, "The preview made markup of the name.")
    light = page.get_by_role("group", name="Light", exact=True)
    light.get_by_label("Accent").fill("#0055aa")
    step(in_shop("--accent") == "#0055aa", "The preview has not the accent.")
    light.get_by_label("Text").fill("#cccccc")
    expect(page.get_by_role("status").filter(has_text="below 4.5")).to_be_visible()
    step(in_shop("--ink") == "#000000", "The preview shows a text that cannot be read.")
    light.get_by_label("Text").fill("#1d1b18")
    expect(page.get_by_role("status").filter(has_text="below 4.5")).to_have_count(0)
    page.get_by_role("button", name="Dark", exact=True).press("Enter")
    step(in_shop("--ground") == "#171513", "The preview is not dark.")
    expect(page.get_by_role("button", name="Dark", exact=True)).to_be_focused()
    page.get_by_role("button", name="Phone", exact=True).click()
    step(shop.locator("html").evaluate("page => page.clientWidth") <= 390, "The preview is not as wide as a phone.")
    page.get_by_label("Font").select_option("slab")
    step("Rockwell" in in_shop("--font"), "The preview has not the font.")
    page.get_by_role("button", name="New products: move up").press("Enter")
    order = "page => [...page.querySelectorAll('[data-section]:not([hidden])')].map((one) => one.dataset.section)"
    shown = [one for one in shop.locator("html").evaluate(order) if one != "promotions"]
    step(shown == ["new", "brands"], f"The preview shows {shown}.")

    home = lambda: page.request.get(visit.base + "/", headers={"Accept": "text/html"}).text()
    step(given["search"] not in home() and "/theme/" not in home(), "Shoppers see what is not saved.")
    page.get_by_role("button", name="Save").click()
    note = page.locator(".toast", has_text="The storefront has its new look.")
    expect(note).to_be_visible()
    expect(page.get_by_label("Name of the shop")).to_have_value(given["name"])
    step(given["search"] in home() and "/theme/" in home(), "Shoppers do not see what was saved.")
    expect(brand).to_have_text(given["name"])
    visit.open("/")
    expect(page.locator(".top .brand")).to_have_text(given["name"])
    step("Rockwell" in page.evaluate("getComputedStyle(document.body).fontFamily"), "The storefront has not the font.")
    icon = page.locator("link[rel=icon]").get_attribute("href")
    answer = page.request.get(icon)
    step(answer.ok and answer.body().startswith(b"\x89PNG"), f"The icon {icon} is no picture.")
    visit.open("/dashboard/storefront")
    page.get_by_label("Name of the shop").fill("")
    page.get_by_role("button", name="Save").click()
    note.get_by_role("button", name="Undo").click()
    toast(page, "Undone.")
    expect(page.get_by_label("Name of the shop")).to_have_value(given["name"])
