"""The shop's own code (docs/guides/cloud-code.md): the versions that scripts/cloud keeps, or a folder put there by hand.

A backup has it as `cloud.versions/<number>/…`, with the number of the running version in `cloud.version`, or as
`cloud/…`. No backup has the database of `cloud`: every start recreates its contents.
"""
import contextlib
import fcntl
import os

import manifest
from layout import CODE, CODE_CURRENT, CODE_VERSIONS, VERSION, Refused


def take(shop, code, part):
    """Copies the code, where there is any, into a backup, between two deployments.

    code: the path of its folder, or of the link to the version that is run.
    Throws: Refused, OSError.
    """
    code, versions = os.path.abspath(code), os.path.abspath(code) + ".versions"
    with between_deployments(shop):
        number = os.path.basename(os.readlink(code)) if os.path.islink(code) else ""
        if os.path.realpath(code) != os.path.realpath(os.path.join(versions, number)):
            # Put there by hand, also as a link of the operator's own.
            copy_tree(code, os.path.join(part, CODE))
            return
        if not VERSION.fullmatch(number) or not os.path.isdir(code):
            raise Refused(f"{code} leads to no version of the cloud code.")
        for name in os.listdir(versions):
            if VERSION.fullmatch(name):
                copy_tree(os.path.join(versions, name), os.path.join(part, CODE_VERSIONS, name))
        manifest.write(os.path.join(part, CODE_CURRENT), f"{number}\n".encode())


@contextlib.contextmanager
def between_deployments(shop):
    """Waits for a deployment that is under way, and holds up the next. Without its lock there never was one."""
    try:
        descriptor = os.open(shop.path("cloud.lock"), os.O_RDONLY)
    except FileNotFoundError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def copy_tree(source, target):
    """Copies a folder's files, and what its links lead to, as scripts/cloud does. Empty folders are left out."""
    for path, folders, names in os.walk(source, followlinks=True):
        below = os.path.normpath(os.path.join(target, os.path.relpath(path, source)))
        # A link to a folder above it would never end.
        real = os.path.realpath(path)
        folders[:] = [name for name in folders if not is_above(os.path.realpath(os.path.join(path, name)), real)]
        for name in names:
            file = os.path.realpath(os.path.join(path, name))
            if os.path.isfile(file):
                os.makedirs(below, exist_ok=True)
                manifest.copy(file, os.path.join(below, name))


def is_above(folder, path):
    return os.path.commonpath([folder, path]) == folder


def settle(staging):
    """Makes the link to the version that was run, in the folder where a restore puts its files first."""
    note = os.path.join(staging, CODE_CURRENT)
    if not os.path.exists(note):
        return
    with open(note, encoding="ascii") as file:
        number = file.readline(32).strip()
    if not VERSION.fullmatch(number) or not os.path.isdir(os.path.join(staging, CODE_VERSIONS, number)):
        raise Refused("The backup does not have the version of the cloud code that it says is run.")
    os.unlink(note)
    os.symlink(f"{CODE_VERSIONS}/{number}", os.path.join(staging, CODE))
