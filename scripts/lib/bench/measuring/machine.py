"""What the kernel says of processors, processes and memory."""
import os
import random
import socket

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
STEAL = 7  # of the numbers in /proc/stat's first line, as proc(5) has them


class ProcessorTime:
    """The processors' time since it was made."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        with open("/proc/stat", encoding="ascii") as file:
            # guest and guest_nice, the last two, are counted in user and nice already.
            return [int(number) for number in file.readline().split()[1:9]]

    def steal(self):
        """The part that the host gave to others."""
        passed = [now - then for now, then in zip(self._read(), self.start)]
        return passed[STEAL] / sum(passed) if sum(passed) else 0.0


def free_port():
    """A free port on loopback, below the range from which the kernel gives ports to clients."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def processes(data):
    """The pid of every process of the suite whose data is in that folder, by its replica's name."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = dict(part.split(b"=", 1) for part in file.read().split(b"\0") if b"=" in part)
        except OSError:
            continue
        replica = variables.get(b"SATCHEL_REPLICA", b"").decode()
        if replica and variables.get(b"SATCHEL_DATA") == os.fsencode(data):
            # A service's children, such as vips, have its environment.
            found[replica] = min(int(name), found.get(replica, int(name)))
    return found


def children(pid):
    """The processes that a process has started, by whichever of its threads."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found


def cpu_seconds(pids):
    """Processor time, user and system, of each process so far."""
    seconds = {}
    for name, pid in pids.items():
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        seconds[name] = (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND
    return seconds


def pss_megabytes(pids):
    """Memory of the processes, a page that several share counted once in all."""
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    return total / 1024
