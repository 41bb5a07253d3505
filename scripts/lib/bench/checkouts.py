"""Checkouts from the bag to the receipt, paid with the sandbox."""
import json
import subprocess

from measuring.figures import Target, Workload
from measuring.load import CONNECTIONS, Load
from measuring.suite import Failed

PRODUCTS = 20
SETTINGS = {
    # Customers sign up before the clock runs; each buys more than an address that is not verified is written to.
    "SATCHEL_PASSWORD_WORK": "1", "SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0",
    "SATCHEL_MAILS_PER_NETWORK": "0", "SATCHEL_SIGNUP_MAILS_PER_ADDRESS": "1000000",
}


def checkout(turns):
    """Orders a second of 64 customers; each fills the bag and pays in a loop."""
    with turns.suite(SETTINGS, demo=False) as suite:
        buyers = Buyers(turns, suite)
        workload = Workload(
            "checkout", f"bag and checkout, {CONNECTIONS} customers, sandbox", unit="orders/s",
            target=Target(700, "least"))
        loads = turns.measure(workload, suite, buyers.buy)
        yield workload
        for name, title, target in (("p50", "p50", None), ("p99", "p99", Target(120))):
            yield Workload(
                f"checkout-{name}", f"{title} of a checkout", unit="ms", better="less", target=target,
                rounds=[getattr(met, name) for met in loads], steal=workload.steal)


class Buyers:
    """Customers with sessions, and products of which there are enough."""

    def __init__(self, turns, suite):
        self.turns, self.suite = turns, suite
        self.sessions = suite.path("sessions")
        with open(self.sessions, "w", encoding="ascii") as file:
            for number in range(CONNECTIONS):
                address = f"customer{number}@customers.example"
                user = suite.call(
                    "POST", "/users", {"username": address, "email": address, "password": "a-long-secret"},
                    master=False)
                file.write(user["sessionToken"] + "\n")
        self.products = [
            suite.call("POST", "/classes/Product", {
                "name": f"Bench Soap {number}", "detail": "A plain soap.", "unitPrice": 3.5, "priceUnit": "ea",
                "stock": 1_000_000_000, "active": True})["objectId"]
            for number in range(PRODUCTS)
        ]

    def buy(self):
        done = subprocess.run(
            self.turns.tool(
                "checkouts", "--url", self.suite.url, "--sessions", self.sessions, "--products",
                ",".join(self.products), "--seconds", str(self.turns.seconds)),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"satchel-bench checkouts failed: {done.stderr.strip()[-500:]}")
        met = json.loads(done.stdout)
        return Load(met["orders"], met["orders"] / met["seconds"], met["p50"], met["p99"])
