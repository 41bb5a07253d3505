"""Accessibility checks of a page: axe-core's rules for WCAG 2.2 A and AA, and additional rules."""
from axe_playwright_python.base import AXE_SCRIPT

# Reports only violations: reporting passed rules doubles axe-core's time.
RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], "resultTypes": ["violations"],
}
# The rules whose result depends on the colour scheme, which take most of axe-core's time.
COLOURS = ["color-contrast", "link-in-text-block"]
COLOUR_RULES = {**RULES, "runOnly": {"type": "rule", "values": COLOURS}}
OTHER_RULES = {**RULES, "rules": {name: {"enabled": False} for name in COLOURS}}
SCHEMES = ("light", "dark")

# Text that is cut off at the side, and controls that are too small (WCAG 2.5.8: 24 by 24 pixels).
OWN_RULES = """() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wider than the screen: ${document.documentElement.scrollWidth}`);
  for (const element of document.querySelectorAll('button, select, input, a.button, nav a')) {
    const box = element.getBoundingClientRect();
    if (box.width && (box.width < 20 || box.height < 20)) found.push(`too small: ${element.outerHTML.slice(0, 120)}`);
  }
  const levels = [...document.querySelectorAll('h1, h2, h3')].map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1) found.push('not one h1');
  if (document.title === '') found.push('no title');
  return found;
}"""


# A user can scroll content out from under a fixed bar. For axe-core the bars therefore scroll with the page.
# Rows that differ in nothing but texts and addresses have the same colours: the colour rules check four of them.
AXE = r"""async ([colours, others, all]) => {
  const seen = new Map();
  const isOneMore = (row, index) => {
    const look = row.outerHTML.replace(/>[^<]*[^<\s][^<]*</g, '>x<')
      .replace(/ (id|for|name|value|href|src|title|data-(index|id)|aria-(label|labelledby|describedby|rowindex))="[^"]*"/g, '')
      .replace(/ style="transform[^"]*"/, '');
    const key = `${index % 2} ${look}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return seen.get(key) > 2;
  };
  const exclude = [...document.querySelectorAll('main tbody tr, main .rowOfData, main li')].filter(isOneMore);
  const onColours = [exclude.length ? { exclude } : document, colours];
  const runs = !all ? [onColours] : exclude.length ? [onColours, [document, others]] : [[document, all]];
  const bars = [...document.querySelectorAll('.rail, .top')];
  for (const bar of bars) bar.style.position = 'static';
  try {
    const found = [];
    for (const [place, rules] of runs) found.push(...(await axe.run(place, rules)).violations);
    return found;
  } finally {
    for (const bar of bars) bar.style.position = '';
  }
}"""


def problems(page, place):
    """The violations of the page in its current state, as texts."""
    return of_axe(page, place, OTHER_RULES, RULES) + [f"{place}: {text}" for text in page.evaluate(OWN_RULES)]


def problems_of_schemes(page, place):
    """The violations of the page in light and dark mode, as texts: all rules in light mode, the colour rules in dark mode."""
    light, dark = SCHEMES
    page.emulate_media(color_scheme=dark)
    found = of_axe(page, f"{place}, {dark}")
    page.emulate_media(color_scheme=light)
    return found + problems(page, f"{place}, {light}")


def of_axe(page, place, *others):
    """Of the colour rules; of `others` too, which are the rest and, for a page without such rows, all in one run."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate(AXE, [COLOUR_RULES, *others])
    return [f"{place}: {rule['id']}: {node['html'][:160]} {node['failureSummary'][:300]}" for rule in found for node in rule["nodes"][:3]]


def keyboard_problems(page):
    """Tab visits the page's controls in visual order, each with a visible focus; the grid is one stop."""
    page.locator("s-table tbody tr").nth(1).wait_for()
    # After the focus moves away, Tab would continue from its old position, so it is reset to the top.
    page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex'); scrollTo(0, 0)")
    found, stops = [], []
    for _ in range(60):
        page.keyboard.press("Tab")
        stop = page.evaluate("""() => {
          const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
          return { tag: element.localName, name: element.getAttribute('aria-label') || element.textContent.trim().slice(0, 40),
            grid: Boolean(element.closest('tbody')), marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2,
            seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight };
        }""")
        if stop["tag"] == "body":
            break
        stops.append(stop)
        if not stop["marked"]:
            found.append(f"no mark on {stop['tag']} {stop['name']}")
        if not stop["seen"]:
            found.append(f"out of sight: {stop['tag']} {stop['name']}")
    if not stops or stops[0]["name"] != "Skip to the content":
        found.append(f"Tab does not begin with the link to the content: {stops[:1]}")
    if sum(stop["grid"] for stop in stops) != 1:
        found.append(f"The grid has {sum(stop['grid'] for stop in stops)} stops.")
    page.locator("td[tabindex='0']").focus()
    before = page.evaluate("document.activeElement.closest('tr').textContent")
    page.keyboard.press("ArrowDown")
    if page.evaluate("document.activeElement.closest('tr').textContent") == before:
        found.append("The arrows do not move in the grid.")
    return found
