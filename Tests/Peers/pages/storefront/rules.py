"""Lighthouse's rules by script, under their names there; a category's score is the share of passed rules."""
import json
from urllib.parse import urljoin, urlsplit

from playwright.sync_api import expect

import browser_checks
from dashboard import report, step
from storefront import shop_flow

# Facts about a loaded page: the largest contentful paint, pictures, head, links and controls.
FACTS = """async () => {
  const largest = await new Promise((resolve) => {
    new PerformanceObserver((list) => resolve(list.getEntries().at(-1))).observe({ type: 'largest-contentful-paint', buffered: true });
    setTimeout(() => resolve(null), 10000);
  });
  const pictures = [...document.images].filter((image) => image.getClientRects().length).map((image) => {
    const box = image.getBoundingClientRect(), style = getComputedStyle(image);
    const ratio = image.naturalWidth / (image.naturalHeight || 1);
    return { source: image.currentSrc || image.src, hasSize: image.hasAttribute('width') && image.hasAttribute('height'),
      isLazy: image.loading === 'lazy', isSeen: box.top < innerHeight && box.left < innerWidth, hasText: image.hasAttribute('alt'),
      isLoaded: image.complete && image.naturalWidth > 0, fits: ['cover', 'contain'].includes(style.objectFit)
        || Math.abs(ratio - box.width / box.height) < 0.05,
      tooLarge: image.naturalWidth > 3 * box.width * devicePixelRatio + 160 };
  });
  const text = (selector, name) => document.querySelector(selector)?.getAttribute(name) ?? '';
  const targets = [...document.querySelectorAll('a, button, input:not([type=hidden]), select')].map((node) => {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    const isText = style.display === 'inline' && node.closest('p, .prose, .views, address');
    return { html: node.outerHTML.slice(0, 90), small: box.width > 0 && box.right > 0 && !isText && (box.width < 24 || box.height < 24) };
  });
  return { largest: largest && { isLazy: largest.element?.loading === 'lazy', time: largest.startTime,
      html: largest.element?.outerHTML.slice(0, 90) },
    first: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9,
    pictures, targets, nodes: document.querySelectorAll('*').length,
    doctype: document.compatMode === 'CSS1Compat' && document.doctype?.name === 'html', charset: document.characterSet,
    charsetFirst: new TextEncoder().encode(document.documentElement.outerHTML.split('charset')[0]).length < 1024,
    language: document.documentElement.lang, title: document.title, description: text('meta[name=description]', 'content'),
    viewport: text('meta[name=viewport]', 'content'), robots: text('meta[name=robots]', 'content'),
    canonical: text('link[rel=canonical]', 'href'), manifest: text('link[rel=manifest]', 'href'),
    icon: text('link[rel=icon]', 'href'), theme: text('meta[name=theme-color]', 'content'),
    alternates: [...document.querySelectorAll('link[hreflang]')].map((link) => [link.hreflang, link.href]),
    headings: [...document.querySelectorAll('h1, h2, h3, h4')].map((heading) => Number(heading.tagName[1])),
    data: [...document.querySelectorAll('script[type="application/ld+json"]')].map((script) => script.textContent),
    blocking: [...document.querySelectorAll('head script[src]:not([type=module]):not([defer]):not([async])')].length,
    sheets: document.querySelectorAll('head link[rel=stylesheet]').length,
    links: [...document.querySelectorAll('a')].map((link) => [link.getAttribute('href') ?? '', (link.textContent.trim()
      || link.getAttribute('aria-label') || link.querySelector('img')?.alt || '')]),
    inline: document.querySelectorAll('[style], [onclick], [onload], script:not([src]):not([type="application/ld+json"])').length,
    pasteable: !document.querySelector('[onpaste]'), labels: [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
      .every((field) => field.labels.length || field.getAttribute('aria-label')) };
}"""


