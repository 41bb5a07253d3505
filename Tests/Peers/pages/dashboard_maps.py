"""Flows of stores' places on maps."""
import random
import re

from playwright.sync_api import expect

from dashboard import enter, flow, png, step, toast
from dashboard_photos import drag
from dashboard_shop import DIALOG, for_everybody


@flow
def places(visit, given):
    """A store's place is chosen with the keyboard and by a press; the map of all stores moves from store to store and opens one."""
    page, name = visit.page, given["name"]
    box = page.locator(DIALOG)
    enter(visit, given, "/dashboard/stores")
    page.get_by_role("button", name="Add a store").click()
    box.get_by_label("Name", exact=True).fill(name)
    chooser = box.get_by_role("application", name="Map to choose the place on")
    latitude, longitude = box.get_by_label("Latitude"), box.get_by_label("Longitude")
    own = box.locator(".pin:not(.faint)")
    chooser.focus()
    page.keyboard.press("Enter")
    expect(own).to_have_count(1)
    expect(latitude).not_to_have_value("")
    for_everybody(page, "choosing a place")
    # At its place, this store is alone, whatever other stores exist.
    east = round(random.uniform(-170, 170), 4)
    latitude.fill("46.948")
    longitude.fill(str(east))
    longitude.press("Tab")
    expect(own).to_have_count(1)
    chooser.focus()
    page.keyboard.press("Home")
    middle = place_of(own)
    page.keyboard.press("ArrowRight")
    step(round(middle[0] - place_of(own)[0]) == 80, "The arrow does not move the map.")
    expect(box.locator("s-map [aria-live]")).to_contain_text("Centre: 46.948° N")
    page.keyboard.press("Enter")
    # Coordinates are rounded by less than a pixel.
    step(all(abs(a - b) < 1 for a, b in zip(place_of(own), middle)), "The place is not at the cross.")
    # 80 pixels at zoom 12.
    chosen = east + 80 / (256 * 2 ** 12) * 360
    step(abs(float(longitude.input_value()) - chosen) < 0.0002, f"{longitude.input_value()} is not {chosen}.")
    size = chooser.bounding_box()
    chooser.click(position={"x": size["width"] / 2 - 40, "y": size["height"] / 2})
    step(abs(float(longitude.input_value()) - (east + chosen) / 2) < 0.0002, f"{longitude.input_value()} after a press.")
    before = place_of(own)
    drag(page, chooser, (0.5, 0.5), (0.6, 0.6))
    step(place_of(own)[0] > before[0] + 20, "Dragging does not move the map.")
    step(abs(float(longitude.input_value()) - (east + chosen) / 2) < 0.0002, "Dragging chose a place.")
    # A press may be off by less than a pixel.
    latitude.fill("46.948")
    box.get_by_role("button", name="Save").click()
    toast(page, f"{name} was saved.")
    row = page.locator("s-table tr", has_text=name)
    expect(row).to_contain_text("46.948° N")
    stores = page.get_by_role("application", name="Map of the stores")
    told = page.locator("s-map [aria-live]")
    scale = page.locator("s-map .scale text")
    wide = scale.text_content()
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    step(scale.text_content() != wide, f"The scale is {wide} from far and near.")
    page.get_by_role("button", name="Show everything").click()
    step(scale.text_content() == wide, "Not all of it is shown again.")
    stores.focus()
    for _ in range(50):
        page.keyboard.press("PageDown")
        if name in told.inner_text():
            break
    expect(told).to_contain_text(f"{name}, 46.948° N")
    page.keyboard.press("Enter")
    expect(box.get_by_label("Name", exact=True)).to_have_value(name)
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    step(page.evaluate("document.activeElement.matches('s-map .marks')"), "The focus did not come back to the map.")
    # The pin's picture is above its place.
    x, y = place_of(page.locator(".pin.chosen"))
    stores.click(position={"x": x, "y": y - 12})
    expect(box.get_by_label("Name", exact=True)).to_have_value(name)
    # The same without the map.
    page.keyboard.press("Escape")
    row.get_by_role("button", name="Edit").click()
    expect(latitude).to_have_value("46.948")
    page.keyboard.press("Escape")


def place_of(pin):
    """The position of a pin on the map, in pixels."""
    return [float(number) for number in re.findall(r"-?[\d.]+", pin.get_attribute("transform"))]


@flow
def tiles(visit, given):
    """Tiles from the configured host are below the map; where they cannot be loaded, there are lines."""
    page, asked = visit.page, []
    visit.hosts.add("tiles.example.org")

    def answer(route):
        asked.append(route.request)
        route.fulfill(body=png(256, 256), content_type="image/png")

    page.route("https://tiles.example.org/**", answer)
    enter(visit, given, "/dashboard/stores")
    page.wait_for_function("""() => {
      const all = [...document.querySelectorAll('.tiles img')];
      return all.length > 1 && all.every((image) => image.naturalWidth === 256);
    }""")
    wrong = [request.url for request in asked if not re.fullmatch(r"https://tiles\.example\.org/\d+/\d+/\d+\.png", request.url)]
    step(not wrong, f"These are no names of tiles: {wrong}")
    link = page.get_by_role("link", name="© Makers of maps")
    step(link.get_attribute("href") == "https://maps.example.org/", f"The link leads to {link.get_attribute('href')}.")
    for_everybody(page, "map with pictures")
    page.unroute("https://tiles.example.org/**")
    page.route("https://tiles.example.org/**", lambda route: route.fulfill(status=404))
    with visit.refused("tiles.example.org", 404):
        page.get_by_role("button", name="Zoom in").click()
        page.wait_for_function("() => [...document.querySelectorAll('.tiles img')].every((image) => image.hidden)")
    step(page.locator(".ground line").count() > 2, "There are no lines where pictures do not come.")
