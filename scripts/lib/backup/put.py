"""Checks a backup and puts it back as a shop's data, all of it or nothing."""
import datetime
import os
import shutil

import cloud
import databases
import manifest
from layout import BACKUP_COPIED, BACKUP_LOG, BORN, CODE, SERVICES, Refused, lock, say

STAGE = "restore.part"
# The scripts' lock, which the one who calls this holds.
LOCK = "scripts.lock"
# The file system's own, at the top of a volume.
FOUND = "lost+found"
# Numbers of orders that may have been made after the backup. They cost nothing.
SKIPPED_NUMBERS = 10_000


def check(folder, release):
    """Reads all of a backup.

    Throws: Refused when it is not whole.
    """
    listed = manifest.load(folder, release)
    for file in listed["files"]:
        manifest.require_same(folder, file, *read(folder, file, manifest.measure))
    inspect(listed, lambda service: os.path.join(folder, f"{service}.sqlite"))
    say(f"{folder} is whole: {summary(listed)}")


def restore(shop, folder, release, replace, numbers_above):
    """Copies a backup to where the services look, after everything in it was checked.

    replace: moves existing data into a folder `replaced-<time>` next to it.
    numbers_above: the highest order number ever shown to a customer, if known.
    Throws: Refused, OSError; unless the last step had begun, everything is unchanged then.
    """
    folder = os.path.abspath(folder)
    listed = manifest.load(folder, release)
    # Takes the services' lock on their databases; a service that starts now waits for it.
    locks = [lock(file, f"{file} is in use. Stop the shop first.") for file in make_way(shop, replace)]
    known = max(old_numbers(shop), numbers_above or 0)
    try:
        first = stage(shop, folder, listed, known)
    except BaseException:
        for home in shop.homes():
            shutil.rmtree(os.path.join(home, STAGE), ignore_errors=True)
        raise
    aside = "replaced-" + datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    for home in shop.homes():
        settle(home, aside)
    for descriptor in locks:
        os.close(descriptor)
    say(f"Restored {summary(listed)}")
    waiting = sum(sum(service["outbox"]["waiting"].values()) for service in listed["services"].values())
    say(f"{waiting} messages between services were on their way; they are delivered when the shop starts.")
    say(f"Orders are numbered from {first} on. What came after {listed['moment']} is not there: docs/guides/backup.md")


def contents(home):
    """The entries of a folder that are the shop's data. Leftovers of earlier restores, what is known of backups and hidden
    files, such as the SSH key for copies of backups, stay.
    """
    names = os.listdir(home) if os.path.isdir(home) else []
    return [
        name for name in names
        if name not in (LOCK, STAGE, BACKUP_LOG, BACKUP_COPIED, FOUND)
        and not name.startswith((".", "replaced-", "accepted-"))]


def make_way(shop, replace):
    """Looks whether the shop's folders may be filled.

    Returns: the databases that are in them. Throws: Refused.
    """
    full = next((home for home in shop.homes() if contents(home)), None)
    if full and not replace:
        raise Refused(f"{full} is not empty. With --replace its content is moved aside, into a folder in it.")
    return [os.path.join(home, name) for home in shop.homes() for name in contents(home) if name.endswith(".sqlite")]


def stage(shop, folder, listed, known):
    """Copies each file of the backup next to its destination and verifies the copy.

    Returns: the number of the next order.
    """
    for home in shop.homes():
        shutil.rmtree(os.path.join(home, STAGE), ignore_errors=True)
        os.makedirs(os.path.join(home, STAGE))
    for file in listed["files"]:
        manifest.require_same(folder, file, *read(folder, file, lambda path: bring(shop, path, file["path"])))
    inspect(listed, lambda service: staged(shop, f"{service}.sqlite"))
    next_number = raise_numbers(staged(shop, "bag.numbers"), listed, known)
    cloud.settle(os.path.dirname(staged(shop, CODE)))
    for home in shop.homes():
        manifest.synchronize_all(os.path.join(home, STAGE))
    return next_number


def staged(shop, name):
    return os.path.join(shop.home(name), STAGE, name)


def bring(shop, source, name):
    target = staged(shop, name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    return manifest.copy(source, target)


def read(folder, file, work):
    try:
        return work(os.path.join(folder, file["path"]))
    except FileNotFoundError:
        raise Refused(f"{folder} is not whole: {file['path']} is missing. Use another backup.") from None


def inspect(listed, path):
    for service in SERVICES:
        if not any(file["path"] == f"{service}.sqlite" for file in listed["files"]):
            raise Refused(f"The backup has no {service}.sqlite.")
        found = databases.inspect(path(service))
        if found != listed["services"][service]:
            raise Refused(f"{service}.sqlite is not the database that the manifest names.")


def old_numbers(shop):
    """The highest order number noted in the data that is replaced; 0 when there is none."""
    try:
        with open(shop.path("bag.numbers"), encoding="ascii") as file:
            return int(file.readline(32))
    except (OSError, ValueError):
        return 0


def raise_numbers(path, listed, known):
    """Order numbers given to customers after the backup are not reused: `OrderNumberMark` keeps the highest.

    known: the highest that is known to have been given out; when that is none, many are left out.
    Returns: the number of the next order.
    """
    last = listed["lastOrderNumber"]
    try:
        with open(path, encoding="ascii") as file:
            last = max(last, int(file.readline(32)))
    except (FileNotFoundError, ValueError):
        # A shop without an order has none, or an empty one.
        pass
    if os.path.exists(path):
        os.unlink(path)
    last = known if known >= last else last + SKIPPED_NUMBERS
    manifest.write(path, f"{last:020}\n".encode())
    return last + 1


def settle(home, aside):
    """Moves the present files aside and the verified copies into place, certificates first (`BORN`)."""
    old = contents(home)
    if old:
        os.mkdir(os.path.join(home, aside))
        for name in sorted(old):
            os.rename(os.path.join(home, name), os.path.join(home, aside, name))
    staging = os.path.join(home, STAGE)
    for name in sorted(os.listdir(staging), key=lambda name: (not BORN.fullmatch(name), name)):
        os.rename(os.path.join(staging, name), os.path.join(home, name))
    manifest.synchronize(home)
    os.rmdir(staging)


def summary(listed):
    size = sum(file["bytes"] for file in listed["files"])
    shop = f"the shop at {listed['moment']} (release {listed['release']})"
    return f"{shop}, {len(listed['files'])} files, {size / 1e6:.1f} MB"
