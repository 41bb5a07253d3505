"""The list of a backup's files with their checksums, and how files are copied, made durable and checked against it."""
import hashlib
import json
import os
import stat

from layout import Refused, is_ours

FORMAT = 1
NAME, SEAL = "manifest.json", "manifest.sha256"
# The manifest has about 150 bytes for each file: room for a million.
MANIFEST_BYTES_MAX = 256 << 20
PART_BYTES = 1 << 20


def synchronize(folder):
    """Makes the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def synchronize_all(folder):
    for path, _, _ in os.walk(folder):
        synchronize(path)


def write(path, content):
    """Writes a new file that is on the disk when this returns."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def copy(source, target):
    """Copies a file to a new file and syncs it to the disk.

    Returns: the size and SHA-256 of the bytes read. Throws: OSError.
    """
    digest, size = hashlib.sha256(), 0
    with open_plain(source) as file, open(target, "xb") as copied:
        while part := file.read(PART_BYTES):
            digest.update(part)
            size += len(part)
            copied.write(part)
        copied.flush()
        os.fsync(copied.fileno())
    return size, digest.hexdigest()


def measure(path):
    """A file's size and SHA-256."""
    digest, size = hashlib.sha256(), 0
    with open_plain(path) as file:
        while part := file.read(PART_BYTES):
            digest.update(part)
            size += len(part)
    return size, digest.hexdigest()


def open_plain(path):
    """Opens a regular file for reading. Refuses links and pipes: a pipe without a writer blocks."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a plain file", path)
    return open(descriptor, "rb")


def store(folder, manifest):
    """Writes the manifest and its checksum, the last files of a backup."""
    content = json.dumps(manifest, indent=1, sort_keys=True).encode() + b"\n"
    write(os.path.join(folder, NAME), content)
    write(os.path.join(folder, SEAL), f"{hashlib.sha256(content).hexdigest()}  {NAME}\n".encode())


def load(folder, release):
    """The manifest of a whole backup that this release can restore.

    Throws: Refused.
    """
    if folder.endswith(".part"):
        raise Refused(f"{folder} is no backup: it was interrupted before it was whole.")
    if not os.path.isdir(folder):
        raise Refused(f"{folder} is no folder.")
    try:
        with open_plain(os.path.join(folder, NAME)) as file:
            content = file.read(MANIFEST_BYTES_MAX)
        with open_plain(os.path.join(folder, SEAL)) as file:
            seal = file.read(1000)
    except OSError as error:
        raise Refused(f"{folder} is no backup: {error.filename} cannot be read ({error.strerror}).") from None
    if seal != f"{hashlib.sha256(content).hexdigest()}  {NAME}\n".encode():
        raise Refused(f"{folder} is damaged: {NAME} is not what {SEAL} says. Use another backup.")
    manifest = json.loads(content)
    if manifest["format"] > FORMAT or version(manifest["release"]) > version(release):
        raise Refused(
            f"{folder} is of release {manifest['release']}, this is {release}. "
            "Restore it with that release or a newer one.")
    names = [file["path"] for file in manifest["files"]]
    if strange := next((name for name in names if not is_ours(name)), None):
        raise Refused(f"{folder} is no backup of a shop: it lists {strange!r}.")
    if len(set(names)) != len(names):
        raise Refused(f"{folder} is no backup of a shop: it lists a file twice.")
    return manifest


def version(text):
    return [int(part) for part in text.split(".")]


def require_same(folder, file, size, digest):
    """Throws: Refused when a file is not what the manifest says."""
    if size != file["bytes"]:
        raise Refused(
            f"{folder} is damaged: {file['path']} has {size} bytes instead of {file['bytes']}. Use another backup.")
    if digest != file["sha256"]:
        raise Refused(f"{folder} is damaged: {file['path']} is not what was backed up. Use another backup.")