class Sheet:
    """The rules of a category for one page."""

    def __init__(self, place, category):
        self.place, self.category, self.rules = place, category, []

    def rule(self, name, is_kept, found=""):
        self.rules.append((name, bool(is_kept), found))

    def close(self):
        score = round(100 * sum(is_kept for _, is_kept, _ in self.rules) / len(self.rules))
        report.setdefault("scores", {})[f"{self.place} {self.category}"] = score
        broken = [f"{name} {found}" for name, is_kept, found in self.rules if not is_kept]
        step(score >= 95, f"{self.place}: {self.category} {score}: {'; '.join(broken)}")


def ours(responses, *kinds):
    return [response for response in responses if response.request.resource_type in kinds]


def size(response):
    """The compressed size. Files from the browser's cache count too."""
    return int(response.headers.get("content-length") or len(response.body()))


def performance(sheet, facts, responses):
    files = ours(responses, "script", "stylesheet", "fetch")
    code = sum(size(response) for response in ours(responses, "script", "stylesheet"))
    report.setdefault("bytes", {})[sheet.place] = code
    page = ours(responses, "document")[0]
    texts = [page, *ours(responses, "script", "stylesheet")]
    plain = [response.url for response in texts if len(response.body()) > 1400 and not response.headers.get("content-encoding")]
    short = [response.url for response in ours(responses, "script", "stylesheet", "image")
             if "max-age" not in response.headers.get("cache-control", "")]
    pictures = facts["pictures"]
    sheet.rule("first-contentful-paint", facts["first"] < 1800, facts["first"])
    sheet.rule("largest-contentful-paint", facts["largest"] and facts["largest"]["time"] < 2500, facts["largest"])
    sheet.rule("lcp-lazy-loaded", facts["largest"] and not facts["largest"]["isLazy"], facts["largest"])
    sheet.rule("render-blocking-resources", facts["blocking"] == 0 and facts["sheets"] <= 2, facts["sheets"])
    sheet.rule("total-byte-weight", code <= 60 * 1024, code)
    sheet.rule("uses-text-compression", not plain, plain)
    sheet.rule("uses-long-cache-ttl", not short, short)
    sheet.rule("server-response-time", page.request.timing["responseStart"] < 600, page.request.timing)
    sheet.rule("redirects", page.request.redirected_from is None)
    sheet.rule("dom-size", facts["nodes"] < 1500, facts["nodes"])
    sheet.rule("unsized-images", all(picture["hasSize"] for picture in pictures))
    sheet.rule("offscreen-images", all(picture["isLazy"] or picture["isSeen"] for picture in pictures[4:]))
    large = [picture["source"] for picture in pictures if picture["tooLarge"]]
    sheet.rule("uses-responsive-images", not large, large)
    sheet.rule("network-requests", len(files) <= 40, len(files))


def accessibility(sheet, facts, page):
    found = browser_checks.problems_of_schemes(page, sheet.place)
    sheet.rule("axe", not found, found)
    sheet.rule("image-alt", all(picture["hasText"] for picture in facts["pictures"]))
    sheet.rule("html-has-lang", facts["language"])
    sheet.rule("label", facts["labels"])
    sheet.rule("heading-order", all(after - before <= 1 for before, after in zip([0, *facts["headings"]], facts["headings"])))
    sheet.rule("link-name", all(text for _, text in facts["links"]))
    sheet.rule("meta-viewport", "user-scalable" not in facts["viewport"] and "maximum-scale" not in facts["viewport"])


def best_practices(sheet, facts, visit, responses):
    policy = ours(responses, "document")[0].headers.get("content-security-policy", "")
    sheet.rule("errors-in-console", not visit.problems, visit.problems)
    sheet.rule("doctype", facts["doctype"])
    sheet.rule("charset", facts["charset"] == "UTF-8" and facts["charsetFirst"])
    sheet.rule("image-aspect-ratio", all(picture["fits"] for picture in facts["pictures"]))
    sheet.rule("image-loads", all(picture["isLoaded"] or picture["isLazy"] for picture in facts["pictures"]))
    sheet.rule("csp-xss", "default-src 'none'" in policy and "unsafe" not in policy, policy)
    sheet.rule("no-inline-code", facts["inline"] == 0, facts["inline"])
    sheet.rule("paste-preventing-inputs", facts["pasteable"])
    sheet.rule("own-host", all(urlsplit(response.url).netloc == urlsplit(visit.base).netloc for response in responses))
    failed = [response.url for response in responses if response.status >= 400]
    sheet.rule("answers", not failed, failed)
    sheet.rule("deprecations", not visit.issues, visit.issues)


