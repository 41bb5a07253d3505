"""Kills a process of the suite that stands still, so that the process manager starts it again.

A process that is stopped (state T, by SIGSTOP) holds its database's lock and answers nothing: other replicas cannot take
its place. Only that state counts, which no load and no long work brings about: a process that computes, waits for a disk
or swaps is in another one. Runs as the process manager's child, as the same user (watchdog.conf).
"""
import os
import signal
import socket
import sys
import time

# A process that continues sooner was stopped on purpose.
STOPPED_SECONDS = 1.5
LOOK_SECONDS = 0.5


def state(pid):
    """A process's state and start time; None when it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], fields[19]


def children(pid):
    """The children of a process's first thread."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def nudge(data):
    """The manager looks at its children once a second, or after a connection."""
    try:
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(1)
            control.connect(f"{data}/sockets/ctl.sock")
            control.sendall(b"GET / HTTP/1.0\r\n\r\n")
            control.recv(1)
    except OSError:
        pass


def look(manager, since, now):
    """Notes which processes stand still.

    since: the first look at which each process, by pid and start time, stood still.
    Returns: the pids that stood still for too long.
    """
    stopped = {}
    for child in children(manager):
        # A child process of the balancer does its work.
        for pid in (child, *children(child)):
            if (found := state(pid)) and found[0] == "T":
                stopped[pid, found[1]] = since.get((pid, found[1]), now)
    since.clear()
    since.update(stopped)
    return [pid for (pid, _), first in stopped.items() if now - first >= STOPPED_SECONDS]


def main():
    manager, data = os.getppid(), os.environ["SATCHEL_DATA"]
    since = {}
    while os.getppid() == manager:
        for pid in look(manager, since, time.monotonic()):
            print(f"Process {pid} stood still for {STOPPED_SECONDS} s and is killed.", file=sys.stderr, flush=True)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            time.sleep(0.05)
            nudge(data)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
