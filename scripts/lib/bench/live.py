"""Live queries: the memory of a connection, how soon many subscribers hear of one write, and what other writes pay.

The WebSockets are spoken by hand, since Python brings no client. What receiving costs is part of the times, on the
same processors, so that it is little: bytes are taken as they come, and looked at when the clock stands.
"""
import json
import os
import resource
import select
import socket
import statistics
import threading
import time

from measuring import load, machine
from measuring.figures import Target, Workload
from measuring.suite import APPLICATION, Failed
from measuring.turns import say
from writes import BODIES, note

CONNECTIONS = int(os.environ.get("BENCH_LIVE_CONNECTIONS", "10000"))
SUBSCRIBERS = int(os.environ.get("BENCH_LIVE_SUBSCRIBERS", "1000"))
# Writes whose times make one round.
WRITES = 5
# Connections that are opened at the same time.
AT_ONCE = 100
# For an answer, in seconds.
PATIENCE = 30
SETTINGS = {
    "SATCHEL_CONNECTIONS_MAX": "40000", "SATCHEL_CONNECTIONS_PER_ADDRESS": "40000",
    "SATCHEL_LIVE_CONNECTIONS_MAX": "40000",
}
TEXT, PING, PONG = 1, 9, 10


class Client:
    """One WebSocket with one subscription."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()
        self.socket.sendall(
            b"GET /parse HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")

    def upgraded(self):
        while (end := self.buffer.find(b"\r\n\r\n")) < 0:
            self.take()
        head = bytes(self.buffer[:end])
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Failed(f"An upgrade was answered with {head[:100]!r}.")
        del self.buffer[:end + 4]

    def take(self):
        """Takes bytes that came, or waits for some."""
        data = self.socket.recv(1 << 12)
        if not data:
            raise Failed("A connection was closed.")
        self.buffer += data

    def send(self, message):
        self.send_frame(TEXT, json.dumps(message).encode())

    def send_frame(self, kind, payload):
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
        # A mask of zeros leaves the payload as it is.
        self.socket.sendall(bytes([0x80 | kind]) + size + bytes(4) + payload)

    def frame_end(self):
        """Where the first frame begins and ends behind its head; nothing until all of it is there."""
        buffer = self.buffer
        if len(buffer) < 2:
            return None
        start, size = 2, buffer[1] & 127
        if size > 125:
            start = 4 if size == 126 else 10
            if len(buffer) < start:
                return None
            size = int.from_bytes(buffer[2:start], "big")
        return (start, start + size) if len(buffer) >= start + size else None

    def has_text(self):
        """Whether a whole text is there. Pings before it are answered."""
        while found := self.frame_end():
            kind = self.buffer[0] & 15
            if kind == TEXT:
                return True
            start, end = found
            if kind == PING:
                self.send_frame(PONG, bytes(self.buffer[start:end]))
            del self.buffer[:end]
        return False

    def receive(self):
        while not self.has_text():
            self.take()
        start, end = self.frame_end()
        text = bytes(self.buffer[start:end])
        del self.buffer[:end]
        return json.loads(text)

    def expect(self, op):
        message = self.receive()
        if message.get("op") != op:
            raise Failed(f"Not {op} but {message}.")
        return message

    def listen(self):
        """Reads events until the connection ends."""
        try:
            self.socket.settimeout(None)
            while True:
                self.receive()
        except (Failed, OSError):
            pass

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


def clients(port, count, class_name, condition):
    """So many clients, each with its subscription; `condition` is asked with the number of each."""
    found = []
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        opened = [Client(port) for _ in numbers]
        for client in opened:
            client.upgraded()
            client.send({"op": "connect", "applicationId": APPLICATION})
        for number, client in zip(numbers, opened):
            client.expect("connected")
            query = {"className": class_name, "where": condition(number)}
            client.send({"op": "subscribe", "requestId": 1, "query": query})
        for client in opened:
            client.expect("subscribed")
        found += opened
    return found


class Hearing:
    """Clients that hear of the writes to one class, and a connection for those."""

    def __init__(self, suite, class_name, body, condition):
        suite.call("POST", f"/classes/{class_name}", body)
        self.clients = clients(suite.port, SUBSCRIBERS, class_name, condition)
        self.by_descriptor = {client.socket.fileno(): client for client in self.clients}
        self.poll = select.epoll()
        for descriptor in self.by_descriptor:
            self.poll.register(descriptor, select.EPOLLIN)
        self.writer = socket.create_connection(("127.0.0.1", suite.port), PATIENCE)
        self.writer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        text = json.dumps(body)
        self.request = (
            f"POST /parse/classes/{class_name} HTTP/1.1\r\nHost: x\r\nX-Parse-Application-Id: {APPLICATION}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}").encode()

    def last_receiver(self):
        """Seconds from before a write until the last client has its event."""
        waiting = set(self.by_descriptor)
        start = time.monotonic()
        self.writer.sendall(self.request)
        while waiting:
            ready = self.poll.poll(PATIENCE)
            if not ready:
                raise Failed(f"{len(waiting)} clients heard nothing of a write.")
            for descriptor, _ in ready:
                client = self.by_descriptor[descriptor]
                client.take()
                if client.has_text():
                    waiting.discard(descriptor)
        seconds = time.monotonic() - start
        for client in self.clients:
            client.expect("create")
        answer = self.writer.recv(1 << 16)
        if not answer.startswith(b"HTTP/1.1 201 "):
            raise Failed(f"A write was answered with {answer[:200]!r}.")
        return seconds

    def close(self):
        self.poll.close()
        self.writer.close()
        for client in self.clients:
            client.close()


def hear(turns, suite, workload, class_name, condition):
    """Fills a workload with the medians of rounds, in milliseconds."""
    hearing = Hearing(suite, class_name, {"n": 1, "text": "tea"}, condition)
    hearing.last_receiver()
    for number in range(turns.rounds):
        workload.rounds.append(statistics.median(hearing.last_receiver() for _ in range(WRITES)) * 1000)
        say(f"  {workload.name} {number + 1}: {workload.rounds[-1]:.1f} ms")
    hearing.close()


def live(turns):
    """Memory of idle connections, and the times of one query and of many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with turns.suite(SETTINGS, demo=False) as suite:
        same = Workload(
            "live-same", f"a write until the last of {SUBSCRIBERS:,} subscribers of one query has it", unit="ms",
            better="less", target=Target(50))
        hear(turns, suite, same, "LiveSame", lambda _: {"n": {"$gte": 1}})
        yield same
        other = Workload(
            "live-different", f"a write until the last of {SUBSCRIBERS:,} subscribers of different queries has it",
            unit="ms", better="less", target=Target(150))
        hear(turns, suite, other, "LiveOther", lambda number: {"n": {"$gte": -number}})
        yield other
        yield idle(suite)
    yield from unheard(turns)


