"""Debian's Prometheus, which reads /metrics of a suite each second.

Argument: the suite's address, such as 127.0.0.1:1337.
"""
import os
import shutil
import socket
import sys
import tempfile
import time

CONFIGURATION = """
global: {{scrape_interval: 1s}}
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
    # The test kills the server, and then its data goes.
    while os.getppid() == server:
        time.sleep(0.5)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
# Prometheus takes this process, whose end the test decides; the test waits until it answers.
print(f"listening {port}", flush=True)
os.execvp("prometheus", [
    "prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
    f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
])
