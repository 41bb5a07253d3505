"""A tab of Chromium, driven by its debugger over a pipe (https://chromedevtools.github.io/devtools-protocol/).

Playwright has the browser keep a copy of every answer for it, tens of megabytes after some hundred of them: a tab whose
memory is measured is driven without it.
"""
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time

# The numbers that Chromium reads commands from and writes answers to.
COMMANDS, ANSWERS = 3, 4
READY_SECONDS = 60


class TabFailed(Exception):
    """The browser is gone, or a script in it failed."""


class Tab:
    """A tab of a new browser."""

    def __init__(self, width, height):
        self._size = f"{width},{height}"
        self._numbers = itertools.count(1)
        self._session = None
        self._rest = b""

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="satchel-tab-")
        theirs, self._commands = pipe()
        self._answers, answers = pipe()
        flags = [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe",
            f"--window-size={self._size}", f"--user-data-dir={self._folder.name}", "about:blank",
        ]

        def hand_over():
            os.dup2(theirs, COMMANDS)
            os.dup2(answers, ANSWERS)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), *flags], pass_fds=(COMMANDS, ANSWERS), preexec_fn=hand_over,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(answers)
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.send("Page.enable")
        return self

    def __exit__(self, *_):
        self._session = None
        try:
            self.send("Browser.close")
        except (TabFailed, OSError):
            pass
        self.process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def send(self, method, **parameters):
        """The answer to a command. Events that come meanwhile are dropped."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise TabFailed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self):
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 16)
            if not read:
                raise TabFailed("the browser is gone")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        """Goes to an address."""
        self.send("Page.navigate", url=url)

    def evaluate(self, script):
        """The value of a JavaScript expression, waited for if it is a promise."""
        found = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise TabFailed(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def wait(self, script):
        """Waits until an expression is true. One that fails is not true yet: its page may be about to come."""
        end = time.monotonic() + READY_SECONDS
        while True:
            try:
                if self.evaluate(f"!!({script})"):
                    return
            except TabFailed:
                if self.process.poll() is not None:
                    raise
            if time.monotonic() > end:
                raise TabFailed(f"never true: {script}")
            time.sleep(0.05)

    def press(self, key, code):
        """Presses and releases a key."""
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)


def pipe():
    """Both ends of a pipe, with descriptor numbers that Chromium does not use."""
    def moved(number):
        other = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
        os.close(number)
        return other

    read, write = os.pipe()
    return moved(read), moved(write)
