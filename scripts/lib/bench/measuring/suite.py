"""A suite started for a benchmark, so that no existing data is measured or changed."""
import http.client
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.parse

from . import machine

APPLICATION = "satchel"
# One address makes what no shopper does: it is counted like any other, and never refused.
QUOTAS = "; ".join(
    f"{name}=1000000000000/3600s per ip"
    for name in ("objects", "objectBytes", "events", "eventBytes", "installations", "users", "carts")
) + "; classes=off; fields=off"


class Failed(Exception):
    """A workload that cannot be measured, with the reason."""


class Suite:
    """Processes started by scripts/up, in a temporary folder and on a free port; `with` stops them."""

    def __init__(self, root, binaries, settings=None, demo=True):
        self.root = root
        self.folder = tempfile.mkdtemp(prefix="satchel-bench.", dir="/tmp")
        self.data = os.path.join(self.folder, "data")
        self.port = machine.free_port()
        self.demo = demo
        others = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        self.environment = others | {
            "SATCHEL_DATA": self.data, "SATCHEL_PORT": str(self.port), "SATCHEL_HOST": "127.0.0.1",
            "SATCHEL_BIN": binaries, "SATCHEL_LOG_LEVEL": "warning", "SATCHEL_QUOTAS": QUOTAS,
        } | (settings or {})
        self.pids = {}
        self.master_key = ""

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._script("down", check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/parse"

    # --- Processes

    def up(self):
        """Starts it and returns how many seconds that took, until all was healthy."""
        start = time.monotonic()
        self._script("up", "--no-build", *([] if self.demo else ["--no-demo"]))
        seconds = time.monotonic() - start
        self.pids = machine.processes(self.data)
        with open(os.path.join(self.data, "master.key"), encoding="ascii") as file:
            self.master_key = file.read().strip()
        return seconds

    def down(self):
        self._script("down")

    def script(self, name, *arguments):
        return self._script(name, *arguments)

    def _script(self, name, *arguments, check=True):
        done = subprocess.run(
            [os.path.join(self.root, "scripts", name), *arguments], env=self.environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if check and done.returncode:
            raise Failed(f"scripts/{name} failed: {done.stdout.strip()[-2000:]}")
        return done.stdout

    def cpu_seconds(self):
        return machine.cpu_seconds(self.pids)

    def pss_megabytes(self):
        with open(os.path.join(self.data, "supervisord.pid"), encoding="ascii") as file:
            manager = int(file.read())
        return machine.pss_megabytes([manager, *self.pids.values()])

    # --- Requests

    def call(self, method, path, body=None, master=True, content_type="application/json"):
        """Sends a request, path relative to the mount, and returns the answer's JSON.

        Raises Failed for an answer that is none of success.
        """
        return json.loads(self.call_text(method, path, body, master, content_type))

    def call_text(self, method, path, body=None, master=True, content_type="application/json", session=None):
        """As above, and returns the bytes of the answer's body."""
        headers = {"X-Parse-Application-Id": APPLICATION}
        if session:
            headers["X-Parse-Session-Token"] = session
        if master:
            headers["X-Parse-Master-Key"] = self.master_key
        if body is not None:
            headers["Content-Type"] = content_type
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request(method, "/parse" + path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise Failed(f"{method} {path[:200]} answered {answer.status}: {text[:300].decode(errors='replace')}")
        return text

    def find(self, class_name, condition, **options):
        return self.call("GET", find_path(class_name, condition, **options))["results"]


def find_path(class_name, condition, **options):
    query = {"where": json.dumps(condition, separators=(",", ":"))} | options
    return f"/classes/{class_name}?{urllib.parse.urlencode(query)}"
