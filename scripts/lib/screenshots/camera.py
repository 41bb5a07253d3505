"""The pictures: which page each one is of, when it is ready, and its file."""
import datetime
import io
import os
import shutil
import sys
import urllib.error
import urllib.request

from PIL import Image
from playwright.sync_api import expect, sync_playwright

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
BYTES_MAX = 300_000

# By name: the path, with ids from `shop.fill`, and the text that shows that the page is complete.
PICTURES = {
    "shop": ("/search?q=serum", ".cards img"),
    "today": ("/dashboard", ".figuresRow"),
    "orders": ("/dashboard/orders", "s-table tbody tr"),
    "order": ("/dashboard/orders/{order}", ".timeline li"),
    "products": ("/dashboard/products?search=serum", "s-table tbody img"),
    "promotion": ("/dashboard/promotions/{promotion}", ".flyer"),
    "analytics": ("/dashboard/analytics?compare=yes", "s-line-chart svg"),
    "crashes": ("/dashboard/crashes/{crash}", "pre mark"),
    "data": ("/dashboard/data/Product?columns=objectId,name,unitPrice,stock,active,tags", ".rowsOfData .rowOfData"),
    "developers": ("/developers", "[data-code=curl]"),
    "phone": ("/dashboard", ".figuresRow"),
}


def take(satchel, seen, folder, names):
    with open(os.path.join(satchel.data, "admin.password"), encoding="ascii") as file:
        password = file.read().strip()
    base = satchel.url.removesuffix("/parse")
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that a container's root has not; the pages are ours.
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none"])
        for viewport, wanted in ((DESK, [name for name in names if name != "phone"]), (PHONE, [name for name in names if name == "phone"])):
            if not wanted:
                continue
            context = browser.new_context(
                viewport=viewport, locale="en-US", timezone_id="UTC", color_scheme="light", reduced_motion="reduce")
            context.set_default_timeout(60_000)
            page = context.new_page()
            now = datetime.datetime.now(datetime.timezone.utc)
            if now.hour < 5:
                # Nobody is at the desk at that hour.
                page.clock.set_fixed_time(now.replace(hour=9, minute=12))
            sign_in(page, base, password)
            for name in wanted:
                picture(page, base, name, seen, folder)
            context.close()
        browser.close()


def sign_in(page, base, password):
    page.goto(f"{base}/dashboard")
    page.get_by_label("E-mail or user name").fill("admin@satchel.example")
    page.get_by_label("Password").fill(password)
    page.get_by_label("Stay signed in").check()
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#content h1")).to_be_visible(timeout=60_000)


def picture(page, base, name, seen, folder):
    path, ready = PICTURES[name]
    url = base + path.format(**seen)
    if not is_there(url):
        print(f"{name}: this suite has no {path}", file=sys.stderr)
        return
    page.goto(url)
    page.locator(ready).first.wait_for()
    page.wait_for_load_state("networkidle")
    # The phone of the preview is below the form's beginning.
    page.evaluate("document.querySelector('.flyer')?.scrollIntoView({ block: 'end' })")
    page.evaluate("Promise.all([document.fonts.ready, ...[...document.images].map((image) => image.decode().catch(() => {}))])")
    small = smaller(page.screenshot())
    if len(small) > BYTES_MAX:
        sys.exit(f"{name} has {len(small)} bytes, more than {BYTES_MAX}")
    with open(os.path.join(folder, f"{name}.png"), "wb") as file:
        file.write(small)
    print(f"{name}: {len(small)} bytes")


def is_there(url):
    try:
        with urllib.request.urlopen(url, timeout=30):
            return True
    except urllib.error.HTTPError:
        return False


def smaller(png):
    """The picture with at most 256 colours, which pages of few colours do not show."""
    with Image.open(io.BytesIO(png)) as whole:
        few = whole.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        out = io.BytesIO()
        few.save(out, "PNG", optimize=True)
    return out.getvalue()
