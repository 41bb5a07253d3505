"""Performs the faults of a schedule on the processes, the bus, the disk, the clock, the provider and the database of one suite.

A fault that does nothing would make a run pass: each is checked where it can be, and the others are counted.
"""
import collections
import datetime
import errno
import http.client
import os
import signal
import subprocess
import time

import schedule
from client import Client
from measuring import machine
from shoppers import CARD_SHARE, FAULTY_CARD_SHARE

# No bound of the product: the machine may be busy.
RESTART_SECONDS = 90
SCRIPT_SECONDS = 300
BREATH_SECONDS = 0.3
# What a full disk may have left: clients need far more.
FREE_BYTES_MAX = 64 << 20
CLOCK_TOLERANCE_SECONDS = 3
# How long a fault of the provider waits for its first request, and between two looks.
MEETING_SECONDS, LOOK_SECONDS = 30, 0.5
HAPROXY = "/usr/sbin/haproxy"


class Impossible(Exception):
    """A fault that cannot happen on this machine, with the reason."""


class Faults:
    """disk: the mount point of the suite's separate disk, or empty. clock: the file with the clock's step, or empty.

    cluster: PostgreSQL's servers, or None.
    """

    def __init__(self, root, data, disk, clock, shop, cluster=None):
        self.root, self.data, self.disk, self.clock, self.shop, self.cluster = root, data, disk, clock, shop, cluster
        self.notes = []
        self.kills = 0
        self.tried, self.idle = collections.Counter(), collections.Counter()

    def perform(self, fault):
        """Returns when the fault is over. Raises Impossible."""
        if fault.kind in schedule.LASTING:
            return self._last(fault)
        if fault.target in ("gateway=2", "gateway-2") and not os.access(HAPROXY, os.X_OK):
            raise Impossible("several gateways need the Debian package haproxy")
        if fault.kind == schedule.KILL:
            return self.kill(fault.target)
        if fault.kind in (schedule.PAUSE, schedule.HANG):
            return self._stop(fault)
        if fault.kind == schedule.RESTART:
            return self._restart(fault.target)
        return self._scale(fault.target)

    def findings(self):
        """The kinds of faults of which more than a quarter did nothing. A single one may meet a shop that recovers."""
        return [
            f"{count} of {self.tried[what]} {what} did nothing" for what, count in sorted(self.idle.items())
            if count > max(1, self.tried[what] // 4)]

    # --- Processes

    def _pid(self, replica, patience=RESTART_SECONDS):
        self.tried["signals"] += 1
        end = time.monotonic() + patience
        while not (pid := machine.processes(self.data).get(replica)):
            if time.monotonic() >= end:
                self.idle["signals"] += 1
                raise Impossible(f"{replica} does not run")
            time.sleep(0.1)
        return pid

    def kill(self, replica, patience=RESTART_SECONDS):
        _signal(self._pid(replica, patience), signal.SIGKILL)
        self.kills += 1

    def _stop(self, fault):
        pid = self._pid(fault.target)
        _signal(pid, signal.SIGSTOP)
        if fault.kind == schedule.PAUSE:
            time.sleep(fault.amount)
            return _signal(pid, signal.SIGCONT)
        # The suite's watchdog kills it, and the process manager starts it again.
        end = time.monotonic() + RESTART_SECONDS
        while machine.processes(self.data).get(fault.target) in (pid, None):
            if time.monotonic() >= end:
                _signal(pid, signal.SIGCONT)
                raise RuntimeError(f"the watchdog left {fault.target} stopped for {RESTART_SECONDS} s")
            time.sleep(0.1)
        return None

    def _restart(self, service):
        before = self._replicas(service)
        if self._script("restart", service):
            after = self._replicas(service)
            if same := [replica for replica, pid in before.items() if after.get(replica) == pid]:
                raise RuntimeError(f"scripts/restart {service} left {', '.join(sorted(same))} as it was")

    def _scale(self, target):
        service, count = target.split("=")
        if not self._script("scale", target):
            return
        end = time.monotonic() + RESTART_SECONDS
        while len(found := self._replicas(service)) != int(count):
            if time.monotonic() >= end:
                raise RuntimeError(f"after scripts/scale {target} there are {len(found)}")
            time.sleep(0.1)

    def _replicas(self, service):
        return {name: pid for name, pid in machine.processes(self.data).items() if name.rsplit("-", 1)[0] == service}

    def _script(self, name, argument):
        """Returns whether it succeeded."""
        self.tried["scripts"] += 1
        done = subprocess.run(
            [os.path.join(self.root, "scripts", name), argument], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=SCRIPT_SECONDS, check=False)
        if done.returncode:
            # A script may find the shop not healthy yet; it then changes nothing.
            self.idle["scripts"] += 1
            self.notes.append(f"scripts/{name} {argument}: {(done.stdout.strip().splitlines() or ['failed'])[-1]}")
        return not done.returncode

    # --- Faults that last

    def _last(self, fault):
        begin, end = (lambda: self._provide(fault), lambda: self._heal(fault)) if fault.kind in schedule.PROVIDER else {
            schedule.DROP: (lambda: self._bus(f"{fault.target} {fault.amount} 0\n"), lambda: self._bus("")),
            schedule.DELAY: (lambda: self._bus(f"{fault.target} 0 {fault.amount:.0f}\n"), lambda: self._bus("")),
            schedule.FULL: (self._fill, self._empty), schedule.STALL: (self._require_disk, self._thaw),
            schedule.CLOCK: (lambda: self._jump(fault.amount), lambda: self._step(0)),
            schedule.CARDS: (lambda: self._cards(FAULTY_CARD_SHARE), lambda: self._cards(CARD_SHARE)),
            schedule.FAILOVER: (lambda: self.cluster.kill(), lambda: self.cluster.fail_over()),
            schedule.OUTAGE: (lambda: self.cluster.end(), lambda: self.cluster.resume()),
        }[fault.kind]
        try:
            begin()
            self._pass(fault, fault.seconds / 2)
            if fault.meanwhile:
                try:
                    self.kill(fault.meanwhile, patience=0)
                except Impossible as reason:
                    self.notes.append(f"meanwhile {reason}")
            self._pass(fault, fault.seconds / 2)
        finally:
            end()

    def _pass(self, fault, seconds):
        if fault.kind != schedule.STALL:
            return time.sleep(seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                subprocess.run(["fsfreeze", "--freeze", self.disk], check=True, capture_output=True)
                time.sleep(fault.amount)
            finally:
                self._thaw()
            time.sleep(BREATH_SECONDS)
        return None

    def _bus(self, text):
        file = f"{self.data}/bus.faults"
        with open(file + ".new", "w", encoding="ascii") as new:
            new.write(text)
        os.rename(file + ".new", file)

    def _require_disk(self):
        if not self.disk:
            raise Impossible("a separate disk needs root, loop devices and mkfs.ext4")

    def _fill(self):
        """Takes all free space, in ever smaller pieces."""
        self._require_disk()
        size, offset = 1 << 30, 0
        with open(f"{self.disk}/ballast", "wb") as file:
            while size >= 4096:
                try:
                    os.posix_fallocate(file.fileno(), offset, size)
                    offset += size
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2
        space = os.statvfs(self.disk)
        if space.f_bavail * space.f_frsize > FREE_BYTES_MAX:
            raise RuntimeError(f"the full disk has {space.f_bavail * space.f_frsize} bytes left")

    def _empty(self):
        if self.disk and os.path.exists(f"{self.disk}/ballast"):
            os.remove(f"{self.disk}/ballast")

    def _thaw(self):
        if self.disk:
            # It fails when the disk is not frozen.
            subprocess.run(["fsfreeze", "--unfreeze", self.disk], check=False, capture_output=True)

    def _step(self, seconds):
        if not self.clock:
            if seconds:
                raise Impossible("a clock for single processes needs clang")
            return
        with open(self.clock + ".new", "w", encoding="ascii") as new:
            new.write(f"{seconds:.0f}")
        os.rename(self.clock + ".new", self.clock)

    def _jump(self, seconds):
        """Steps the clock, and waits until the gateway's shows it."""
        self._step(seconds)
        client = Client(self.shop.port, self.shop.log, self.shop.master_key)
        end, off = time.monotonic() + RESTART_SECONDS, None
        while off is None or abs(off - seconds) > CLOCK_TOLERANCE_SECONDS:
            if time.monotonic() >= end:
                raise RuntimeError(f"the clock is {off} s off in place of {seconds} s")
            time.sleep(0.1)
            try:
                status, answer = client.send("GET", "/operations/backups")
                if status == 200:
                    off = datetime.datetime.fromisoformat(answer["now"].replace("Z", "+00:00")).timestamp() - time.time()
            except (OSError, http.client.HTTPException, ValueError):
                pass  # Another fault is not over.

    def _cards(self, share):
        self.shop.card_share = share

    # --- The payment provider

    def _provide(self, fault):
        self.tried["faults of the provider"] += 1
        self.shop.provider.change_mode(fault.kind, fault.amount)

    def _heal(self, fault):
        """Ends the fault once it has met a request."""
        end, change_mode = time.monotonic() + MEETING_SECONDS, self.shop.provider.change_mode
        while not (hits := change_mode(fault.kind, fault.amount)) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        hits += change_mode()
        if not hits:
            self.idle["faults of the provider"] += 1
        self.notes.append(f"it met {hits} requests")


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
