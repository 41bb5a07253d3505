"""What a new operator waits for: scripts/up in a fresh clone."""
import os
import resource
import shutil
import subprocess
import tempfile
import time

from measuring import machine
from measuring.figures import Target, Workload
from measuring.suite import Failed


def first_build(turns):
    """Wall and processor time of the first `scripts/up` of the last commit. Sources of packages that SwiftPM has fetched
    before come from its cache."""
    folder = tempfile.mkdtemp(prefix="satchel-first.", dir="/tmp")
    clone = os.path.join(folder, "satchel")
    others = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
    environment = others | {"SATCHEL_DATA": os.path.join(folder, "data"), "SATCHEL_PORT": str(machine.free_port())}
    try:
        run(["git", "clone", "--quiet", turns.root, clone], environment)
        start, before = time.monotonic(), children_seconds()
        run([f"{clone}/scripts/up"], environment)
        minutes, processor_minutes = (time.monotonic() - start) / 60, (children_seconds() - before) / 60
        yield workload("first-build", "first scripts/up in a fresh clone", "min", minutes, 5)
        yield workload("first-build-cpu", "CPU of the first scripts/up", "CPU min", processor_minutes, 9)
    finally:
        if os.path.exists(f"{clone}/scripts/down"):
            subprocess.run([f"{clone}/scripts/down"], env=environment, capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def workload(name, title, unit, minutes, most):
    return Workload(name, title, unit=unit, better="less", rounds=[minutes], target=Target(most))


def children_seconds():
    """Processor time of all ended child processes and their ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command, environment):
    done = subprocess.run(
        command, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise Failed(f"{os.path.basename(command[0])} failed: {done.stdout.strip()[-2000:]}")
