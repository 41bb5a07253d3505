"""Sign-in by password against the password's hash alone."""
import json
import os

from measuring import limits, load
from measuring.figures import Target, Workload

USERS = 8
# Enough clients that a hash is always in progress, few enough that none waits long for a hash of a third of a second.
CONNECTIONS = 4
# There are few sign-ins a second to count.
TIMES_LONGER = 3
PASSWORD = "a-long-secret"
DEFAULT_WORK = 5


def sign_in(turns):
    """Sign-ins of a few users, with the hash's usual work."""
    work = int(turns.settings.get("SATCHEL_PASSWORD_WORK", DEFAULT_WORK))
    # The service's default number of hashing threads. One more is for known devices, such as the load generator after
    # its first sign-in.
    threads = int(turns.settings.get("SATCHEL_PASSWORD_THREADS", max(1, min((os.cpu_count() or 1) // 2, 64)))) + 1
    seconds = turns.seconds * TIMES_LONGER
    with turns.suite(demo=False) as suite:
        names = [f"user{number}@customers.example" for number in range(USERS)]
        for name in names:
            suite.call("POST", "/users", {"username": name, "password": PASSWORD}, master=False)
        requests = suite.path("sign-in.requests")
        load.write_requests(requests, [
            ("POST", "/parse/login", json.dumps({"username": name, "password": PASSWORD})) for name in names])
        hashes = turns.tool(
            "password-hash", "--threads", str(threads), "--work", str(work), "--seconds", str(seconds))
        workload = Workload(
            "sign-in", f"sign-in by password, {CONNECTIONS} connections", limit=f"scrypt alone, {threads} at once",
            target=Target.share(0.9))
        turns.measure(
            workload, suite, lambda: load.wrk(suite.port, requests, seconds, CONNECTIONS),
            lambda: limits.figure(hashes))
        yield workload
