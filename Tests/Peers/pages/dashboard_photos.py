"""Flows of photos that are cropped before they are sent."""
import re
import tempfile
from pathlib import Path

from playwright.sync_api import expect

from dashboard import enter, flow, png, step, toast
from dashboard_shop import DIALOG, for_everybody

# The size of the stored photo, and the colour of one of its points.
SENT = """async () => {
  const image = document.querySelector('.photo img');
  await image.decode();
  const canvas = Object.assign(document.createElement('canvas'), { width: image.naturalWidth, height: image.naturalHeight });
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0);
  return [canvas.width, canvas.height, ...pen.getImageData(2, 2, 1, 1).data];
}"""


@flow
def crop(visit, given):
    """A crop is chosen with keyboard and mouse, and only the crop is sent; dismissing changes nothing."""
    page = visit.page
    box = page.locator(DIALOG)
    enter(visit, given, f"/dashboard/products/{given['product']}")
    with tempfile.TemporaryDirectory() as folder:
        photo = Path(folder, "two halves.png")
        photo.write_bytes(png(400, 200, right=(20, 60, 200)))
        page.get_by_label("Choose a photo").set_input_files(photo)
        button = page.get_by_role("button", name="Crop", exact=True)
        button.click()
        part = box.get_by_role("application", name="Part of the photo")
        told = box.locator("s-crop [aria-live]")
        expect(told).to_contain_text("400 × 200 pixels of 400 × 200, 0 from the left")
        for_everybody(page, "cropping")
        page.keyboard.press("Escape")
        expect(box).to_have_count(0)
        step(page.evaluate("document.querySelector('.photo img').naturalWidth") == 400, "A photo was cut that was not to be.")
        by_keyboard(page, box, button, part, told)
        # Moves the crop as far right as possible, then its upper left corner by 50 pixels of the photo.
        drag(page, part, (0.5, 0.5), (0.99, 0.5))
        expect(told).to_contain_text("200 from the left")
        drag(page, part, (0.51, 0.02), (0.635, 0.27))
        size = re.compile(r"1(49|50|51) × 1(49|50|51) pixels")
        expect(told).to_contain_text(size)
        box.get_by_role("button", name="Use this part").click()
        expect(box).to_have_count(0)
        expect(button).to_be_focused()
        # The chosen crop is still set.
        button.click()
        expect(told).to_contain_text(size)
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Save").click()
        toast(page, "was saved.")
    page.wait_for_function("() => document.querySelector('.photo img')?.src.includes('/files/')")
    width, height, red, _, blue, _ = page.evaluate(SENT)
    step(width == height and abs(width - 150) <= 1, f"The photo has {width} by {height} pixels.")
    step(blue > 150 and red < 100, f"Another part was sent: red {red}, blue {blue}.")
    # A stored photo can be cropped too.
    button.click()
    expect(told).to_contain_text(f"{width} × {width} pixels of {width} × {width}")
    part.focus()
    page.keyboard.press("Shift+ArrowUp")
    box.get_by_role("button", name="Use this part").click()
    expect(box).to_have_count(0)
    page.get_by_role("button", name="Save").click()
    toast(page, "was saved.")
    page.wait_for_function("() => document.querySelector('.photo img')?.src.includes('/files/')")
    again = page.evaluate(SENT)[:2]
    step(again[0] == width and width - 3 < again[1] < width, f"The photo that was up has {again} pixels.")


def by_keyboard(page, box, button, part, told):
    """Shape, size, position and zoom; at the end the largest centred square."""
    button.click()
    box.get_by_role("button", name="Square").click()
    expect(told).to_contain_text("200 × 200 pixels of 400 × 200, 100 from the left")
    part.focus()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Control+ArrowRight")
    expect(told).to_contain_text("196 × 196 pixels of 400 × 200, 101 from the left")
    page.keyboard.press("+")
    expect(box.get_by_label("Zoom")).to_have_value("1.5")
    box.get_by_label("Zoom").fill("3")
    expect(told).to_contain_text("196 × 196")
    part.focus()
    page.keyboard.press("Home")
    expect(told).to_contain_text("200 × 200 pixels of 400 × 200, 100 from the left")


def drag(page, element, start, end):
    """With the mouse, between two points given as fractions of an element."""
    box = element.bounding_box()
    at = lambda point: (box["x"] + point[0] * box["width"], box["y"] + point[1] * box["height"])
    page.mouse.move(*at(start))
    page.mouse.down()
    page.mouse.move(*at([(a + b) / 2 for a, b in zip(start, end)]))
    page.mouse.move(*at(end))
    page.mouse.up()
