"""Accepts the loss of a database or key that the suite had, so that its service starts again."""
import datetime
import os
import shutil
import sqlite3
import time

from layout import SERVICES, Refused, lock, say

LOCK_SECONDS_MAX = 10
# What the suite knows of its databases and keys (`DatabaseCertificate`, `KeyFile`).
MEMBERS = "members"
LOST_KEYS = {
    "users.key": "All sessions end, anonymous users are new ones and second factors have to be set up again.",
    "files.key": "URLs of private files that were given out end.",
}


def accept(shop, name):
    """Copies the existing files, then removes the records that the service compares itself with.

    Throws: Refused, OSError, sqlite3.Error.
    """
    if name in LOST_KEYS:
        record = os.path.join(shop.home(name), MEMBERS, name)
        if not os.path.exists(record):
            raise Refused(f"The suite has no record of {name}: there is nothing to accept.")
        os.unlink(record)
        say(f"The next start goes on with another {name}. {LOST_KEYS[name]}")
        return
    if name not in SERVICES:
        raise Refused(f"no such database or key: {name} (known: {', '.join((*SERVICES, *LOST_KEYS))})")
    accept_database(shop, name)


def accept_database(shop, service):
    database, born = shop.database(service), shop.path(f"{service}.born")
    record = os.path.join(shop.home(f"{service}.born"), MEMBERS, service)
    files = [file for file in (database, database + "-wal", born, record) if os.path.exists(file)]
    if born not in files and record not in files:
        raise Refused(f"The suite has no record of {service}'s database: there is nothing to accept.")
    locked = take_over(database, service) if database in files else None
    try:
        aside = keep(shop.home(f"{service}.born"), files)
        if locked is not None and os.path.getsize(database) > 0:
            # All that SQLite reads of the log goes into the database.
            connection = sqlite3.connect(database, isolation_level=None, timeout=10)
            try:
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] != 0:
                    raise Refused(f"{database} is in use. Stop {service} first.")
                what = "what SQLite reads of its database"
            finally:
                connection.close()
        else:
            for file in (database + "-wal", database + "-shm"):
                if os.path.exists(file):
                    os.unlink(file)
            what = "an empty database"
        for file in (born, record):
            if os.path.exists(file):
                os.unlink(file)
    finally:
        if locked is not None:
            os.close(locked)
    say(f"{service} goes on with {what} when it starts next. Copies of all its files are in {aside}")
    if service == "analytics":
        say("scripts/verify --rebuild sales then brings its sales back from the orders.")


def take_over(database, service):
    """Takes the service's own lock. A process that refuses the database has it for a moment at each of its starts."""
    end = time.monotonic() + LOCK_SECONDS_MAX
    while True:
        try:
            return lock(database, f"{service} is running with this database. Stop it first.")
        except Refused:
            if time.monotonic() >= end:
                raise
            time.sleep(0.02)


def keep(home, files):
    """Copies files into a folder of their own, and returns when the copies are on the disk."""
    moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    aside = os.path.join(home, f"accepted-{moment}")
    os.mkdir(aside, 0o700)
    for file in files:
        name = os.path.basename(file)
        target = os.path.join(aside, f"{MEMBERS}-{name}" if os.path.basename(os.path.dirname(file)) == MEMBERS else name)
        shutil.copyfile(file, target)
        descriptor = os.open(target, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return aside