def search_engines(sheet, facts, visit, path):
    def get(address):
        return visit.context.request.get(address, headers={"Accept": "text/html"})
    canonical = facts["canonical"]
    things = [thing(text) for text in facts["data"]]
    sheet.rule("document-title", 3 <= len(facts["title"]) <= 120, facts["title"])
    sheet.rule("meta-description", 10 <= len(facts["description"]) <= 320, facts["description"])
    sheet.rule("canonical", urlsplit(canonical).path == urlsplit(path).path and get(canonical).status == 200, canonical)
    sheet.rule("is-crawlable", "noindex" not in facts["robots"], facts["robots"])
    sheet.rule("http-status-code", get(visit.base + path).status == 200)
    odd = [href for href, _ in facts["links"] if not href or href.startswith("javascript:")]
    sheet.rule("crawlable-anchors", not odd, odd)
    robots = get(visit.base + "/robots.txt").text()
    banned = [line.split(": ")[1] for line in robots.splitlines() if line.startswith("Disallow: ")]
    sheet.rule("robots-txt", "Sitemap: " in robots and not any(path.startswith(start) for start in banned), banned)
    sheet.rule("hreflang", facts["language"] and all(name and urljoin(visit.base, href) == href for name, href in facts["alternates"]))
    small = [target["html"] for target in facts["targets"] if target["small"]]
    sheet.rule("target-size", not small, small)
    sheet.rule("viewport", "width=device-width" in facts["viewport"])
    sheet.rule("structured-data", all(thing and "@context" in thing and "@type" in thing for thing in things), facts["data"])
    sheet.rule("link-text", all(text.lower() not in ("click here", "here", "more", "hier", "mehr") for _, text in facts["links"]))
    sheet.rule("installable", facts["manifest"] and facts["icon"] and facts["theme"])


def is_painted(page):
    """Whether the browser reports a first contentful paint, which takes some time."""
    for _ in range(200):
        if page.evaluate("performance.getEntriesByName('first-contentful-paint').length"):
            return True
        page.wait_for_timeout(50)
    return False


def thing(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def opened(visit, path):
    """The facts and responses of a page. A busy machine may be slow: a load within the limits counts, of at most ten."""
    page = visit.page
    for _ in range(10):
        responses = []
        page.on("response", remember := lambda response, kept=responses: kept.append(response))
        visit.open(path)
        expect(page.locator("h1")).to_have_count(1)
        visit.settle()
        page.remove_listener("response", remember)
        facts = page.evaluate(FACTS)
        is_prompt = ours(responses, "document")[0].request.timing["responseStart"] < 600
        if is_prompt and facts["first"] < 1800 and facts["largest"] and facts["largest"]["time"] < 2500:
            break
    return facts, responses


@shop_flow
def shop_rules(visit, given):
    """Home, a brand and a product, as a new visitor sees them."""
    page = visit.page
    visit.issues = []
    session = visit.context.new_cdp_session(page)
    session.on("Audits.issueAdded", lambda event: visit.issues.append(event["issue"]))
    session.send("Audits.enable")
    for place, path in given["pages"].items():
        facts, responses = opened(visit, path)
        own = [response for response in responses if response.request.frame == page.main_frame]
        sheets = [Sheet(place, name) for name in ("performance", "accessibility", "best practices", "SEO")]
        performance(sheets[0], facts, own)
        accessibility(sheets[1], facts, page)
        best_practices(sheets[2], facts, visit, own)
        search_engines(sheets[3], facts, visit, path)
        for sheet in sheets:
            sheet.close()
    with visit.without_script() as plain:
        for place, path in given["pages"].items():
            plain.goto(visit.base + path)
            step(is_painted(plain) and plain.locator("main").inner_text().strip(), f"{place} shows nothing without scripts.")
