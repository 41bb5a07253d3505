"""Drives Debian's headless Chromium with Playwright: a user at a screen who notices every fault.

A visit fails on any console error, any report of the Content-Security-Policy, any script error, any dialog opened by a script and any
request to another host. A step whose request must be refused announces that with `refused`. The browser's question before a page is left
is answered with no.
"""
import contextlib
import shutil
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

VIEWPORTS = {"desk": {"width": 1360, "height": 900}, "phone": {"width": 360, "height": 780}}

REPORTER = """addEventListener('securitypolicyviolation', (event) =>
  noticed(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));"""


class Visit:
    """A separate browser at one address."""

    def __init__(self, base, viewport="desk", scheme="light", language="en-US"):
        self.base, self.problems, self.requests = base, [], []
        # Hosts that the page may contact; a flow may add one.
        self.hosts = {urlsplit(base).netloc}
        self._refusals = []
        self._options = {
            "viewport": VIEWPORTS[viewport], "color_scheme": scheme, "locale": language, "has_touch": viewport == "phone",
            "reduced_motion": "reduce",
        }

    def __enter__(self):
        self._playwright = sync_playwright().start()
        # The headless shell is the same engine without browser windows, which take half of its processor time. Chromium's
        # own sandbox needs rights that root in a container lacks; the pages are trusted.
        self._browser = self._playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell"), args=["--no-sandbox", "--disable-dev-shm-usage"])
        self.context = self._browser.new_context(**self._options)
        self.context.set_default_timeout(60000)
        self.context.expose_binding("noticed", lambda source, text: self.problems.append(text))
        self.context.add_init_script(REPORTER)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", self._request)
        return self

    def __exit__(self, *_):
        self._browser.close()
        self._playwright.stop()

    def _dialog(self, dialog):
        if dialog.type != "beforeunload":
            self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _console(self, message):
        if message.type not in ("error", "warning"):
            return
        place = message.location.get("url", "")
        if not any(text in message.text and path in place for path, text in self._refusals):
            self.problems.append(f"console: {message.text} ({place})")

    def _request(self, request):
        self.requests.append(request)
        parts = urlsplit(request.url)
        if parts.scheme != "blob" and parts.netloc not in self.hosts:
            self.problems.append(f"another host: {request.url}")

    @contextlib.contextmanager
    def refused(self, path, status):
        """Within it, requests to such a path may be answered with the status."""
        self._refusals.append((path, f"status of {status}"))
        yield
        # The console's message comes after the answer.
        self.page.wait_for_load_state("networkidle")

    @contextlib.contextmanager
    def offline(self):
        """Within it, the browser has no connection."""
        self._refusals.append(("", "ERR_INTERNET_DISCONNECTED"))
        self.context.set_offline(True)
        yield
        self.context.set_offline(False)

    def open(self, path):
        self.page.goto(self.base + path)

    def bytes_received(self):
        """The size of all response bodies so far, in bytes on the wire."""
        return sum(request.sizes()["responseBodySize"] for request in self.requests if request.response())
