"""Drives Debian's headless Chromium with Playwright: a user at a screen who notices every fault.

A visit fails on any console error, any report of the Content-Security-Policy, any script error, any dialog opened by a script and any
request to another host. A step whose request must be refused announces that with `refused`. The browser's question before a page is left
is answered with no.
"""
import contextlib
import ctypes
import errno
import functools
import shutil
import socket
import time
from urllib.parse import urlsplit

from playwright.sync_api import Error, sync_playwright

VIEWPORTS = {"desk": {"width": 1360, "height": 900}, "phone": {"width": 360, "height": 780}}

REPORTER = """addEventListener('securitypolicyviolation', (event) =>
  noticed(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));"""

# Seconds without a request after which a view is complete: the answer to one may cause the next.
QUIET = 0.1

# After two frames; a view that is not there yet has grey bones.
SHOWN = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(
  () => resolve(!document.querySelector('#content .bones')))))"""


@functools.cache
def hide_network_changes():
    """Refuses netlink sockets to this thread and the browsers that it starts.

    Other tests add and remove network devices on the same machine. Chromium would notice and cancel all its requests
    (`ERR_NETWORK_CHANGED`), the ones to this machine too.
    """
    allow, refuse, equal = 0x7FFF0000, 0x00050000 | errno.EAFNOSUPPORT, 4

    class Comparison(ctypes.Structure):
        _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("value", ctypes.c_uint64), ("mask", ctypes.c_uint64)]

    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    rules = ctypes.c_void_p(library.seccomp_init(allow))
    call = library.seccomp_syscall_resolve_name(b"socket")
    family = Comparison(0, equal, socket.AF_NETLINK, 0)
    if library.seccomp_rule_add_array(rules, refuse, call, 1, ctypes.byref(family)) or library.seccomp_load(rules):
        raise OSError("Netlink sockets cannot be refused.")
    library.seccomp_release(rules)


class Chromium:
    """A browser's process. Starting it takes longer than some flows."""

    def __init__(self):
        hide_network_changes()
        self._playwright = sync_playwright().start()
        # The headless shell is the same engine without browser windows, which take half of its processor time. Chromium's
        # own sandbox needs rights that root in a container lacks; the pages are trusted.
        self.process = self._playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell"), args=["--no-sandbox", "--disable-dev-shm-usage"])

    def close(self):
        self.process.close()
        self._playwright.stop()


class Visit:
    """A user's screen at one address: in a browser that shares nothing but its process with other visits, or in its own."""

    def __init__(self, base, viewport="desk", scheme="light", language="en-US", chromium=None):
        self.base, self.problems, self.requests = base, [], []
        self._chromium, self._own = chromium, None
        self._unanswered, self._changed = set(), 0
        # Hosts that the page may contact; a flow may add one.
        self.hosts = {urlsplit(base).netloc}
        self._refusals = []
        self._options = {
            "viewport": VIEWPORTS[viewport], "color_scheme": scheme, "locale": language, "has_touch": viewport == "phone",
            "reduced_motion": "reduce",
        }

    def __enter__(self):
        if not self._chromium:
            self._own = self._chromium = Chromium()
        self.context = self._chromium.process.new_context(**self._options)
        self.context.set_default_timeout(60000)
        self.context.expose_binding("noticed", lambda source, text: self.problems.append(text))
        self.context.add_init_script(REPORTER)
        self.page = self.watch(self.context.new_page())
        return self

    def watch(self, page):
        """A page whose faults are noticed."""
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("requestfinished", self._answered)
        page.on("requestfailed", self._answered)
        return page

    @contextlib.contextmanager
    def without_script(self):
        """A page of another browser, whose scripts are turned off."""
        context = self._chromium.process.new_context(**self._options, java_script_enabled=False)
        context.set_default_timeout(60000)
        try:
            yield self.watch(context.new_page())
        finally:
            context.close()

    def __exit__(self, *_):
        self.context.close()
        if self._own:
            self._own.close()

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
        self._unanswered.add(request)
        self._changed = time.monotonic()
        parts = urlsplit(request.url)
        if parts.scheme != "blob" and parts.netloc not in self.hosts:
            self.problems.append(f"another host: {request.url}")

    def _answered(self, request):
        self._unanswered.discard(request)
        self._changed = time.monotonic()

    def settle(self):
        """Waits until the page has every answer, has shown it and asks for nothing more."""
        for _ in range(100):
            self.page.wait_for_timeout(QUIET * 500)
            is_quiet = not self._unanswered and time.monotonic() - self._changed >= QUIET
            with contextlib.suppress(Error):  # Another page has come meanwhile.
                if is_quiet and self.page.evaluate(SHOWN):
                    return
        # A page that was left does not always say that its requests ended.
        self._unanswered.clear()
        self.page.wait_for_load_state("networkidle")

    @contextlib.contextmanager
    def refused(self, path, status):
        """Requests to such a path may be answered with the status, whose message on the console may come later."""
        self._refusals.append((path, f"status of {status}"))
        yield

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
