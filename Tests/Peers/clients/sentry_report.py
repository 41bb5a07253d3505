"""Reports a real exception with the unmodified Sentry SDK, as an app would.

Usage: sentry_report.py <dsn> <release> <what>

<what>: `bag` raises a KeyError in a function of this file, `total` a ZeroDivisionError, `message` sends a text.
Prints one JSON object: the event's id, and whether everything was sent in time.
"""
import json
import sys

import sentry_sdk

dsn, release, what = sys.argv[1:4]
sentry_sdk.init(dsn, release=release, environment="test", send_default_pii=False)
sentry_sdk.set_user({"id": "peer-user", "email": "peer@customers.example", "ip_address": "{{auto}}"})


def add_to_bag(prices, product):
    password = "-".join(("hunter", "2"))  # A local variable, which the SDK sends with the source around it.
    return prices[product], password


def total(lines):
    return sum(lines) / len(lines)


event_id = None
if what == "message":
    event_id = sentry_sdk.capture_message("stock of 17 is low", level="warning")
else:
    try:
        add_to_bag({}, "serum") if what == "bag" else total([])
    except Exception as error:
        event_id = sentry_sdk.capture_exception(error)
sentry_sdk.flush(timeout=20)
print(json.dumps({"event_id": event_id}), flush=True)
