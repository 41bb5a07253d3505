"""What a shop is on the disk: which files belong to it, and where each of them lies."""
import fcntl
import os
import re
import sys

SERVICES = ("catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash")
# Texts of one line, made at the first start; the paths of two of them are settings. Those with a star every shop has.
KEYS = {"master.key": "gateway", "files.key*": "gateway", "users.key*": "users", "crash.key": "crash"}
# Other files that cannot be recreated: the first admin's password, the scale, the finished steps of the set-up, the mark
# of a shop that began with the storefront.
OTHERS = {
    "admin.password": "gateway", "scale": "gateway", "setup": "gateway", "storefront": "gateway", "bag.numbers": "bag",
    "files": "catalog",
}
# The shop's cloud code: a folder, or its versions with the number of the running one. Any files below.
CODE, CODE_VERSIONS, CODE_CURRENT = "cloud", "cloud.versions", "cloud.version"
VERSION = re.compile(r"[1-9][0-9]{0,8}")
# The list of the backups that were made. It is in none of them: an old one knows nothing of those after it.
BACKUP_LOG = "backups.log"
# Set by compose/host/nightly-backup after the copy to another host.
BACKUP_COPIED = "backups.copied"
# What a restore puts in place first: a service that finds its certificate and no database does not start.
BORN = re.compile(r"[a-z]+\.born")

OWNERS = {name.rstrip("*"): owner for name, owner in KEYS.items()} | OTHERS
OWNERS |= {f"{service}.{kind}": service for service in SERVICES for kind in ("sqlite", "born")}
OWNERS |= {name: "cloud" for name in (CODE, CODE_VERSIONS, CODE_CURRENT, "cloud.lock")}


class Refused(Exception):
    """Why nothing is done, for the operator."""


class Shop:
    """The folders of a shop: one for a suite of `scripts/up`, or one per service in containers."""

    def __init__(self, data=None, volumes=None):
        self.data, self.volumes = data, volumes

    def homes(self):
        """The folders that services call their data."""
        if self.data:
            return [self.data]
        return [os.path.join(self.volumes, name) for name in ("gateway", *SERVICES, "cloud")]

    def home(self, name):
        """The folder that a path of a backup belongs to."""
        return self.data or os.path.join(self.volumes, OWNERS[name.split("/")[0]])

    def path(self, name):
        return os.path.join(self.home(name), name)

    def note(self, name):
        """A file that is in no backup, beside the gateway's."""
        return os.path.join(self.data or os.path.join(self.volumes, "gateway"), name)

    def place(self, service):
        """The file in which scripts/move says where a service's data are."""
        home = self.data or os.path.join(self.volumes, service)
        return os.path.join(home, f"{service}.database")

    def database(self, service):
        return self.path(f"{service}.sqlite")


def is_ours(name):
    """True when a backup may hold this path of a manifest: nothing outside the shop's folders."""
    parts = name.split("/")
    if parts[0] not in OWNERS or "\0" in name or any(part in ("", ".", "..") for part in parts):
        return False
    if parts[0] == CODE:
        return len(parts) >= 2
    if parts[0] == CODE_VERSIONS:
        return len(parts) >= 3 and VERSION.fullmatch(parts[1]) is not None
    return len(parts) == {"files": 3, "setup": 2}.get(parts[0], 1)


def lock(path, refusal):
    """Locks a file or folder until the descriptor that is returned is closed, at the latest with this process.

    Throws: Refused with the text when it is locked already.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise Refused(refusal) from None
    return descriptor


def say(text):
    print(text, flush=True)


def warn(text):
    print(text, file=sys.stderr, flush=True)
