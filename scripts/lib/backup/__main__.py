"""The work of scripts/backup and scripts/restore, and of their like in containers (compose/entrypoint).

Needs python3 and nothing else, which Debian's supervisor brings.
"""
import argparse
import contextlib
import os
import re
import signal
import sqlite3
import sys

from accept import accept
from layout import SERVICES, Refused, Shop, warn
from put import check, restore
from take import take


DATABASE = re.compile(r"SATCHEL_(?:[A-Z]+_)?DATABASE")


def arguments():
    parser = argparse.ArgumentParser(prog="backups")
    parser.add_argument("--release", required=True, help="the release that runs, 0.1.0")
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("backup", "restore", "check"):
        command = commands.add_parser(name)
        command.add_argument("folder")
        if name == "check":
            continue
        place = command.add_mutually_exclusive_group(required=True)
        place.add_argument("--data", help="the folder with all of a shop's data")
        place.add_argument("--volumes", help="a folder with a folder for each service")
        if name == "backup":
            command.add_argument("--users-key")
            command.add_argument("--files-key")
            command.add_argument("--cloud-code")
        else:
            command.add_argument("--replace", action="store_true")
            command.add_argument("--numbers-above", type=int)
    command = commands.add_parser("accept-loss")
    command.add_argument("folder", metavar="member", help="a service, users.key or files.key")
    place = command.add_mutually_exclusive_group(required=True)
    place.add_argument("--data")
    place.add_argument("--volumes")
    return parser.parse_args()


def refuse_servers(shop):
    """A copy without what a server keeps would be no copy of the shop.

    What scripts/move wrote down counts before the settings.
    """
    moved = {}
    for service in (*SERVICES, "cloud"):
        with contextlib.suppress(FileNotFoundError), open(shop.place(service), encoding="utf-8") as file:
            moved[service] = file.read().strip()
    back = {f"SATCHEL_{service.upper()}_DATABASE" for service, place in moved.items() if place == "sqlite"}
    if len(moved) == len(SERVICES) + 1:
        back.add("SATCHEL_DATABASE")
    kept = {name for name, value in os.environ.items() if DATABASE.fullmatch(name) and value} - back
    kept |= {f"{service}.database" for service, place in moved.items() if place != "sqlite"}
    kept = sorted(kept)
    if kept:
        raise Refused(
            f"Services keep their data in PostgreSQL ({', '.join(kept)}), which is not copied here. "
            "docs/guides/postgresql.md says what does.")


def run(given):
    if given.command == "check":
        check(os.path.abspath(given.folder), given.release)
        return
    shop = Shop(given.data, given.volumes)
    if given.command == "accept-loss":
        accept(shop, given.folder)
        return
    refuse_servers(shop)
    if given.command == "backup":
        keys = {"users.key": given.users_key, "files.key": given.files_key}
        take(shop, given.folder, given.release, keys, given.cloud_code)
    else:
        restore(shop, given.folder, given.release, given.replace, given.numbers_above)


def main():
    os.umask(0o077)
    # An exception, so that the caller removes unfinished files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = arguments()
    try:
        run(given)
    except KeyboardInterrupt:
        sys.exit(130)
    except Refused as refusal:
        warn(f"{given.command}: {refusal}")
        sys.exit(1)
    except (OSError, sqlite3.Error, ValueError, KeyError) as error:
        warn(f"{given.command}: {given.folder}: {type(error).__name__}: {error}")
        sys.exit(1)


main()
