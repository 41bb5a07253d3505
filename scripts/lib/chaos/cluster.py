"""PostgreSQL for a chaos run: a primary with a synchronous standby, from Debian's packages, reached by sockets in a folder.

Usage: cluster.py start FOLDER   makes both; prints the connection string
       cluster.py stop FOLDER
"""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))

from measuring import machine

NAMES = ("a", "b")
STANDBY = "standby"
# Processes are killed, not the machine: nothing waits for the disk. A commit waits for the standby.
SETTINGS = f"""
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 400
shared_buffers = 64MB
synchronous_standby_names = '{STANDBY}'
"""
WAIT_SECONDS = 120


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.bin = max(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[-2]))
        # It refuses to be root.
        other = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        self.options = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []} if other else {}

    @property
    def connection(self):
        return f"postgresql://shop@/shop?host={','.join(map(self._socket, NAMES))}"

    def start(self):
        for name in NAMES:
            os.makedirs(self._socket(name))
            self._give(self._socket(name))
        first, second = NAMES
        self._run("initdb", "-D", self._data(first), "--locale=C", "--encoding=UTF8", "--username=postgres", "--auth=trust",
                  "--no-sync", "--no-instructions")
        with open(f"{self._data(first)}/postgresql.conf", "a", encoding="ascii") as file:
            file.write(SETTINGS)
        self._begin(first)
        for sql in ("CREATE ROLE shop LOGIN", "CREATE DATABASE shop OWNER shop"):
            # There is no standby yet.
            self.sql(first, sql, synchronous_commit="local")
        self._follow(second, first)

    def stop(self):
        for name in NAMES:
            if pid := self._pid(name):
                os.kill(pid, signal.SIGQUIT)
        self._until("both servers have ended", lambda: not any(map(self._pid, NAMES)))
        for name in NAMES:
            self._forget_memory(name)

    def primary(self):
        """The name of the server that is no standby, also when it does not run."""
        return next(name for name in NAMES if not os.path.exists(f"{self._data(name)}/standby.signal"))

    # --- Faults

    def kill(self):
        """Kills the primary at once, as a power failure does."""
        name = self.primary()
        pid = self._pid(name)
        os.kill(pid, signal.SIGSTOP)
        for process in [*machine.children(pid), pid]:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._until("the primary has ended", lambda: not self._pid(name))
        # Until init reaps the killed server, its process id counts as alive, and the next server refuses to start.
        os.remove(f"{self._socket(name)}/.s.PGSQL.5432.lock")

    def fail_over(self):
        """Promotes the standby of a killed primary, and makes a standby of the other one."""
        killed = self.primary()
        standby = next(name for name in NAMES if name != killed)
        self._run("pg_ctl", "-D", self._data(standby), "-w", "-t", str(WAIT_SECONDS), "promote")
        self._forget_memory(killed)
        shutil.rmtree(self._data(killed))
        self._follow(killed, standby)

    def end(self):
        self._run("pg_ctl", "-D", self._data(self.primary()), "-w", "-t", str(WAIT_SECONDS), "-m", "fast", "stop")

    def resume(self):
        self._begin(self.primary())
        self._until_followed(self.primary())

    # --- Servers

    def sql(self, name, text, database="postgres", synchronous_commit="on"):
        """Rows, one a line, with tabs between columns."""
        done = subprocess.run(
            ["psql", "-XAtq", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", self._socket(name), "-U", "postgres", "-d", database, "-c", text],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=WAIT_SECONDS,
            check=False, env=os.environ | {"PGOPTIONS": f"-c synchronous_commit={synchronous_commit}"})
        if done.returncode:
            raise RuntimeError(f"psql: {done.stdout.strip()[-300:]}")
        return done.stdout

    def rows(self, service, text):
        """The rows of a service's tables, as texts."""
        lines = self.sql(self.primary(), f"SET search_path TO satchel_{service}; {text}", "shop").splitlines()
        return [tuple(line.split("\t")) for line in lines]

    def _follow(self, name, primary):
        """Makes a standby. Its name as an application, by which the primary waits for it, is not the copy's."""
        self._run("pg_basebackup", "-h", self._socket(primary), "-U", "postgres", "-D", self._data(name), "-X", "stream",
                  "-c", "fast", "--no-sync")
        with open(f"{self._data(name)}/postgresql.auto.conf", "a", encoding="ascii") as file:
            file.write(f"primary_conninfo = 'host={self._socket(primary)} user=postgres application_name={STANDBY}'\n")
        Path(f"{self._data(name)}/standby.signal").touch()
        self._give(f"{self._data(name)}/standby.signal")
        self._begin(name)
        self._until_followed(primary)

    def _until_followed(self, primary):
        sql = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'"
        self._until("the standby follows", lambda: self.sql(primary, sql).strip() == "1")

    def _begin(self, name):
        self._run("pg_ctl", "-D", self._data(name), "-w", "-t", str(WAIT_SECONDS), "-l", f"{self._socket(name)}/log",
                  "-o", f"-k {self._socket(name)}", "start")

    def _run(self, program, *arguments):
        done = subprocess.run(
            [f"{self.bin}/{program}", *arguments], cwd=self._socket(NAMES[0]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=WAIT_SECONDS * 2, check=False, **self.options)
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout.strip()[-500:]}")

    def _pid(self, name):
        """The pid of the running server, or None."""
        try:
            with open(f"{self._data(name)}/postmaster.pid", encoding="ascii") as file:
                pid = int(file.readline())
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return None if ") Z " in file.read() else pid
        except (OSError, ValueError):
            return None

    def _forget_memory(self, name):
        """A killed server leaves a shared memory segment, which its file names."""
        try:
            with open(f"{self._data(name)}/postmaster.pid", encoding="ascii") as file:
                segment = file.read().split("\n")[6].split()[1]
        except (OSError, IndexError):
            return
        subprocess.run(["ipcrm", "-m", segment], capture_output=True, check=False)

    def _give(self, path):
        if self.options:
            os.chown(path, self.options["user"], self.options["group"])

    def _data(self, name):
        return f"{self._socket(name)}/data"

    def _socket(self, name):
        return f"{self.folder}/{name}"

    @staticmethod
    def _until(what, is_so):
        end = time.monotonic() + WAIT_SECONDS
        while not is_so():
            if time.monotonic() > end:
                raise RuntimeError(f"{WAIT_SECONDS} s without: {what}")
            time.sleep(0.1)


def main():
    action, folder = sys.argv[1:]
    cluster = Cluster(folder)
    if action == "start":
        cluster.start()
        print(cluster.connection)
    else:
        cluster.stop()


if __name__ == "__main__":
    main()
