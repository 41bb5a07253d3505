"""A file of 100 KB against nginx."""
import os
import random

from measuring import limits, load
from measuring.figures import Target, Workload

BYTES = 100 * 1024


def file(turns):
    """Downloads of one file at 64 connections."""
    content = random.Random(20150401).randbytes(BYTES)
    with turns.suite(demo=False) as suite:
        answer = suite.call("POST", "/files/bench.bin", content, content_type="application/octet-stream")
        path = "/parse/files/" + answer["url"].split("/files/", 1)[1]
        site = suite.path("site")
        os.makedirs(site)
        with open(os.path.join(site, "bench.bin"), "wb") as copy:
            copy.write(content)
        ours, theirs = suite.path("file.requests"), suite.path("file.nginx")
        load.write_requests(ours, load.gets([path]))
        load.write_requests(theirs, load.gets(["/bench.bin"]))
        workload = Workload("file", "a file of 100 KB, 64 connections", limit="nginx", target=Target.share(0.5))
        with limits.nginx(site) as nginx:
            turns.measure(
                workload, suite, lambda: load.wrk(suite.port, ours, turns.seconds),
                lambda: load.wrk(nginx, theirs, turns.seconds).rate)
        yield workload
