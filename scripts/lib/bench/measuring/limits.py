"""The baselines: servers and commands of satchel-bench, and nginx."""
import contextlib
import getpass
import http.client
import os
import shutil
import subprocess
import time

from . import machine
from .suite import Failed


@contextlib.contextmanager
def server(arguments, port):
    """Runs a server until the block ends; it answers GET / by then."""
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if process.poll() is not None:
                raise Failed(f"{arguments[0]} ended with {process.returncode}")
            if answers(port):
                break
            time.sleep(0.05)
        else:
            raise Failed(f"{arguments[0]} does not answer")
        yield port
    finally:
        process.terminate()
        process.wait()


def answers(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/")
        connection.getresponse().read()
        return True
    except OSError:
        return False
    finally:
        connection.close()


def bare_route(turns):
    """Bare Hummingbird routes: GET /bare/N and POST /bare/events."""
    port = machine.free_port()
    return server([f"{turns.binaries}/satchel-bare-route", "--port", str(port)], port)


def figure(arguments):
    """The number that a command prints."""
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"{' '.join(arguments[:2])} failed: {done.stderr.strip()[-500:]}")
    return float(done.stdout)


def raw_sqlite(turns, folder, rows_per_commit, document_bytes=640):
    """Rows a second of plain SQLite, in a new file for each run."""
    path = os.path.join(folder, "raw.sqlite")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + suffix)
    return figure(turns.tool(
        "raw-sqlite", "--path", path, "--seconds", str(turns.seconds), "--document-bytes", str(document_bytes),
        "--rows-per-commit", str(rows_per_commit)))


def nginx(folder, settings=""):
    """Debian's nginx serving the files of a folder, with our settings and the given ones; /etc/nginx is not used."""
    port = machine.free_port()
    work = os.path.join(folder, "nginx")
    os.makedirs(work)
    configuration = os.path.join(work, "nginx.conf")
    # As root, nginx runs its workers as another user, which cannot read the folder.
    user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
    temporary = "\n".join(
        f"    {name}_temp_path {work}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(f"""{user}
daemon off;
worker_processes auto;
pid {work}/pid;
error_log {work}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    {settings}
    keepalive_requests 1000000000;
{temporary}
    server {{
        listen 127.0.0.1:{port};
        root {folder};
    }}
}}
""")
    # Often not in PATH.
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not program:
        raise Failed("nginx is not installed")
    return server([program, "-p", work, "-c", configuration, "-e", f"{work}/error.log"], port)
