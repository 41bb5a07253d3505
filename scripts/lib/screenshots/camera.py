"""The pictures: which page each one is of, when it is ready, and its file."""
import contextlib
import datetime
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

from playwright.sync_api import expect, sync_playwright

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
BYTES_MAX = 150_000

# The pictures of a guest's visit to the shop, by device.
VISITS = {
    (1280, "light"): ("shop", "brand", "product", "bag", "checkout", "receipt", "flyer"),
    (1280, "dark"): ("shop-dark",),
    (390, "light"): ("shop-phone", "product-phone", "bag-phone"),
    (390, "dark"): ("receipt-phone",),
}
# Of the dashboard, by name: the path with ids from `shop.fill`, and an element of the complete page.
PICTURES = {
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
GUEST = {
    "email": "ada.long@example.com", "firstName": "Ada", "lastName": "Long", "phone": "555-0100", "address1": "7 Main St",
    "city": "Springfield", "state": "IL", "zipcode": "62701",
}
NAMES = [name for names in VISITS.values() for name in names] + list(PICTURES)

# The same fonts on every machine. Without this file Chromium takes any installed font.
FONTS = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>
<dir>/usr/share/fonts/opentype/inter</dir><dir>/usr/share/fonts/truetype/liberation</dir><cachedir>{folder}/fonts</cachedir>
<match><edit name="family" mode="append_last"><string>Inter</string></edit></match></fontconfig>"""


def take(satchel, seen, folder, names):
    with open(os.path.join(satchel.data, "admin.password"), encoding="ascii") as file:
        password = file.read().strip()
    base = satchel.url.removesuffix("/parse")
    fonts = os.path.join(satchel.data, "fonts.conf")
    with open(fonts, "w", encoding="ascii") as file:
        file.write(FONTS.format(folder=satchel.data))
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that a container's root has not; the pages are ours.
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-headless-shell"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--font-render-hinting=none"],
            env={**os.environ, "FONTCONFIG_FILE": os.environ.get("FONTCONFIG_FILE", fonts)})
        for (width, scheme), all_names in VISITS.items():
            wanted = [name for name in all_names if name in names]
            if wanted:
                with page_of(browser, DESK if width == DESK["width"] else PHONE, scheme) as page:
                    visit(page, base, seen, wanted, folder)
        for viewport, wanted in ((DESK, [name for name in PICTURES if name in names and name != "phone"]),
                                 (PHONE, [name for name in names if name == "phone"])):
            if wanted:
                with page_of(browser, viewport, "light") as page:
                    sign_in(page, base, password)
                    for name in wanted:
                        picture(page, base, name, seen, folder)
        browser.close()


@contextlib.contextmanager
def page_of(browser, viewport, scheme):
    context = browser.new_context(
        viewport=viewport, locale="en-US", timezone_id="UTC", color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    page = context.new_page()
    now = datetime.datetime.now(datetime.timezone.utc)
    if now.hour < 5:
        # Nobody is at the desk at that hour.
        page.clock.set_fixed_time(now.replace(hour=9, minute=12))
    yield page
    context.close()


def visit(page, base, seen, wanted, folder):
    """A guest looks around and buys; ends after the last picture that is wanted."""
    left = set(wanted)

    def seen_at(stop):
        for name in [name for name in left if name.split("-")[0] == stop]:
            page.evaluate("scrollTo(0, 0)")
            save(page, name, folder)
            left.remove(name)
        return not left

    page.goto(f"{base}/")
    if seen_at("shop"):
        return
    page.goto(f"{base}/promotions/{seen['promotion']}")
    if seen_at("flyer"):
        return
    page.goto(f"{base}/brands/{seen['brand']}")
    if seen_at("brand"):
        return
    for product in seen["bag"]:
        page.goto(f"{base}/products/{product}")
        if product == seen["bag"][0] and seen_at("product"):
            return
        page.get_by_role("button", name="Add to bag").click()
        page.wait_for_url("**/bag")
    page.locator("input[name=code]").fill("HELLO10")
    page.locator("form[action='/bag/code'] button").click()
    page.get_by_text("HELLO10)").first.wait_for()
    if seen_at("bag"):
        return
    page.locator("a[href='/checkout']").click()
    for name, value in GUEST.items():
        page.locator(f"input[name={name}]").fill(value)
    if seen_at("checkout"):
        return
    page.locator("main form button.primary").click()
    page.locator(".done").wait_for()
    seen_at("receipt")


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
    # The phone of the preview is below the form's beginning.
    page.evaluate("document.querySelector('.flyer')?.scrollIntoView({ block: 'end' })")
    save(page, name, folder)


def save(page, name, folder):
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement?.blur()")
    # Lazy images below the picture are never decoded.
    page.evaluate("""() => {
        const seen = [...document.images].filter((image) => image.getBoundingClientRect().top < innerHeight);
        return Promise.all([document.fonts.ready, ...seen.map((image) => image.decode().catch(() => {}))]);
    }""")
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
    """The picture with at most 256 colours, mixed where it needs more."""
    return subprocess.run(["pngquant", "--speed", "1", "--strip", "256", "-"], input=png, capture_output=True, check=True).stdout
