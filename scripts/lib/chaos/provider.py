"""Talks to the payment provider of the run, provider_double.py."""
import json
import urllib.request

TIMEOUT_SECONDS = 30


class Provider:
    def __init__(self, port):
        self.url = f"http://127.0.0.1:{port}/_control/"

    def change_mode(self, kind="", share=0):
        """Ends the mode before; returns how many requests or events it hit."""
        return self._control("mode", {"kind": kind, "share": share})["hits"]

    def ask_bank(self, client_secret, confirms):
        """The customer confirms or refuses a payment at the bank. A second answer changes nothing."""
        intent = client_secret.partition("_secret_")[0]
        self._control("authenticate", {"id": intent, "outcome": "succeed" if confirms else "fail"})

    def books(self):
        return self._control("books")

    def _control(self, what, order=None):
        body = None if order is None else json.dumps(order).encode()
        with urllib.request.urlopen(self.url + what, data=body, timeout=TIMEOUT_SECONDS) as answer:
            return json.load(answer)
