#!/usr/bin/env python3
"""Hosts for tests: network namespaces, and the network between them, whose frames this program forwards.

    hosts.py run SOCKET NAME...     creates the hosts, is their network until its standard input ends, then removes them
    hosts.py tell SOCKET WORD...    sends a command to the running one, and prints its answer

Commands: `hosts` (a line `name namespace address` for each), `cut NAME`, `mend NAME`, `delay NAME MS JITTER`,
`lose NAME PERCENT`, `heal` (restores the initial state). A command for a host applies to each frame that leaves it and each that
reaches it: a delay of 50 ms adds 100 ms to a round trip. A line keeps the order of its frames, even with different delays. Frames of
a host that is cut off are dropped silently: no connection is closed, no address becomes unreachable.

Each host has one interface, a TAP device whose other end is here; so has this machine, through which tests reach the hosts.
This works on kernels without netem too. Several such networks may run at once: names and addresses contain the process's id.
"""
import fcntl
import heapq
import ipaddress
import os
import random
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

NAMESPACE = re.compile(r"^satchel-(\d+)-[a-z]+$")
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
FRAME_BYTES_MAX = 65536
# For network tests (RFC 2544): no real host has such an address.
NETWORKS = list(ipaddress.ip_network("198.18.0.0/15").subnets(new_prefix=24))


class Failed(Exception):
    pass


def run(*command):
    """The output of a command."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


class Line:
    """A host's line to the others, seen from the network's middle."""

    def __init__(self, name, number, namespace, address):
        self.name, self.number, self.namespace, self.address = name, number, namespace, address
        self.tap = None
        self.heal()

    def heal(self):
        self.is_cut, self.delay, self.jitter, self.loss = False, 0.0, 0.0, 0.0

    def drops(self):
        return self.is_cut or (self.loss > 0 and random.random() < self.loss)

    def lateness(self):
        return max(0.0, self.delay + random.uniform(-self.jitter, self.jitter)) if self.delay else 0.0

    @property
    def hardware(self):
        return f"02:5a:00:00:00:{self.number:02x}"


class Network:
    def __init__(self, names):
        remove_stale()
        # One at a time, so that two networks take different addresses.
        with open("/tmp/satchel-hosts.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            used = run("ip", "-4", "-o", "addr", "show")
            free = [network for network in NETWORKS if f" {network[1]}/" not in used]
            addresses = free[os.getpid() % len(free)]
            # Number 1 is this machine.
            self.lines = [Line("", 1, None, str(addresses[1]))]
            for number, name in enumerate(names, start=10):
                self.lines.append(Line(name, number, f"satchel-{os.getpid()}-{name}", str(addresses[number])))
            for line in self.lines:
                self.attach(line)
        self.by_number = {line.number: line for line in self.lines}
        self.by_tap = {line.tap: line for line in self.lines}
        self.queue, self.count, self.latest = [], 0, {}

    def attach(self, line):
        if not os.path.exists("/dev/net/tun"):
            # Containers often lack the file, even if they may use the device.
            os.makedirs("/dev/net", exist_ok=True)
            os.mknod("/dev/net/tun", 0o666 | stat.S_IFCHR, os.makedev(10, 200))
        device = f"sat{os.getpid()}{line.name[:4]}"
        within = []
        if line.namespace:
            run("ip", "netns", "add", line.namespace)
            within = ["ip", "netns", "exec", line.namespace]
        line.tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.ioctl(line.tap, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
        if line.namespace:
            run("ip", "link", "set", device, "netns", line.namespace)
            run(*within, "ip", "link", "set", "lo", "up")
        run(*within, "ip", "link", "set", device, "address", line.hardware)
        run(*within, "ip", "addr", "add", f"{line.address}/24", "dev", device)
        run(*within, "ip", "link", "set", device, "up")
        # Permanent neighbour entries: no ARP request can fail and reveal that a host is cut off.
        for other in self.lines:
            if other is not line:
                run(*within, "ip", "neigh", "replace", other.address, "lladdr", other.hardware, "dev", device,
                    "nud", "permanent")

    def told(self, words):
        """Executes a command and returns its answer."""
        if words == ["hosts"]:
            return "".join(f"{line.name} {line.namespace} {line.address}\n" for line in self.lines if line.name)
        if words == ["heal"]:
            for line in self.lines:
                line.heal()
            return "done\n"
        line = next((line for line in self.lines if line.name and words[1:2] == [line.name]), None)
        match words:
            case ["cut", _] if line:
                line.is_cut = True
            case ["mend", _] if line:
                line.is_cut = False
            case ["delay", _, milliseconds, jitter] if line:
                line.delay, line.jitter = float(milliseconds) / 1000, float(jitter) / 1000
            case ["lose", _, percent] if line:
                line.loss = float(percent) / 100
            case _:
                return f"not understood: {' '.join(words)}\n"
        return "done\n"

    def carry(self, source, now):
        """Takes a frame from a host's line, if there is one."""
        try:
            frame = os.read(source.tap, FRAME_BYTES_MAX)
        except BlockingIOError:
            return False
        target = self.by_number.get(frame[5]) if frame[:5] == b"\x02\x5a\x00\x00\x00" else None
        if target and not source.drops() and not target.drops():
            due = now + source.lateness() + target.lateness()
            way = (source.number, target.number)
            due = self.latest[way] = max(due, self.latest.get(way, 0.0))
            self.count += 1
            heapq.heappush(self.queue, (due, self.count, target, frame))
        return True

    def deliver(self, now):
        """Delivers due frames; returns the seconds until the next frame is due."""
        while self.queue and self.queue[0][0] <= now:
            _, _, target, frame = heapq.heappop(self.queue)
            # A line that was cut meanwhile carries no more frames.
            if target.is_cut:
                continue
            try:
                os.write(target.tap, frame)
            except OSError:
                pass  # A full line drops the frame, like any other.
        return self.queue[0][0] - now if self.queue else None

    def serve(self, path):
        control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        control.bind(path)
        control.listen(16)
        poll = select.poll()
        for descriptor in [0, control.fileno(), *self.by_tap]:
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        while True:
            wait = self.deliver(time.monotonic())
            # Rounded up: a poll that ends too early is only repeated.
            for descriptor, _ in poll.poll(None if wait is None else int(wait * 1000) + 1):
                if descriptor == 0:
                    if not os.read(0, 4096):
                        return
                elif descriptor == control.fileno():
                    with control.accept()[0] as peer:
                        peer.settimeout(5)
                        words = peer.recv(4096).decode().split()
                        peer.sendall(self.told(words).encode())
                else:
                    now = time.monotonic()
                    for _ in range(64):
                        if not self.carry(self.by_tap[descriptor], now):
                            break

    def remove(self):
        for line in self.lines:
            if line.namespace:
                remove_namespace(line.namespace)
            if line.tap is not None:
                os.close(line.tap)


