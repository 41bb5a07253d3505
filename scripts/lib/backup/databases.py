"""SQLite for backups: one moment of several databases, complete copies of them, and the contents of a copy.

All connections here are read-only and neither commit nor checkpoint: the one writer of each database continues
meanwhile (Shared/ObjectStore/ClassStore.swift explains why there is only one).
"""
import os
import sqlite3
import time
from urllib.parse import quote

from layout import Refused

# An attempt takes about a millisecond; a second one is needed only when a service commits meanwhile.
AGREEMENT_SECONDS_MAX = 30


class Source:
    """A reading connection to a service's database."""

    def __init__(self, service, path):
        self.service = service
        if not os.path.isfile(path):
            raise Refused(f"{path} is not there: this is not the data of a shop that was started.")
        self.connection = connect(path, "mode=ro")

    def rows(self, sql, *arguments):
        return self.connection.execute(sql, arguments).fetchall()

    def version(self):
        """Changes with each commit of another connection (https://www.sqlite.org/pragma.html#pragma_data_version)."""
        return self.rows("PRAGMA data_version")[0][0]

    def close(self):
        self.connection.close()


def connect(path, options):
    return sqlite3.connect(f"file:{quote(path)}?{options}", uri=True, isolation_level=None, timeout=10)


def hold_one_moment(sources):
    """Gives every source a snapshot, all of the same moment.

    Each snapshot was its database's state when all versions had been read and none was held yet, because the version
    did not change until it was held. When a service commits in between, all are tried again.
    Returns: the moment, in seconds since 1970. Throws: Refused when there was no such moment in 30 seconds.
    """
    end = time.monotonic() + AGREEMENT_SECONDS_MAX
    while time.monotonic() < end:
        before = [source.version() for source in sources]
        moment = time.time()
        after = []
        for source in sources:
            source.connection.execute("BEGIN")
            after.append(source.version())
        if before == after:
            return moment
        for source in sources:
            source.connection.execute("ROLLBACK")
        time.sleep(0.001)
    raise Refused(
        f"For {AGREEMENT_SECONDS_MAX} seconds there was no moment without a commit. Try again when less is written.")


def copy(source, path):
    """Copies a source's snapshot, page by page, into a new file that is on the disk when this returns."""
    target = sqlite3.connect(path, isolation_level=None)
    try:
        # The file counts only when all of the backup is there; it is synchronized once, at its end.
        target.execute("PRAGMA synchronous = OFF")
        target.execute("PRAGMA journal_mode = OFF")
        source.connection.backup(target)
    finally:
        target.close()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forget_files(path, names):
    """Removes the rows of files from a copy of the catalog."""
    change_files(path, "DELETE FROM files WHERE name = ?", names)


def note_in_bucket(path, names):
    """Notes in a copy of the catalog that files have their content in the bucket."""
    change_files(path, "UPDATE files SET inBucket = 1 WHERE name = ?", names)


def change_files(path, sql, names):
    with_rows = sqlite3.connect(path, isolation_level=None)
    try:
        with_rows.execute("BEGIN")
        with_rows.executemany(sql, [(name,) for name in names])
        with_rows.execute("COMMIT")
    finally:
        with_rows.close()


def inspect(path):
    """Reads from a copy: its database id, its number of commits, and the pending rows of its outbox.

    Throws: Refused when it is damaged.
    """
    try:
        # No process writes the copy. Without `immutable` SQLite creates files next to it, which a read-only medium forbids.
        connection = connect(path, "mode=ro&immutable=1")
        try:
            problems = connection.execute("PRAGMA integrity_check(3)").fetchall()
            if problems != [("ok",)]:
                raise Refused(f"{path} is damaged: {'; '.join(row[0] for row in problems)}.")
            identity = connection.execute("SELECT database, generation FROM storeIdentity").fetchone()
            waiting = connection.execute("SELECT kind, count(*) FROM outbox GROUP BY kind").fetchall()
            last = connection.execute("SELECT max(id) FROM outbox").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise Refused(f"{path} is damaged: {error}.") from None
    if identity is None:
        raise Refused(f"{path} has no identity: it is of no service.")
    return {"database": identity[0], "generation": identity[1], "outbox": {"waiting": dict(waiting), "last": last}}


def last_order_number(path):
    """The number of the last order that a copy of the bag's database knows."""
    connection = connect(path, "mode=ro&immutable=1")
    try:
        return connection.execute("SELECT value FROM counters WHERE name = 'orderNo'").fetchone()[0]
    finally:
        connection.close()


def file_rows(path):
    """The files that a copy of the catalog's database knows: name, size and whether a bucket has the content."""
    connection = connect(path, "mode=ro&immutable=1")
    try:
        # A shop that was not started since its release knew no buckets.
        columns = {row[1] for row in connection.execute("PRAGMA table_info(files)")}
        place = "inBucket" if "inBucket" in columns else "0"
        return [(name, size, bool(there)) for name, size, there in
                connection.execute(f"SELECT name, size, {place} FROM files")]
    finally:
        connection.close()
