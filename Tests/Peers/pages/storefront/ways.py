"""A shopper's ways through the storefront: by keyboard, without scripts, with Back and Reload, and without a network."""
from playwright.sync_api import expect

from dashboard import report, step
from storefront import ADDRESS, for_everybody, pay, shop_flow

FOCUSED = """(node) => {
  if (document.activeElement !== node) return '';
  const style = getComputedStyle(node), box = node.getBoundingClientRect();
  const isMarked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  return isMarked && box.bottom > 0 && box.top < innerHeight ? 'seen' : node.outerHTML.slice(0, 100);
}"""


def tab_to(page, target):
    """Presses Tab until the element has the focus, which must be visible."""
    for _ in range(80):
        page.keyboard.press("Tab")
        found = target.evaluate(FOCUSED)
        if found:
            return step(found == "seen", f"The focus is not visible: {found}")
    raise AssertionError(f"Tab does not reach {target}")


def sign_up(page, given):
    for name, value in {"firstName": "Ann", "lastName": "Lee", "email": given["email"], "password": "a-long-secret"}.items():
        page.locator(f"main [name={name}]").fill(value)
    page.locator("main form button").first.click()


def fill_address(page):
    for name, value in ADDRESS.items():
        page.locator(f"main [name={name}]").fill(value)


@shop_flow
def shop_by_keyboard(visit, given):
    """From the start to the receipt without a pointer."""
    page = visit.page
    visit.open("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    visit.open("/")
    tab_to(page, page.locator("#q"))
    page.keyboard.type(given["search"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?*")
    tab_to(page, page.locator("main .card a").first)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(given["search"])
    tab_to(page, page.locator("form.add input[type=number]"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.locator("[data-badge]")).to_have_text("2")
    tab_to(page, page.locator(".stepper button").first)
    page.keyboard.press("Space")
    expect(page.locator("[data-badge]")).to_have_text("1")
    tab_to(page, page.locator("main a[href='/checkout']"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/checkout")
    for name, value in {"email": given["email"], **ADDRESS}.items():
        tab_to(page, page.locator(f"main [name={name}]"))
        page.keyboard.type(value)
    tab_to(page, page.locator("[name=card]"))
    page.keyboard.press("Home")
    tab_to(page, page.locator("form[action='/checkout'] button"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/orders/*")
    expect(page.get_by_role("status")).to_be_visible()


@shop_flow
def shop_without_script(visit, given):
    """Everything up to the order works, and is shown, without scripts."""
    with visit.without_script() as page:
        page.goto(visit.base + "/")
        expect(page.locator("h1")).to_have_count(1)
        page.locator("#q").fill(given["search"])
        page.locator("#q").press("Enter")
        page.locator("main .card a").first.click()
        expect(page.locator("h1")).to_have_text(given["search"])
        step(page.locator("main :is(shop-zoom, shop-share) button:visible").count() == 0, "A button needs a script.")
        page.locator("form.add input[type=number]").fill("2")
        page.locator("form.add button").click()
        expect(page.locator(".stepper span")).to_have_text("2")
        page.locator(".stepper button").last.click()
        expect(page.locator(".stepper span")).to_have_text("3")
        page.locator("[name=code]").fill("nothing")
        page.locator("form[action='/bag/code'] button").click()
        expect(page.get_by_role("alert")).to_be_visible()
        expect(page.locator(".stepper span")).to_have_text("3")
        page.locator("main a[href='/checkout']").click()
        page.locator("main [name=email]").fill(given["email"])
        fill_address(page)
        pay(page, "tok_visa")
        page.wait_for_url("**/orders/*")
        expect(page.get_by_role("status")).to_be_visible()


def stays(page, heading, pieces, before=None):
    """The page is the same after Reload, and after Back and Forward."""
    badge = page.locator("[data-badge]")
    url = page.url

    def is_right():
        page.wait_for_url(url)
        expect(page.locator("h1")).to_contain_text(heading)
        if pieces:
            expect(badge).to_have_text(pieces)
        else:
            expect(badge).to_be_hidden()
    page.reload()
    is_right()
    page.go_back()
    page.wait_for_url(before or "**")
    page.go_forward()
    is_right()


@shop_flow
def shop_comes_back(visit, given):
    """Back and Reload at every step; a network that goes away; three purchases, each of which is charged once."""
    page = visit.page
    visit.open("/")
    page.locator("#q").fill(given["search"])
    page.locator("#q").press("Enter")
    page.wait_for_url("**/search?*")
    stays(page, given["search"], None)
    page.locator("main .card a").first.click()
    stays(page, given["search"], None)
    product = page.url
    page.locator("form.add button").click()
    page.wait_for_url("**/bag")
    title = page.locator("h1").inner_text()
    stays(page, title, "1", product)
    visit.open("/sign-up?next=%2Fbag")
    sign_up(page, given)
    page.wait_for_url("**/bag")
    page.locator("main a[href='/checkout']").click()
    page.wait_for_url("**/checkout")
    stays(page, page.locator("h1").inner_text(), "1", "**/bag")
    fill_address(page)
    page.locator("[name=card]").select_option("tok_visa")
    page.locator("form[action='/checkout'] button").dblclick()
    page.wait_for_url("**/orders/*")
    page.reload()
    expect(page.locator("h1")).to_contain_text("№")
    # Back from the receipt: there is nothing to pay.
    page.go_back()
    page.wait_for_url("**/bag")
    expect(page.locator("form[action='/checkout'], .stepper")).to_have_count(0)
    expect(page.locator("[data-badge]")).to_be_hidden()
    without_network(visit, product)
    without_answer(visit, product)
    visit.open("/account")
    expect(page.locator("main").get_by_role("link", name="№")).to_have_count(3)
    report["orders"] = page.locator("main").get_by_role("link", name="№").all_inner_texts()


def add_once_more(visit, product):
    visit.page.goto(product)
    visit.page.locator("form.add button").click()
    expect(visit.page.locator("[data-badge]")).to_have_text("1")


def without_network(visit, product):
    """The offline page is shown; after the connection returns, the shopper pays once."""
    page = visit.page
    page.goto(product)
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    with visit.offline():
        page.locator(".top .brand").click()
        expect(page.locator("main a.button[href='/']")).to_be_visible()
        for_everybody(page, "offline page")
    page.locator("main a.button[href='/']").click()
    expect(page.locator("main .brands, main .cards").first).to_be_visible()
    add_once_more(visit, product)
    visit.open("/checkout")
    fill_address(page)
    page.locator("[name=card]").select_option("tok_visa")
    with visit.offline():
        page.locator("form[action='/checkout'] button").click()
        page.wait_for_url("chrome-error://**")
    page.go_back()
    visit.open("/checkout")
    fill_address(page)
    pay(page, "tok_visa")
    page.wait_for_url("**/orders/*")
    expect(page.locator("[data-badge]")).to_be_hidden()


def without_answer(visit, product):
    """The server makes the order, and its answer is lost: the second "Pay" leads to the same order."""
    page = visit.page
    add_once_more(visit, product)
    visit.open("/checkout")
    fill_address(page)

    def lose(route):
        if route.request.method != "POST":
            return route.continue_()
        route.fetch(max_redirects=0)
        route.abort("aborted")
    page.route("**/checkout", lose)
    pay(page, "tok_visa")
    visit.settle()
    page.unroute("**/checkout")
    # The button works again after a pause.
    button = page.locator("form[action='/checkout'] button")
    expect(page.locator("form[data-sent]")).to_have_count(0)
    button.click()
    page.wait_for_url("**/orders/*")
    expect(page.locator("[data-badge]")).to_be_hidden()