def namespaces():
    return [words[0] for words in map(str.split, run("ip", "netns", "list").splitlines()) if words]


def remove_namespace(name):
    """Kills the processes of a host and removes it."""
    if name not in namespaces():
        return
    for _ in range(100):
        pids = run("ip", "netns", "pids", name).split()
        if not pids:
            break
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    run("ip", "netns", "delete", name)


def remove_stale():
    """Removes the hosts of networks that were killed before they could do it."""
    for name in namespaces():
        owner = NAMESPACE.match(name)
        if not owner:
            continue
        try:
            with open(f"/proc/{owner[1]}/cmdline", "rb") as file:
                if b"hosts.py" in file.read():
                    continue
        except (FileNotFoundError, ProcessLookupError):
            pass
        try:
            remove_namespace(name)
        except Failed:
            pass  # Another network that starts now removed it first.


def tell(path, words):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as control:
        control.connect(path)
        control.sendall(" ".join(words).encode())
        answer = ""
        while part := control.recv(65536).decode():
            answer += part
    print(answer, end="")
    return 1 if answer.startswith("not understood") else 0


def main(arguments):
    match arguments:
        case ["tell", path, *words]:
            return tell(path, words)
        case ["run", path, *names] if names and all(re.fullmatch("[a-z]{1,4}", name) for name in names):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            network = Network.__new__(Network)
            network.lines = []
            try:
                network.__init__(names)
                network.serve(path)
            except (Failed, OSError) as problem:
                print(f"Hosts for tests cannot be made: {problem}. It takes root with CAP_NET_ADMIN and CAP_SYS_ADMIN, "
                      "iproute2 and /dev/net/tun.", flush=True)
                return 1
            finally:
                network.remove()
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
