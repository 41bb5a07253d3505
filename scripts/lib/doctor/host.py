"""The host: disk, clock, permissions, versions and the public URL."""
import contextlib
import ctypes
import json
import os
import platform
import shutil
import socket
import sqlite3
import ssl
import stat
import time
import urllib.error
import urllib.request

from finding import fail, ok, warn

FREE_BYTES_MIN, FREE_SHARE_MIN = 1 << 30, 0.1
# Parts of a certificate's whole time. Caddy and certbot renew it when a third is left.
CERTIFICATE_LEFT_MIN, CERTIFICATE_LEFT_WARNED = 1 / 12, 1 / 4
# The versions of Debian 12.
SQLITE_MIN, ZMQ_MIN = (3, 40, 1), (4, 3, 4)
# Descriptors of a gateway besides its connections.
FILES_BESIDES = 1024
TIME_ERROR = 5


def disk(folder):
    usage = shutil.disk_usage(folder)
    text = f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB are free in {folder}."
    if usage.free < FREE_BYTES_MIN:
        return fail("disk", text, "Free space: with little of it customers create nothing.")
    if usage.free < usage.total * FREE_SHARE_MIN:
        return warn("disk", text, "Free space, or enlarge the disk.")
    return ok("disk", text)


def clock_state():
    """The kernel's state of the clock (adjtimex(2)); below 0 when it is not readable."""
    # A struct timex of zeros changes nothing. It has 208 bytes.
    return ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))


def clock(state):
    if state < 0:
        return warn("clock", "The kernel does not tell whether the clock is synchronised.", "Check the host's clock.")
    if state == TIME_ERROR:
        return warn("clock", "The clock is not synchronised.", "apt-get install systemd-timesyncd; timedatectl set-ntp true")
    return ok("clock", "The clock is synchronised.")


def permissions(data, files):
    """files: further paths that hold keys."""
    owner = os.stat(data)
    found = []
    if stat.S_IMODE(owner.st_mode) & 0o077:
        found.append(fail("permissions", f"Other users can enter {data}.", f"chmod 700 {data}"))
    for path in sorted(files):
        with contextlib.suppress(FileNotFoundError):
            seen = os.stat(path)
            if stat.S_IMODE(seen.st_mode) & 0o077:
                found.append(fail("permissions", f"Other users can read {path}.", f"chmod 600 {path}"))
            if seen.st_uid != owner.st_uid and path.startswith(data + "/"):
                found.append(fail("permissions", f"{path} does not belong to the owner of {data}.",
                                  f"chown --reference={data} {path}"))
    return found or [ok("permissions", "Data and keys are readable by their owner alone.")]


def user(manager):
    if os.stat(f"/proc/{manager}").st_uid == 0:
        return warn("user", "The suite runs as root.", "Start it as a user of its own (docs/guides/go-live.md).")
    return ok("user", "The suite runs as a user of its own.")


def zmq_version():
    numbers = [ctypes.c_int() for _ in range(3)]
    ctypes.CDLL("libzmq.so.5").zmq_version(*map(ctypes.byref, numbers))
    return tuple(number.value for number in numbers)


def versions():
    try:
        zmq = zmq_version()
    except OSError:
        zmq = ()
    found = {"SQLite": (sqlite3.sqlite_version_info, SQLITE_MIN), "libzmq": (zmq, ZMQ_MIN)}
    text = ", ".join(f"{name} {'.'.join(map(str, version)) or 'is missing'}" for name, (version, _) in found.items())
    text = f"{text}, Linux {platform.release()}."
    if any(version < least for version, least in found.values()):
        return warn("versions", text, "Satchel is tested with Debian 12's, SQLite 3.40.1 and libzmq 4.3.4.")
    return ok("versions", text)


def open_files(limits, connections):
    """limits: the text of /proc/PID/limits of a gateway."""
    line = next(line for line in limits.splitlines() if line.startswith("Max open files"))
    soft = line.split()[3]
    text = f"The gateway may open {soft} files, for {connections} connections."
    if soft != "unlimited" and int(soft) < connections + FILES_BESIDES:
        return warn("open files", text, "Raise LimitNOFILE of the unit (or ulimit -n), then restart the suite.")
    return ok("open files", text)


def certificate_days(host, port):
    """Returns: the days until its end, and the days of the certificate's whole time."""
    with contextlib.closing(socket.create_connection((host, port), timeout=10)) as plain:
        with ssl.create_default_context().wrap_socket(plain, server_hostname=host) as secure:
            begin, end = (ssl.cert_time_to_seconds(secure.getpeercert()[name]) for name in ("notBefore", "notAfter"))
            return (end - time.time()) / 86_400, (end - begin) / 86_400


def certificate(left, whole):
    text = f"The public URL's certificate is valid for {left:.1f} more days."
    if left < whole * CERTIFICATE_LEFT_MIN:
        return fail("certificate", text, "Renew it: Caddy's log, or certbot renew.")
    if left < whole * CERTIFICATE_LEFT_WARNED:
        return warn("certificate", text, "It should have been renewed: Caddy's log, or certbot renew --dry-run.")
    return ok("certificate", text)


def leads_here(text):
    """Whether the answer is a gateway's /health."""
    with contextlib.suppress(ValueError):
        body = json.loads(text)
        return isinstance(body, dict) and "services" in body
    return False


def read(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read(1 << 20)
    except urllib.error.HTTPError as refusal:
        return refusal.read(1 << 20)


def public_url(url):
    """url: the parts of SATCHEL_PUBLIC_URL, with https."""
    try:
        yield certificate(*certificate_days(url.hostname, url.port or 443))
        address = f"{url.geturl().rstrip('/')}/health"
        if leads_here(read(address)):
            yield ok("public URL", f"{address} is answered by a gateway.")
        else:
            yield fail("public URL", f"{address} is not answered by a gateway.", "Check proxy and SATCHEL_MOUNT.")
    except ssl.SSLCertVerificationError as error:
        yield fail("certificate", f"Clients refuse the public URL's certificate: {error.verify_message}.",
                   "Check the proxy's certificate and its name.")
    except OSError as error:
        yield fail("public URL", f"{url.netloc} cannot be reached from here: {error}.",
                   "Check DNS, firewall and proxy.")
