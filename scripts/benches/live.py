"""Live queries: the memory of a connection, how soon many subscribers hear of one write, and what other writes pay.

The WebSockets are spoken by hand on asyncio, since Python brings no client; what that costs is part of the times.
"""
import asyncio
import json
import os
import resource
import statistics
import time

import load
import machine
from figures import Target, Workload
from suite import Failed
from turns import say
from writes import BODIES, note

CONNECTIONS = int(os.environ.get("BENCH_LIVE_CONNECTIONS", "10000"))
SUBSCRIBERS = int(os.environ.get("BENCH_LIVE_SUBSCRIBERS", "1000"))
# Writes whose times make one round.
WRITES = 5
# Connections that are opened at the same time.
AT_ONCE = 100
SETTINGS = {
    "SATCHEL_CONNECTIONS_MAX": "40000", "SATCHEL_CONNECTIONS_PER_ADDRESS": "40000",
    "SATCHEL_LIVE_CONNECTIONS_MAX": "40000",
}


class Client:
    """One WebSocket with one subscription."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 18)
        writer.write(
            b"GET /parse HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise Failed(f"An upgrade was answered with {head[:100]!r}.")
        client = cls(reader, writer)
        client.send({"op": "connect", "applicationId": "satchel"})
        await client.expect("connected")
        return client

    def send(self, message):
        payload = json.dumps(message).encode()
        size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
        # A mask of zeros leaves the payload as it is.
        self.writer.write(b"\x81" + size + bytes(4) + payload)

    async def receive(self):
        while True:
            first, second = await self.reader.readexactly(2)
            size = second & 127
            if size > 125:
                size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
            payload = await self.reader.readexactly(size)
            if first & 15 == 1:
                return json.loads(payload)
            if first & 15 == 9:
                self.writer.write(b"\x8a" + bytes([0x80 | size]) + bytes(4) + payload)

    async def expect(self, op):
        message = await self.receive()
        if message.get("op") != op:
            raise Failed(f"Not {op} but {message}.")
        return message

    async def subscribe(self, class_name, condition):
        self.send({"op": "subscribe", "requestId": 1, "query": {"className": class_name, "where": condition}})
        await self.expect("subscribed")


async def clients(port, count, class_name, condition):
    """So many clients, each with its subscription; `condition` is asked with the number of each."""
    found = []
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        opened = await asyncio.gather(*(Client.open(port) for _ in numbers))
        await asyncio.gather(*(
            client.subscribe(class_name, condition(number)) for number, client in zip(numbers, opened)))
        found += opened
    return found


async def last_receiver(suite, all_clients, class_name, note):
    """Seconds from before a write until the last client has its event."""
    heard = [asyncio.ensure_future(client.expect("create")) for client in all_clients]
    await asyncio.sleep(0)
    start = time.monotonic()
    await asyncio.to_thread(suite.call, "POST", f"/classes/{class_name}", note)
    await asyncio.gather(*heard)
    return time.monotonic() - start


async def hearing(turns, suite, workload, class_name, condition, note):
    """Fills a workload with the medians of rounds, in milliseconds."""
    suite.call("POST", f"/classes/{class_name}", note)
    all_clients = await clients(suite.port, SUBSCRIBERS, class_name, condition)
    await last_receiver(suite, all_clients, class_name, note)
    for number in range(turns.rounds):
        times = [await last_receiver(suite, all_clients, class_name, note) for _ in range(WRITES)]
        workload.rounds.append(statistics.median(times) * 1000)
        say(f"  {workload.name} {number + 1}: {workload.rounds[-1]:.1f} ms")
    for client in all_clients:
        client.writer.close()


def live(turns):
    """Memory of idle connections, and the times of one query and of many."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with turns.suite(SETTINGS, demo=False) as suite:
        same = Workload(
            "live-same", f"a write until the last of {SUBSCRIBERS:,} subscribers of one query has it", unit="ms",
            better="less", target=Target(50))
        asyncio.run(hearing(turns, suite, same, "LiveSame", lambda _: {"n": {"$gte": 1}}, {"n": 1, "text": "tea"}))
        yield same
        other = Workload(
            "live-different", f"a write until the last of {SUBSCRIBERS:,} subscribers of different queries has it",
            unit="ms", better="less", target=Target(150))
        asyncio.run(hearing(
            turns, suite, other, "LiveOther", lambda number: {"n": {"$gte": -number}}, {"n": 1, "text": "tea"}))
        yield other
        yield asyncio.run(idle(suite))
    yield from unheard(turns)


def unheard(turns):
    """Creates of a class to which nobody listens, beside those of a suite without live queries."""
    with turns.suite(SETTINGS, demo=False) as suite, turns.suite({"SATCHEL_LIVE": "false"}, demo=False) as plain:
        workload = Workload(
            "live-unheard", "durable creates of a class that nobody listens to, while one client listens to another, "
            "64 connections", limit="the same without live queries", target=Target.share(0.95))
        paths = {each: each.path("unheard.requests") for each in (suite, plain)}
        for path in paths.values():
            load.write_requests(path, [
                ("POST", "/parse/classes/LiveUnheard", json.dumps(note(number))) for number in range(BODIES)])
        asyncio.run(beside(suite, lambda: turns.measure(
            workload, suite, lambda: load.wrk(suite.port, paths[suite], turns.seconds),
            lambda: load.wrk(plain.port, paths[plain], turns.seconds).rate)))
        yield workload


async def beside(suite, work):
    """Does the work while one client listens to a class of its own."""
    [client] = await clients(suite.port, 1, "LiveHeard", lambda _: {})
    answering = asyncio.ensure_future(client.receive())
    await asyncio.to_thread(work)
    answering.cancel()
    client.writer.close()


async def idle(suite):
    """Kilobytes of the gateway that one connection with one subscription takes."""
    gateway = [pid for name, pid in suite.pids.items() if name.startswith("gateway")]
    before = machine.pss_megabytes(gateway)
    all_clients = await clients(suite.port, CONNECTIONS, "LiveIdle", lambda number: {"n": number})
    await asyncio.sleep(5)
    after = machine.pss_megabytes(gateway)
    for client in all_clients:
        client.writer.close()
    found = Workload(
        "live-memory", f"memory of the gateway for each of {CONNECTIONS:,} connections", unit="KB", better="less",
        target=Target(20))
    found.rounds.append((after - before) * 1000 / CONNECTIONS)
    return found
