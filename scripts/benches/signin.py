"""Sign-in by password against the password's hash alone."""
import json
import os

import limits
import load
from figures import Workload

USERS = 8
# All of one address, of which a service lets 32 wait (PasswordHasher).
CONNECTIONS = 16
PASSWORD = "a-long-secret"
DEFAULT_WORK = 5


def sign_in(turns):
    """Sign-ins of a few users, with the hash's usual work."""
    work = int(turns.settings.get("SATCHEL_PASSWORD_WORK", DEFAULT_WORK))
    # As a service hashes for sign-ins at once unless it is told otherwise.
    threads = int(turns.settings.get("SATCHEL_PASSWORD_THREADS", max(1, min((os.cpu_count() or 1) // 2, 64))))
    with turns.suite(demo=False) as suite:
        names = [f"user{number}@customers.example" for number in range(USERS)]
        for name in names:
            suite.call("POST", "/users", {"username": name, "password": PASSWORD}, master=False)
        requests = suite.path("sign-in.requests")
        load.write_requests(requests, [
            ("POST", "/parse/login", json.dumps({"username": name, "password": PASSWORD})) for name in names])
        hashes = turns.tool(
            "password-hash", "--threads", str(threads), "--work", str(work), "--seconds", str(turns.seconds))
        workload = Workload(
            "sign-in", f"sign-in by password, {CONNECTIONS} connections", limit=f"scrypt alone, {threads} at once")
        turns.measure(
            workload, suite, lambda: load.wrk(suite.port, requests, turns.seconds, CONNECTIONS),
            lambda: limits.figure(hashes))
        yield workload
