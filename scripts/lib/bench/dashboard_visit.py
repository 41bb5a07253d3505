"""One visit to the dashboard by a browser, for `dashboard.py`. Its first view needs Playwright, which the tests' peers
have; the scrolling is in a tab without it (`measuring/tab.py`).

Takes the folder of the tests' `browser.py` and, on its standard input, JSON with what to visit. Prints JSON: bytes of
the first view, milliseconds of each step, memory.
"""
import json
import sys
import time

from measuring import machine
from measuring.tab import Tab

sys.path.insert(0, sys.argv[1])
from browser import Visit  # noqa: E402
from playwright.sync_api import expect  # noqa: E402

expect.set_options(timeout=60000)

# A step ends when every row in sight is there and was painted. The times of a key begin with the browser's own time of
# the event.
STEPS = """
const PAGE = 10;
const bench = {
  last: null,
  grid: () => document.querySelector('s-data-grid'),
  row: (element) => Number(element?.closest('[data-index]')?.dataset.index ?? -1),
  /** Elements of the rows in sight; none when one of them is missing or still to come. */
  inSight() {
    const { bottom, height } = bench.grid().getBoundingClientRect();
    const head = bench.grid().querySelector('.headings').getBoundingClientRect();
    const rows = [...bench.grid().querySelectorAll('.rowsOfData .rowOfData')].filter((row) => {
      const box = row.getBoundingClientRect();
      return box.bottom > head.bottom && box.top < bottom;
    });
    const isWhole = rows.length >= Math.floor((height - head.height) / head.height) - 1;
    return isWhole && rows.every((row) => row.ariaBusy !== 'true') ? rows : [];
  },
  lastInSight: () => Math.max(-1, ...bench.inSight().map(bench.row)),
  rows: () => document.querySelectorAll('.rowsOfData .rowOfData').length,
  /** Whether a page of the keyboard leads to rows that are known: a key at the last one of them does nothing. */
  hasPage() {
    const { height } = bench.grid().querySelector('.headings').getBoundingClientRect();
    return bench.row(document.activeElement) + 2 * PAGE < bench.grid().scrollHeight / height - 1;
  },
  /** Milliseconds until the browser painted a frame with the expected content; checked after each frame. */
  painted: (start, isThere) => new Promise((resolve, reject) => {
    const channel = new MessageChannel();
    const look = () => requestAnimationFrame(() => channel.port2.postMessage(0));
    channel.port1.onmessage = () => {
      const passed = performance.now() - start;
      const found = isThere();
      if (!found && passed <= 30000) return look();
      // One that stays open holds what this closure knows.
      channel.port1.close();
      if (found) resolve(passed);
      else reject(new Error('The rows do not come.'));
    };
    look();
  }),
  watchKeys() {
    document.addEventListener('keydown', (event) => {
      const from = bench.row(document.activeElement);
      const isThere = () => bench.row(document.activeElement) > from && bench.inSight().length > 0;
      bench.last = bench.painted(event.timeStamp, isThere);
    }, true);
  },
  focus() {
    const rows = bench.inSight();
    rows[Math.floor(rows.length / 2)].children[1].focus();
  },
  /** To the end of the known rows, again and again: each step brings as many more as the server sends at once. */
  async dive(deep) {
    const times = [];
    let most = 0;
    while (bench.lastInSight() < deep) {
      const from = bench.lastInSight();
      const grid = bench.grid();
      const isThere = () => {
        grid.scrollTop = grid.scrollHeight;
        return bench.lastInSight() >= from + 50;
      };
      isThere();
      times.push(await bench.painted(performance.now(), isThere));
      most = Math.max(most, bench.rows());
    }
    return { times, most };
  },
};
bench.watchKeys();
window.bench = bench;
"""


PAGE_DOWN = ("PageDown", 34)


