"""Runs what compose.yaml says in the image's file system, as a container engine would: for each service a mount
namespace with a root that cannot be written, its volumes, no capabilities, and its settings alone. All share one
network without a way out, in which every service has the name of this host."""
import os
import secrets
import signal
import subprocess
import threading
import time

from variables import resolved

# How long a service may take to be well, and to stop (stop_grace_period).
HEALTHY_SECONDS, STOP_SECONDS = 60, 10
ENTER = """set -e
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp" && mount -t proc proc "$1/proc"
hostname "$2"
shift 2 && exec "$@"
"""


class Engine:
    """The services of a compose.yaml in one image."""

    def __init__(self, image, compose, folder):
        self.image, self.compose, self.folder = image, compose, folder
        self.running, self.keepers, self.stopping = {}, [], False
        (folder / "logs").mkdir()
        (folder / "pids").mkdir()
        with open(image.folder / "etc/hosts", "a", encoding="ascii") as hosts:
            hosts.write(f"127.0.0.1 localhost {' '.join(compose)}\n")

    def volume(self, name):
        """The folder of a volume; a new one is the user's alone, as the image's folders for them are."""
        path = self.folder / "volumes" / name
        if not path.exists():
            path.mkdir(parents=True)
            for entry in (self.image.folder / "etc/passwd").read_text().splitlines():
                if entry.split(":")[0] == self.image.user:
                    os.chown(path, *map(int, entry.split(":")[2:4]))
            path.chmod(0o700)
        return path

    def command(self, service, words, more=()):
        """What runs `words` in a container of a service. more: further volumes, NAME:PATH."""
        root, declared = self.image.folder, self.compose[service]
        if not declared["read_only"] or declared["cap_drop"] != ["ALL"] or declared["tmpfs"] != ["/tmp"]:
            raise SystemExit(f"try: {service} is another container than those that are made here")
        mounts = ""
        for volume in [*declared.get("volumes", []), *more]:
            name, path, *options = volume.split(":")
            target = root / path.lstrip("/")
            target.mkdir(parents=True, exist_ok=True)
            mounts += f"mount --bind '{self.volume(name)}' '{target}'\n"
            mounts += f"mount -o remount,bind,ro '{target}'\n" if "ro" in options else ""
        variables = dict(self.image.variables)
        variables |= {name: resolved(value) for name, value in declared.get("environment", {}).items()}
        user = self.image.user
        return [
            "unshare", "--mount", "--propagation", "private", "--uts", "/bin/sh", "-c",
            ENTER.replace("hostname", mounts + "hostname", 1), "sh", str(root), secrets.token_hex(6),
            "chroot", str(root), "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups",
            "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs",
            "env", "-i", f"--chdir={self.image.directory}", *(f"{name}={value}" for name, value in variables.items()),
            *words,
        ]

    def run(self, service, words, more=(), **options):
        return subprocess.run(self.command(service, words, more), stdin=subprocess.DEVNULL, **options)

    def once(self, service, words, more=()):
        """Runs a service that ends by itself. Returns: what it says. Throws: SystemExit when it fails."""
        words = [*self.image.entrypoint, *words]
        done = self.run(service, words, more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"try: {service} {' '.join(words)} failed with {done.returncode}:\n{done.stdout[-3000:]}")
        return done.stdout

    def start(self, service):
        """Keeps a service running until `stop`, as restart: unless-stopped does."""
        command = self.command(service, [*self.image.entrypoint, *self.compose[service]["command"]])
        self.keepers.append(threading.Thread(target=self.keep, args=(service, command), daemon=True))
        self.keepers[-1].start()

    def keep(self, service, command):
        with open(self.folder / "logs" / service, "ab") as log:
            while not self.stopping:
                # Everything on the way to the service is replaced by what it starts: the pid stays.
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
                self.running[service] = process
                (self.folder / "pids" / service).write_text(f"{process.pid}\n")
                process.wait()
                time.sleep(0.1)

    def wait_healthy(self, services):
        """Throws: SystemExit when a health check of compose.yaml does not succeed in time."""
        end = time.monotonic() + HEALTHY_SECONDS
        for service in services:
            check = self.compose[service]["healthcheck"]["test"]
            while self.run(service, check[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                if time.monotonic() > end:
                    raise SystemExit(f"try: {service} is not healthy:\n{self.log(service)}")
                time.sleep(0.5)

    def log(self, service):
        return (self.folder / "logs" / service).read_text(errors="replace")[-3000:]

    def stop(self):
        """Ends all services. Returns: those that did not end well, or not in time."""
        self.stopping = True
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        end, late = time.monotonic() + STOP_SECONDS, []
        for service, process in self.running.items():
            while process.returncode is None and time.monotonic() < end:
                time.sleep(0.05)
            if process.returncode != 0:
                late.append(f"{service} ({process.returncode})")
                process.kill()
        for keeper in self.keepers:
            keeper.join()
        self.running, self.keepers, self.stopping = {}, [], False
        return late
