"""What the manifests must agree with: compose.yaml, the scripts, the Containerfile and the documents."""
import pathlib
import re

import yaml

from variables import resolved

ROOT = pathlib.Path(__file__).resolve().parents[3]
SECRET = {"KEY", "KEYS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "TOKEN", "TOKENS", "CREDENTIALS", "DATABASE"}


def text(path):
    return (ROOT / path).read_text()


def found(pattern, path):
    match = re.search(pattern, text(path), re.M)
    if not match:
        raise SystemExit(f"kubernetes: {path} has no {pattern}")
    return match[1]


def is_secret(name):
    """As SettingInForce in Shared/ProcessKit; what is the path of a file is none."""
    return name.split("_")[-1] in SECRET and name != "SATCHEL_BUS_KEYS"


COMPOSE = yaml.safe_load(text("compose/compose.yaml"))["services"]
SERVICES = found(r"^SERVICES=\((.*)\)", "scripts/lib.sh").split()
RELEASE = found(r'^public let satchelRelease = "(.*)"', "Shared/ProcessKit/ProcessStart.swift")
USER = int(found(r"useradd .*--uid (\d+)", "compose/Containerfile"))
STOP_SECONDS = int(found(r"^stopwaitsecs = (\d+)", "compose/program.conf"))
BUS_PORT = int(COMPOSE["gateway"]["environment"]["SATCHEL_BUS_PORT"])
# The entrypoint's own.
UNWRITTEN = {"SATCHEL_REPLICA", "SATCHEL_BUS_PORT"}
DOCUMENTED = set(re.findall(r"`(SATCHEL_[A-Z_0-9]+)`", text("docs/settings.md"))) | UNWRITTEN
SECRETS_DOCUMENTED = {
    name: set(re.findall(r"`([\w.]+)`", keys))
    for name, keys in re.findall(r"^\| `([a-z-]+)` \| ([^|]*) \|", text("docs/kubernetes.md"), re.M)
}
# By name the keys that the page's commands put into it.
SECRETS_MADE = {
    name: set(re.findall(r"--from-(?:file|literal)=([\w.]+)", keys))
    for name, keys in re.findall(
        r"create secret generic ([a-z-]+)((?:\s*\\?\s+--from-\S+)*)", text("docs/kubernetes.md"))
}

# Of each service that has an autoscaler by the page: what a pod asks for in processors, and from how many to how many.
SCALED_DOCUMENTED = {
    service: (float(processors), int(least), int(most))
    for services, processors, least, most in re.findall(
        r"^\| ([a-z, ]+) \| ([\d.]+)[^|]* \| (\d+) to (\d+) \|", text("docs/kubernetes.md"), re.M)
    for service in services.split(", ")
}


def environment(service):
    return {name: resolved(value) for name, value in COMPOSE[service]["environment"].items()}


def reaches_outside(service):
    return "public" in COMPOSE[service]["networks"]