def main():
    given = json.load(sys.stdin)
    with Visit(given["base"]) as visit:
        found = {"today": first_view(visit, given), "orders": {}, "rows": 0, "problems": visit.problems}
    with Tab(1360, 900) as tab:
        found["empty"] = tab_megabytes(tab)
        sign_in(tab, given)
        tab.open(f"{given['base']}/dashboard/data/{given['class']}")
        tab.wait("document.querySelector('.rowsOfData .rowOfData')")
        tab.evaluate(f"(() => {{ {STEPS} }})()")
        for name, field in given["orders"].items():
            found["orders"][name] = scroll(tab, given, field, found)
        found |= memory(tab)
    print(json.dumps(found))


def first_view(visit, given):
    """Bytes of the view of today, signing in included."""
    page = visit.page
    visit.open("/dashboard")
    page.get_by_label("E-mail or user name").fill("admin@satchel.example")
    page.get_by_label("Password").fill(given["password"])
    page.get_by_label("Stay signed in").check()
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator(".figuresRow")).to_be_visible()
    page.wait_for_load_state("networkidle")
    return visit.bytes_received()


def sign_in(tab, given):
    """Signs in for as long as the tab is there."""
    tab.open(given["base"] + "/dashboard")
    tab.wait("document.querySelector('form [type=password]')")
    fields = {"[autocomplete~=username]": "admin@satchel.example", "[type=password]": given["password"]}
    for selector, text in fields.items():
        tab.evaluate(f"document.querySelector({json.dumps('form ' + selector)}).focus()")
        tab.send("Input.insertText", text=text)
    tab.evaluate("document.querySelector('form [type=checkbox]').click()")
    tab.evaluate("document.querySelector('form [type=submit]').click()")
    tab.wait("document.querySelector('.figuresRow')")


def scroll(tab, given, field, found):
    """The steps in one order."""
    if field:
        head = f"[...document.querySelectorAll('[role=columnheader]')].find((one) => one.textContent.includes({field!r}))"
        tab.evaluate(f"{head}.querySelector('button').click()")
        tab.wait(f"{head}.ariaSort === 'ascending'")
    tab.wait("bench.lastInSight() > 0")
    half = given["steps"] // 2
    times = keys(tab, half, found)
    dived = tab.evaluate(f"bench.dive({given['deep']})")
    times += keys(tab, half, found)
    found["rows"] = max(found["rows"], dived["most"])
    return {"page": times, "next": dived["times"], "last": tab.evaluate("bench.lastInSight()")}


def keys(tab, count, found):
    """Milliseconds of each page of the keyboard."""
    tab.evaluate("bench.focus()")
    times = []
    for _ in range(count):
        tab.wait("bench.hasPage()")
        tab.press(*PAGE_DOWN)
        times.append(tab.evaluate("bench.last"))
    found["rows"] = max(found["rows"], tab.evaluate("bench.rows()"))
    return times


def memory(tab):
    """Megabytes: of JavaScript's heap as the browser says, and of the tab's process as the kernel does.

    `held` is the process after its garbage was collected: what the page goes on to hold.
    """
    tab.send("Performance.enable")
    metrics = {one["name"]: one["value"] for one in tab.send("Performance.getMetrics")["metrics"]}
    found = {"heap": metrics["JSHeapUsedSize"] / (1 << 20), "pss": tab_megabytes(tab)}
    tab.send("HeapProfiler.collectGarbage")
    time.sleep(1)
    return found | {"held": tab_megabytes(tab)}


def tab_megabytes(tab):
    """The memory of the tab's process. Chromium keeps another one ready for the next page, which is smaller."""
    return max(machine.pss_megabytes([pid]) for pid in renderers(tab.process.pid))


def renderers(pid):
    """The descendants of a process that render pages."""
    found = []
    for child in machine.children(pid):
        found += renderers(child)
        with open(f"/proc/{child}/cmdline", "rb") as file:
            if b"--type=renderer" in file.read():
                found.append(child)
    return found


if __name__ == "__main__":
    main()
