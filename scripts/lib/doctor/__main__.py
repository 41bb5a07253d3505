"""The work of scripts/doctor."""
import argparse
import datetime
import json
import os
import pathlib
import re
import sys

LIB = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(LIB), str(LIB / "backup")]

import host
import layout
import rules
import settings as reference
import suite
from finding import FAIL, fail, warn, worst

SETTINGS = LIB.parent.parent / "docs/reference/settings.md"
# Variables whose values are paths of keys, and keys that no backup has.
KEY_PATHS = re.compile(r"SATCHEL_([A-Z_]+_KEY_FILE|BUS_KEYS)")
OTHER_KEYS = ("admin.password", "bus.keys")
DATABASES = re.compile(r"SATCHEL_([A-Z]+_)?DATABASE")


def keys_of(data, environment):
    names = [*(name.rstrip("*") for name in layout.KEYS), *OTHER_KEYS, *(f"{name}.sqlite" for name in layout.SERVICES)]
    named = {value for name, value in environment.items() if KEY_PATHS.fullmatch(name) and value}
    return {os.path.join(data, name) for name in names} | named


def is_in_postgresql(data, environment):
    moved = [pathlib.Path(data, f"{service}.database") for service in layout.SERVICES]
    return any(value for name, value in environment.items() if DATABASES.fullmatch(name)) or any(
        path.exists() and path.read_text(encoding="utf-8").strip() != "sqlite" for path in moved)


def backups(given, environment):
    if is_in_postgresql(given.data, environment):
        return [warn("backup", "Services keep their data in PostgreSQL, whose backups are not visible here.",
                     "docs/guides/postgresql.md#backup")]
    last = suite.last_backup(given.data)
    return suite.backup(last, datetime.datetime.now(datetime.timezone.utc)) + suite.off_site(last, given.data)


def master_headers(given, settings):
    key = settings["SATCHEL_MASTER_KEY"] if settings.is_set("SATCHEL_MASTER_KEY") else (
        pathlib.Path(given.data, "master.key").read_text(encoding="utf-8").strip())
    return {"X-Parse-Application-Id": settings["SATCHEL_APP_ID"], "X-Parse-Master-Key": key}


def running(given, settings):
    if not given.manager:
        return [fail("services", "The suite is not running, so the settings below are this shell's.",
                     "systemctl start satchel, or scripts/up")]
    found = suite.health(given.health, given.missing)
    if given.health:
        headers = master_headers(given, settings)
        found += suite.ask_security(given.url, headers)
        if settings["SATCHEL_PUSH"] == "spool":
            found += suite.ask_devices(given.url, headers)
    found.append(host.user(given.manager))
    if given.gateway.isdigit() and given.gateway != "0":
        limits = pathlib.Path(f"/proc/{given.gateway}/limits").read_text(encoding="ascii")
        found.append(host.open_files(limits, int(settings["SATCHEL_CONNECTIONS_MAX"])))
    return found


def examine(given, environment):
    text = SETTINGS.read_text(encoding="utf-8")
    settings = rules.Settings(environment, reference.defaults(text))
    found = running(given, settings)
    found += [fail("settings", sentence, "docs/reference/settings.md") for sentence in reference.unknown(text, environment)]
    found += rules.check(settings)
    if settings.public_url.scheme == "https":
        found += host.public_url(settings.public_url)
    found += [host.disk(given.data), host.clock(host.clock_state()), host.versions()]
    found += host.permissions(given.data, keys_of(given.data, environment))
    return found + backups(given, environment)


def main():
    parser = argparse.ArgumentParser(prog="scripts/doctor")
    parser.add_argument("--json", action="store_true")
    for name in ("url", "data", "manager", "gateway", "health", "missing"):
        parser.add_argument(f"--{name}", default="")
    given = parser.parse_args()
    found = examine(given, dict(os.environ))
    if given.json:
        print(json.dumps({"state": worst(found), "checks": [vars(finding) for finding in found]}, indent=2))
    else:
        print(*(finding.line() for finding in found), sep="\n")
    return worst(found) == FAIL


sys.exit(main())
