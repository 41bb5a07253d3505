"""Services in PostgreSQL, beside pgbench with prepared statements of the same shape on the same server."""
import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import subprocess
import tempfile

from measuring import limits, load
from measuring.figures import Target, Workload
from measuring.suite import Failed
from reads import COLD
from writes import BODIES, note

CONNECTIONS = 64
ROWS = 10_000


@contextlib.contextmanager
def server():
    """A server that waits for the disk as one of a shop does; its connection string ends with `host=FOLDER`."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        raise Failed("there is no PostgreSQL: install the package postgresql")
    folder = tempfile.mkdtemp(prefix="satchel-pg.", dir="/tmp")
    # It refuses to be root.
    other = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
    options = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []} if other else {}
    if other:
        os.chown(folder, other.pw_uid, other.pw_gid)

    def run(program, *arguments):
        done = subprocess.run(
            [f"{found[-1]}/{program}", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False, **options)
        if done.returncode:
            raise Failed(f"{program} failed: {done.stdout[-500:]}")

    try:
        run("initdb", "-D", "data", "--locale=C", "--encoding=UTF8", "--username=shop", "--auth=trust", "--no-sync")
        run("pg_ctl", "-D", "data", "-w", "-l", "log", "-o",
            f"-k {folder} -c listen_addresses= -c max_connections=300 -c shared_buffers=256MB", "start")
        try:
            yield folder
        finally:
            run("pg_ctl", "-D", "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Figure:
    """A rate without processes of a suite."""

    def __init__(self, rate, seconds):
        self.rate, self.requests = rate, rate * seconds


class NoSuite:
    """No costs to report."""

    @staticmethod
    def cpu_seconds():
        return {}


def store_alone(turns, folder):
    """The store without bus and gateway, beside libpq alone with as many statements under way."""
    connection = f"postgresql://shop@/postgres?host={folder}"

    def tool(name, *arguments):
        return turns.tool(name, *arguments, "--connection", connection)

    prepared = subprocess.run(
        tool("prepare-postgresql"), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if prepared.returncode:
        raise Failed(f"prepare-postgresql failed: {prepared.stderr[-500:]}")
    seconds = str(turns.seconds)
    # The raw statement is the same one, with rights and the schema's number, or only a row by its key.
    for name, work, title, share, shape in (
            ("read", "read", "an object by its id with its rights, the store alone, 64 readers", 0.5, ["--with-rights"]),
            ("read-bare", "read", "the same, beside a row by its key without rights", None, []),
            ("create", "create", "durable creates, the store alone, 64 under way", 0.4, [])):
        # One thread that waits for all connections, two, or one for each: the quickest is the limit.
        threads = max((1, 2, CONNECTIONS), key=lambda count: limits.figure(
            tool("raw-postgresql", work, "--threads", str(count), "--seconds", seconds, *shape)))
        workload = Workload(
            f"postgresql-store-{name}", title, limit=f"prepared libpq, 64 connections, threads: {threads}",
            target=Target.share(share) if share else None)
        turns.measure(
            workload, NoSuite,
            lambda: Figure(limits.figure(tool("store-postgresql", work, "--seconds", seconds)), turns.seconds),
            lambda: limits.figure(tool("raw-postgresql", work, "--threads", str(threads), "--seconds", seconds, *shape)))
        yield workload


def psql(folder, sql):
    done = subprocess.run(
        ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", folder, "-U", "shop", "-d", "postgres", "-c", sql],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"psql failed: {done.stderr[-500:]}")
    return done.stdout.strip()


def pgbench(folder, script, seconds):
    """Transactions a second of prepared statements on 64 connections."""
    done = subprocess.run(
        [sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1] + "/pgbench", "-n", "-M", "prepared", "-c",
         str(CONNECTIONS), "-j", "2", "-T", str(max(1, round(seconds))), "-f", script, "-h", folder, "-U", "shop",
         "postgres"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = re.search(r"^tps = ([0-9.]+)", done.stdout, re.MULTILINE)
    if done.returncode or not found:
        raise Failed(f"pgbench failed: {done.stderr[-500:]}")
    return float(found[1])


def table_of(folder, class_name):
    number = psql(folder, f"SELECT id FROM satchel_catalog.classes WHERE name = '{class_name}'")
    return f"satchel_catalog.o{number}"


def postgresql(turns):
    """An object by its id and durable creates: the store alone, and with all services in PostgreSQL."""
    with server() as folder:
        yield from store_alone(turns, folder)
        database = {"SATCHEL_DATABASE": f"postgresql://shop@/postgres?host={folder}"}
        with turns.suite(COLD | database, demo=False) as suite:
            yield from measured(turns, suite, folder)
        with turns.suite(database, demo=False) as suite:
            yield from kept(turns, suite, folder)


def reading(turns, suite, folder, table, ids, name, title, share):
    """An object by its id through the gateway, beside a row by its key."""
    read = suite.path("read.sql")
    with open(read, "w", encoding="ascii") as file:
        file.write(f"\\set row random(1, {ROWS})\nSELECT doc, publicread FROM {table} WHERE id = :row;\n")
    gets = suite.path("read.requests")
    load.write_requests(gets, load.gets(f"/parse/classes/BenchNote/{objectid}" for objectid in ids))
    workload = Workload(
        name, f"object by id in PostgreSQL, 64 connections, {title}", limit="pgbench -M prepared, one row by key",
        target=Target.share(share))
    turns.measure(
        workload, suite, lambda: load.wrk(suite.port, gets, turns.seconds),
        lambda: pgbench(folder, read, turns.seconds))
    return workload


def kept(turns, suite, folder):
    """The same objects by a suite whose gateway keeps answers in memory, as it does by default on one host."""
    table = table_of(folder, "BenchNote")
    ids = psql(folder, f"SELECT objectid FROM {table} ORDER BY id LIMIT {ROWS}").split()
    yield reading(turns, suite, folder, table, ids, "postgresql-object-cached", f"cache on, {ROWS:,} objects", 0.5)


def measured(turns, suite, folder):
    ids = []
    for first in range(0, ROWS, 50):
        requests = [{"method": "POST", "path": "/parse/classes/BenchNote", "body": note(first + index)}
                    for index in range(50)]
        ids += [answer["success"]["objectId"] for answer in suite.call("POST", "/batch", {"requests": requests})]
    table = table_of(folder, "BenchNote")
    psql(folder, f"ANALYZE {table}")

    yield reading(turns, suite, folder, table, ids, "postgresql-object", "cache off", 0.35)

    create = suite.path("create.sql")
    document = json.dumps(note(1))
    psql(folder, f"CREATE TABLE raw (LIKE {table} INCLUDING ALL)")
    with open(create, "w", encoding="ascii") as file:
        file.write(
            "\\set number random(1, 9000000000000000)\n"
            "INSERT INTO raw(objectid, createdat, updatedat, publicread, publicwrite, doc, data) "
            f"VALUES (:number::text, 1, 1, true, true, $doc${document}$doc$, $doc${document}$doc$::jsonb);\n")
    posts = suite.path("create.requests")
    load.write_requests(posts, [
        ("POST", "/parse/classes/BenchNote", json.dumps(note(number))) for number in range(BODIES)])
    workload = Workload(
        "postgresql-create", "durable creates of 0.6 KB in PostgreSQL, 64 connections",
        limit="pgbench -M prepared, one INSERT a commit", target=Target.share(0.4))
    turns.measure(
        workload, suite, lambda: load.wrk(suite.port, posts, turns.seconds),
        lambda: pgbench(folder, create, turns.seconds))
    yield workload
