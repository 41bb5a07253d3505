"""The highest load of scripted shoppers that a suite serves in time, beside the load generator on the same processors."""
import json
import os
import subprocess
import tempfile

from measuring.figures import Target, Workload
from measuring.suite import Failed

OPTIONS = ["--find-limit", "--rate", "100", "--seconds", "20", "--precision", "0.1"]


def load_limit(turns):
    """What `scripts/load --find-limit` finds with its defaults: 10,000 products, p99 within 250 ms."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    with tempfile.TemporaryDirectory(prefix="satchel-limit.", dir="/tmp") as folder:
        done = subprocess.run(
            [f"{turns.root}/scripts/load", *OPTIONS, "--report", folder], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env=others | {"SATCHEL_BIN": turns.binaries} | turns.settings)
        try:
            with open(f"{folder}/load.json", encoding="utf-8") as file:
                limit = json.load(file)["limit"]
        except OSError:
            limit = None
    if limit is None:
        raise Failed(f"scripts/load found no limit: {done.stdout.strip()[-500:]}")
    yield Workload(
        "load-limit", "highest load with p99 ≤ 250 ms, 10,000 products", rounds=[limit], target=Target(900, "least"))
