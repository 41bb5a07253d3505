"""Makes a backup of a shop, running or not, in a folder that appears when it is whole."""
import datetime
import json
import os
import shutil

import cloud
import databases
import manifest
from layout import BACKUP_LOG, CODE, KEYS, OTHERS, SERVICES, Refused, lock, say, warn


def take(shop, folder, release, key_files, code):
    """Writes the backup to `folder`.part and gives it its name at last.

    key_files: paths of keys that are not in the shop's folders, by the name that they have there.
    code: the path of the cloud code that is not there; empty for the usual one.
    Throws: Refused, OSError, sqlite3.Error; then nothing of that name is there.
    """
    folder = os.path.abspath(folder)
    if os.path.lexists(folder):
        raise Refused(f"{folder} is there already. Each backup is a folder of its own.")
    part = folder + ".part"
    descriptor = begin(part)
    try:
        content = fill(shop, part, release, key_files, code)
        os.rename(part, folder)
        manifest.synchronize(os.path.dirname(folder))
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)
    size = sum(file["bytes"] for file in content["files"])
    note(shop, folder, content, size)
    say(f"Backup {folder}: the shop at {content['moment']}, {len(content['files'])} files, {size / 1e6:.1f} MB")
    say("It holds the shop's keys and its customers' data: keep it as secret as the shop.")


def note(shop, folder, content, size):
    """Adds a line about the backup to the shop's list, which operators see in the dashboard. The backup is whole
    without it.

    `verified`: every database was opened and checked, and the contents of all files were there.
    """
    try:
        line = {
            "at": content["moment"], "finishedAt": content["finishedAt"], "folder": folder,
            "release": content["release"], "bytes": size, "files": len(content["files"]),
            "lostFiles": len(content["lostFiles"]), "verified": not content["lostFiles"],
        }
        path = shop.note(BACKUP_LOG)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o640)
        with open(descriptor, "ab") as file:
            if os.geteuid() == 0:
                # The gateway reads it, which runs as the owner of the shop's folder.
                owner = os.stat(os.path.dirname(path))
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
            file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
    except (OSError, ValueError, KeyError) as error:
        warn(f"The backup is whole, but could not be noted for the dashboard: {error}")


def begin(part):
    """Makes the folder that the backup is written to, locked as long as this process lives.

    What an interrupted backup left there is removed.
    """
    refusal = f"Another backup is being written to {part}."
    os.makedirs(os.path.dirname(part), exist_ok=True)
    if os.path.isdir(part):
        left = lock(part, refusal)
        shutil.rmtree(part)
        os.close(left)
    os.mkdir(part)
    return lock(part, refusal)


def fill(shop, part, release, key_files, code):
    """Returns: the manifest."""
    begun = now()
    need_room(part, sum(os.path.getsize(file) for service in SERVICES for file in parts_of(shop.database(service))))
    moment = copy_databases(shop, part)
    copy_small(shop, part, key_files)
    lost, bucket_files = copy_files(shop, part)
    cloud.take(shop, code or shop.path(CODE), part)
    services = {}
    for service in SERVICES:
        services[service] = databases.inspect(os.path.join(part, f"{service}.sqlite"))
        manifest.write(os.path.join(part, f"{service}.born"), certificate(services[service]))
    files = list(listed(part))
    content = {
        "format": manifest.FORMAT, "release": release, "begunAt": begun, "moment": moment, "finishedAt": now(),
        "services": services, "files": files, "lostFiles": lost,
        "bucketFiles": bucket_files,
        "lastOrderNumber": databases.last_order_number(os.path.join(part, "bag.sqlite")),
    }
    manifest.store(part, content)
    manifest.synchronize_all(part)
    if lost:
        warn(f"The contents of {len(lost)} files are missing in the shop itself, such as {lost[0]}. The rest is there.")
    if bucket_files:
        warn(f"The contents of {bucket_files} files are in the shop's bucket and not in this backup (docs/guides/files.md).")
    return content


def copy_databases(shop, part):
    sources = [databases.Source(service, shop.database(service)) for service in SERVICES]
    moment = databases.hold_one_moment(sources)
    # From here on the shop goes first where both want the processor.
    os.nice(10)
    for source in sources:
        databases.copy(source, os.path.join(part, f"{source.service}.sqlite"))
        # Until then SQLite cannot restart the database's log, which grows.
        source.close()
    return time_text(moment)


def copy_small(shop, part, key_files):
    for name in KEYS:
        path = key_files.get(name.rstrip("*")) or shop.path(name.rstrip("*"))
        if os.path.exists(path):
            manifest.copy(os.path.realpath(path), os.path.join(part, name.rstrip("*")))
        elif name.endswith("*"):
            raise Refused(f"{path} is not there: without that key a copy of the shop is not the shop.")
    for name in OTHERS:
        if name == "setup" and os.path.isdir(shop.path(name)):
            os.mkdir(os.path.join(part, name))
            for step in os.listdir(shop.path(name)):
                manifest.copy(shop.path(f"{name}/{step}"), os.path.join(part, name, step))
        elif os.path.isfile(shop.path(name)):
            manifest.copy(shop.path(name), os.path.join(part, name))


def copy_files(shop, part):
    """Copies the contents that the catalog's copy knows. A name is never used for another content.

    Returns: the names whose contents are missing in the shop, and how many files have theirs in a bucket.
    """
    everything = databases.file_rows(os.path.join(part, "catalog.sqlite"))
    rows = [(name, size) for name, size, in_bucket in everything if not in_bucket]
    need_room(part, sum(size for _, size in rows))
    removed, moved, lost = [], [], []
    for name, size in rows:
        relative = f"files/{name[:2]}/{name}"
        os.makedirs(os.path.join(part, "files", name[:2]), exist_ok=True)
        try:
            copied, _ = manifest.copy(shop.path(relative), os.path.join(part, relative))
            if copied != size:
                lost.append(name)
        except FileNotFoundError:
            {None: removed, True: moved, False: lost}[is_in_bucket(shop, name)].append(name)
    if removed:
        # They were removed after the moment that is copied. Their content cannot be had any more, so they stay removed.
        databases.forget_files(os.path.join(part, "catalog.sqlite"), removed)
    if moved:
        databases.note_in_bucket(os.path.join(part, "catalog.sqlite"), moved)
    return lost, len(everything) - len(rows) + len(moved)


def is_in_bucket(shop, name):
    """Where a file is by now: None when it was removed."""
    catalog = databases.Source("catalog", shop.database("catalog"))
    try:
        rows = catalog.rows("SELECT * FROM files WHERE name = ?", name)
        names = [column[1] for column in catalog.rows("PRAGMA table_info(files)")]
        return bool(dict(zip(names, rows[0])).get("inBucket")) if rows else None
    finally:
        catalog.close()


def certificate(identity):
    """The `.born` file of a copy: `DatabaseCertificate` in Shared/ObjectStore/SQLite/Durability, of one length as there."""
    digits = str(identity["generation"])
    return f'{{"database":"{identity["database"]}","generation":{digits}}}{" " * max(0, 20 - len(digits))}\n'.encode()


def listed(part):
    for path, folders, names in os.walk(part):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(path, name)
            size, digest = manifest.measure(file)
            yield {"path": os.path.relpath(file, part), "bytes": size, "sha256": digest}


def parts_of(database):
    return [file for file in (database, database + "-wal") if os.path.isfile(file)]


def need_room(folder, size):
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < size:
        raise Refused(f"There is no room for {size / 1e6:.0f} MB in {folder}.")


def now():
    return time_text(datetime.datetime.now(datetime.timezone.utc).timestamp())


def time_text(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