def unheard(turns):
    """Creates in a class without subscribers, against a suite without live queries."""
    off = SETTINGS | {"SATCHEL_LIVE": "false"}
    with turns.suite(SETTINGS, demo=False) as suite, turns.suite(off, demo=False) as plain:
        workload = Workload(
            "live-unheard", "durable creates of a class that nobody listens to, while one client listens to another, "
            "64 connections", limit="the same without live queries", target=Target.share(0.95))
        paths = {each: each.path("unheard.requests") for each in (suite, plain)}
        for path in paths.values():
            load.write_requests(path, [
                ("POST", "/parse/classes/LiveUnheard", json.dumps(note(number))) for number in range(BODIES)])
        [client] = clients(suite.port, 1, "LiveHeard", lambda _: {})
        listening = threading.Thread(target=client.listen)
        listening.start()
        try:
            turns.finer().measure(
                workload, suite, lambda: load.wrk(suite.port, paths[suite], turns.seconds),
                lambda: load.wrk(plain.port, paths[plain], turns.seconds).rate)
        finally:
            client.close()
            listening.join()
        yield workload


def idle(suite):
    """Kilobytes of the gateway that one connection with one subscription takes."""
    gateway = [pid for name, pid in suite.pids.items() if name.startswith("gateway")]
    before = machine.pss_megabytes(gateway)
    all_clients = clients(suite.port, CONNECTIONS, "LiveIdle", lambda number: {"n": number})
    time.sleep(5)
    after = machine.pss_megabytes(gateway)
    for client in all_clients:
        client.close()
    found = Workload(
        "live-memory", f"memory of the gateway for each of {CONNECTIONS:,} connections", unit="KB", better="less",
        target=Target(20))
    found.rounds.append((after - before) * 1000 / CONNECTIONS)
    return found
