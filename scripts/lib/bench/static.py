"""Files of the dashboard, as browsers get them, against nginx."""
import base64
import http.client
import os
import random
import re
import shutil
import tempfile

from measuring import limits, load
from measuring.figures import Target, Workload
from measuring.suite import Failed

WEB = ("web", "satchel_WebService.resources")
# Bytes of each file as it is sent, more or less.
SIZES = {"10": 10_000, "100": 100_000}
HEADERS = {"Accept-Encoding": "gzip"}


def static(turns):
    """A file of about 10 KB and one of about 100 KB at 64 connections, both sides with the same compressed bytes."""
    with tempfile.TemporaryDirectory(prefix="satchel-bench-bin.", dir="/tmp") as binaries:
        sources = own_web(turns.binaries, binaries)
        with turns.suite(demo=False, binaries=binaries) as suite:
            site = suite.path("site")
            os.makedirs(site)
            assets = re.search(rb'"(/dashboard/assets/\w+/)', body(suite.port, "/dashboard")).group(1).decode()
            paths = {size: f"{assets}dashboard/bench{size}.js" for size in SIZES}
            for size, path in paths.items():
                # Compressed once by each side; the gateway's result is the smaller one.
                shutil.copy(sources[size], os.path.join(site, f"bench{size}.js"))
                with open(os.path.join(site, f"bench{size}.js.gz"), "wb") as file:
                    file.write(body(suite.port, path, HEADERS))
            with limits.nginx(site, "gzip_static on;") as nginx:
                for size, path in paths.items():
                    yield beside_nginx(turns, suite, nginx, size, path)


def beside_nginx(turns, suite, nginx, size, path):
    """The rate of one file."""
    sent = len(same_body(suite.port, path, nginx, f"/bench{size}.js"))
    ours, theirs = suite.path(f"static{size}.requests"), suite.path(f"static{size}.nginx")
    load.write_requests(ours, load.gets([path]))
    load.write_requests(theirs, load.gets([f"/bench{size}.js"]))
    headers = [f"{name}: {value}" for name, value in HEADERS.items()]
    workload = Workload(
        f"static-{size}", f"a file of the dashboard of {sent / 1000:.0f} KB compressed, 64 connections",
        limit="nginx with the same bytes", target=Target.share(0.5))
    turns.measure(
        workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds, headers=headers),
        lambda: load.wrk(nginx, theirs, turns.seconds, headers=headers).rate)
    return workload


def own_web(binaries, folder):
    """Fills a folder with the executables of another one and a `web` whose pages have two files more.

    Returns their paths by size.
    """
    for name in os.listdir(binaries):
        source = os.path.join(binaries, name)
        if name in WEB or not os.path.isfile(source) or not os.access(source, os.X_OK):
            continue
        os.symlink(source, os.path.join(folder, name))
    program, resources = (os.path.join(folder, name) for name in WEB)
    shutil.copy(os.path.join(binaries, WEB[0]), program)
    shutil.copytree(os.path.join(binaries, WEB[1]), resources)
    chance = random.Random(20150401)
    paths = {}
    for size, count in SIZES.items():
        paths[size] = os.path.join(resources, "Site", "dashboard", f"bench{size}.js")
        with open(paths[size], "wb") as file:
            # Base64 carries six bits in eight: compression gets back to the random bytes.
            file.write(b"// " + base64.b64encode(chance.randbytes(count)))
    return paths


def same_body(port, path, other_port, other_path):
    """The bytes that both servers send.

    Raises Failed when they differ.
    """
    ours, theirs = body(port, path, HEADERS), body(other_port, other_path, HEADERS)
    if ours != theirs:
        raise Failed(f"{path} has {len(ours)} bytes, nginx sends {len(theirs)} others")
    return ours


def body(port, path, headers=None):
    """The bytes of a response body as sent: still compressed where the request asked for compression."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        sent = answer.read()
    finally:
        connection.close()
    if answer.status != 200 or answer.headers.get("Content-Encoding", "") != (headers or {}).get("Accept-Encoding", ""):
        raise Failed(f"{path} is answered {answer.status}, encoded as {answer.headers.get('Content-Encoding')}")
    return sent
