"""localstripe (https://github.com/adrienverge/localstripe), a third-party simulation of Stripe.

Usage: localstripe.py

It stores its objects only in memory and does not touch the file that localstripe instances on a host share. It supports neither
idempotency keys nor `payment_method_data`, and refuses requests with `invalid_request_error`.
"""
import pathlib
import socket
import sys

# This file has the name of the package that it starts.
sys.path = [place for place in sys.path if pathlib.Path(place or ".").resolve() != pathlib.Path(__file__).parent]

from aiohttp import web  # noqa: E402
from localstripe import resources, server  # noqa: E402

resources.Store.dump_to_disk = lambda self: None

listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
listener.bind(("127.0.0.1", 0))


async def ready(_):
    print("listening", listener.getsockname()[1], flush=True)


server.app.on_startup.append(ready)
web.run_app(server.app, sock=listener, print=None)
