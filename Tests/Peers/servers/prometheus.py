"""Debian's Prometheus, which reads /metrics of a suite every two seconds.

Argument: the suite's address, such as 127.0.0.1:1337.
"""
import os
import shutil
import socket
import sys
import tempfile
import time

CONFIGURATION = """
global: {{scrape_interval: 2s, scrape_timeout: 2s}}
scrape_configs:
  - job_name: satchel
    static_configs:
      - targets: ["{target}"]
"""

folder = tempfile.mkdtemp(prefix="satchel-prometheus-")
with open(f"{folder}/prometheus.yml", "w", encoding="utf-8") as file:
    file.write(CONFIGURATION.format(target=sys.argv[1]))
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]

server = os.getpid()
if os.fork() == 0:
    # Prometheus takes the other process, whose end the test decides: then its data goes.
    listens = False
    while os.getppid() == server:
        if not listens:
            with socket.socket() as probe:
                listens = probe.connect_ex(("127.0.0.1", port)) == 0
            if listens:
                print(f"listening {port}", flush=True)
        time.sleep(0.2)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
os.execvp("prometheus", [
    "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
])
