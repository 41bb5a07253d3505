"""HTTP to the shop, and the log of acknowledged answers."""
import http.client
import json
import threading
import time

from report import Answer

APPLICATION = "satchel"
# Longer than the shop takes for an answer; a request without one counts as failed.
TIMEOUT_SECONDS = 60
RETRY_SECONDS = 0.2
# Parse's codes after which the same request is sent again: a timeout, a rate limit, a limit of a share.
AGAIN = (124, 100, 155)


class NeverAnswered(Exception):
    """A request was not answered for good before the run gave up."""


class Log:
    """What all clients met. Thread-safe."""

    def __init__(self, path):
        self.start = time.monotonic()
        self.answers, self.told, self.problems = [], [], []
        self.latest = {}
        self.lock = threading.Lock()
        self.file = open(path, "w", encoding="utf-8")

    def now(self):
        return time.monotonic() - self.start

    def answered(self, answer):
        with self.lock:
            self.answers.append(answer)
            if not answer.outcome:
                self.latest[answer.kind] = max(answer.sent, self.latest.get(answer.kind, 0))

    def tell(self, what, **fact):
        """A fact that compare.py reads."""
        with self.lock:
            self.told.append({"what": what} | fact)
            self.file.write(json.dumps({"what": what, "second": round(self.now(), 3)} | fact) + "\n")
            self.file.flush()

    def problem(self, text):
        """An answer that no fault explains."""
        with self.lock:
            self.problems.append(text)

    def has_succeeded_since(self, second, kinds):
        """Whether a request of each kind that was sent after that second has succeeded."""
        with self.lock:
            return all(self.latest.get(kind, -1) > second for kind in kinds)


class Client:
    """One connection; used by one thread."""

    def __init__(self, port, log, master_key=""):
        self.log, self.master_key = log, master_key
        self.session = ""
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)

    def send(self, method, path, body=None, key=""):
        """Sends a request, with an Idempotency-Key if there is one, and returns the answer's status and JSON.

        Raises OSError, HTTPException or ValueError when there is no readable answer.
        """
        headers = {"X-Parse-Application-Id": APPLICATION}
        if self.master_key:
            headers["X-Parse-Master-Key"] = self.master_key
        if self.session:
            headers["X-Parse-Session-Token"] = self.session
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key:
            headers["Idempotency-Key"] = key
        try:
            self.connection.request(method, "/parse" + path, None if body is None else json.dumps(body), headers)
            answer = self.connection.getresponse()
            text = answer.read()
        except BaseException:
            self.connection.close()
            raise
        return answer.status, json.loads(text or b"{}")

    def once(self, kind, method, path, body=None, key=""):
        """Sends a request once. Returns status and JSON; 0 and the error when there is no answer. Notes the outcome."""
        sent = self.log.now()
        try:
            status, answer = self.send(method, path, body, key)
        except (OSError, http.client.HTTPException, ValueError) as error:
            status, answer = 0, {"error": type(error).__name__}
        # A refusal, such as a declined card's, is an answer of a healthy shop.
        outcome = outcome_of(status, answer) if is_repeatable(status, answer) else ""
        self.log.answered(Answer(kind, sent, self.log.now(), outcome))
        return status, answer

    def until_answered(self, kind, method, path, body, gives_up, key=""):
        """Sends a request that may be repeated until the answer is final: success, or a refusal that no fault causes.

        gives_up: called before each repetition. Raises NeverAnswered when it returns true.
        """
        while True:
            status, answer = self.once(kind, method, path, body, key)
            if not is_repeatable(status, answer):
                return status, answer
            if gives_up():
                raise NeverAnswered(f"{method} {path}: {outcome_of(status, answer)}")
            time.sleep(RETRY_SECONDS)


def outcome_of(status, answer):
    """`503 code 2`, or the error's name without an answer."""
    if status == 0:
        return answer["error"]
    return f"{status} code {answer.get('code')}" if isinstance(answer, dict) else str(status)


def is_repeatable(status, answer):
    """Whether the same request is sent again after this answer."""
    return status == 0 or status >= 500 or isinstance(answer, dict) and status >= 400 and answer.get("code") in AGAIN
