"""The running suite: health, the gateway's /security, backups."""
import datetime
import json
import os
import time
import urllib.request

from finding import FAIL, WARN, Finding, fail, ok, warn
from layout import BACKUP_COPIED

BACKUP_HOURS_WARNED, BACKUP_HOURS_MAX = 26, 50
OFF_SITE = "/etc/satchel/off-site"
# A state of /health that ends by itself, or that only limits the service.
MILD = {"degraded"}
# Groups of /security whose findings are no danger as such.
MILD_GROUPS = {"Quotas"}


def health(text, missing):
    """text: the body of /health; missing: the words of missing_anywhere (common.sh)."""
    if not text:
        return [fail("services", "The gateway does not answer.", "scripts/status, scripts/logs gateway")]
    body = json.loads(text)
    found = []
    for name, service in sorted(body["services"].items()):
        if service["status"] != "ok":
            found.append(Finding(
                WARN if service["status"] in MILD else FAIL, "services",
                f"{name} is {service['status']}." + (f" {service['problem']}" if "problem" in service else ""),
                f"scripts/logs {name}"))
    if missing and not found:
        found.append(fail("services", f"Missing: {missing}.", "scripts/status"))
    if "problem" in body:
        found.append(fail("services", body["problem"], ""))
    return found or [ok("services", f"All {len(body['services'])} are healthy.")]


def ask(url, headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)


def security(report):
    found = []
    for group in report["groups"]:
        for check in group["checks"]:
            if check["state"] != "success":
                state = WARN if group["name"] in MILD_GROUPS else FAIL
                found.append(Finding(state, "security", check["warning"], check["solution"]))
    checks = sum(len(group["checks"]) for group in report["groups"])
    return found or [ok("security", f"All {checks} checks of the gateway's /security pass.")]


def ask_security(url, headers):
    try:
        return security(ask(f"{url}/security", headers)["report"])
    except (OSError, ValueError, KeyError) as error:
        return [fail("security", f"The gateway's /security does not answer: {error}.",
                     "SATCHEL_MASTER_KEY_IPS must contain 127.0.0.1; see scripts/logs gateway.")]


def spooled_pushes(devices):
    """With SATCHEL_PUSH=spool; devices: the number of installations."""
    if not devices:
        return []
    return [warn("push", f"SATCHEL_PUSH is spool: {devices} devices registered, and receive no push.", "docs/guides/push.md")]


def ask_devices(url, headers):
    try:
        return spooled_pushes(ask(f"{url}/installations?limit=0&count=1", headers)["count"])
    except (OSError, ValueError, KeyError) as error:
        return [fail("push", f"The gateway does not count the devices: {error}.", "scripts/logs push")]


def last_backup(data):
    """The last line of scripts/backup's log; None without one."""
    last = None
    try:
        with open(os.path.join(data, "backups.log"), encoding="utf-8") as file:
            for line in file:
                try:
                    last = json.loads(line)
                except ValueError:
                    continue
    except FileNotFoundError:
        pass
    return last


def backup(last, now):
    if last is None:
        return [fail("backup", "There is none.", "systemctl enable --now satchel-backup.timer (docs/guides/go-live.md)")]
    moment = datetime.datetime.fromisoformat(last["at"].replace("Z", "+00:00"))
    hours = (now - moment).total_seconds() / 3600
    text = f"The last one is {hours:.0f} hours old: {last['folder']}."
    remedy = "journalctl -u satchel-backup"
    if hours > BACKUP_HOURS_MAX:
        found = [fail("backup", text, remedy)]
    elif hours > BACKUP_HOURS_WARNED:
        found = [warn("backup", text, remedy)]
    else:
        found = [ok("backup", text)]
    if last.get("lostFiles"):
        found.append(warn("backup", f"The contents of {last['lostFiles']} files are missing in the shop.",
                          "Look for them in earlier backups."))
    return found


def copied(hours):
    """hours: since OFF_SITE copied a backup; None for never."""
    remedy = "systemctl start satchel-backup; journalctl -u satchel-backup"
    if hours is None:
        return fail("backup", f"{OFF_SITE} has copied none to another host.", remedy)
    text = f"The last copy to another host is {hours:.0f} hours old."
    if hours > BACKUP_HOURS_WARNED:
        return (fail if hours > BACKUP_HOURS_MAX else warn)("backup", text, remedy)
    return ok("backup", text)


def hours_since_copy(data):
    """Since compose/host/nightly-backup set its mark; None without one."""
    try:
        return (time.time() - os.stat(os.path.join(data, BACKUP_COPIED)).st_mtime) / 3600
    except FileNotFoundError:
        return None


def off_site(last, data):
    """Whether a backup survives the loss of this host's disk, as far as the host shows it."""
    if last is None:
        return []
    if os.access(OFF_SITE, os.X_OK):
        return [copied(hours_since_copy(data))]
    folder = last["folder"]
    if os.path.isdir(folder) and os.stat(folder).st_dev != os.stat(data).st_dev:
        return []
    return [warn("backup", "Nothing copies backups to another host.", f"Write {OFF_SITE} (docs/guides/go-live.md).")]
