"""localstripe (https://github.com/adrienverge/localstripe), a stand-in for Stripe that is not ours.

Usage: localstripe.py

It keeps its objects in memory only: the file that it would share with every other instance on the host is left alone. It knows
neither idempotency keys nor `payment_method_data`, and what it refuses it calls `invalid_request_error`.
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
