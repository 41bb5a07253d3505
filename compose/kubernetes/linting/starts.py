"""The entrypoint in pods of all kinds: it must not run a service in one that would be another, empty shop."""
import pathlib
import subprocess
import tempfile

import suite

DATABASE = {"SATCHEL_DATABASE": "postgresql://db/shop"}
BUCKET = {"SATCHEL_FILES_BUCKET": "photos"}
# Of the service that the pod's name begins with: whether it may run there with these settings.
STARTS = (
    ("catalog-0", {}, True),
    ("3f2a9c1b77d0", {}, True),
    ("catalog-1", {}, False),
    ("catalog-12", {}, False),
    ("catalog-6d5f7c9b4-x2x7k", {}, False),
    ("catalog-6d5f7c9b4-x2x7k", DATABASE, False),
    ("catalog-6d5f7c9b4-x2x7k", BUCKET, False),
    ("catalog-6d5f7c9b4-x2x7k", {**DATABASE, **BUCKET}, True),
    ("catalog-1", {**DATABASE, **BUCKET}, True),
    ("catalog-6d5f7c9b4-x2x7k", {**DATABASE, **BUCKET, "SATCHEL_FILES_BUCKET_MOVES": "back"}, False),
    ("bag-6d5f7c9b4-x2x7k", {}, False),
    ("bag-6d5f7c9b4-x2x7k", {"SATCHEL_DATABASE": ""}, False),
    ("bag-6d5f7c9b4-x2x7k", {"SATCHEL_USERS_DATABASE": "postgresql://db/shop"}, False),
    ("bag-6d5f7c9b4-x2x7k", {"SATCHEL_BAG_DATABASE": "postgresql://db/shop"}, True),
    ("users-6d5f7c9b4-x2x7k", DATABASE, False),
    ("users-6d5f7c9b4-x2x7k", {**DATABASE, "SATCHEL_USERS_KEY_FILE": "/secrets/users.key"}, True),
    ("mail-6d5f7c9b4-x2x7k", {**DATABASE, "SATCHEL_MAIL": "spool"}, False),
    ("mail-6d5f7c9b4-x2x7k", {**DATABASE, "SATCHEL_MAIL": "smtp"}, True),
    ("cloud-0", {}, True),
    ("cloud-1", DATABASE, False),
    ("cloud-6d5f7c9b4-x2x7k", DATABASE, False),
    ("gateway-6d5f7c9b4-x2x7k", {}, True),
    ("gateway-1", {}, True),
)


def starts():
    """Pods in which the entrypoint runs a service and should not, or the other way round."""
    with tempfile.TemporaryDirectory() as folder:
        for pod, settings, runs in STARTS:
            service = pod.split("-")[0] if "-" in pod else "catalog"
            for name, line in (("hostname", f"echo {pod}"), (service, "echo runs")):
                program = pathlib.Path(folder, name)
                program.write_text(f"#!/bin/sh\n{line}\n")
                program.chmod(0o700)
            variables = {"PATH": f"{folder}:/usr/bin:/bin", **settings}
            command = ["/bin/sh", suite.ROOT / "compose/entrypoint", service]
            result = subprocess.run(command, env=variables, capture_output=True, text=True)
            if (result.stdout == "runs\n") != runs:
                yield f"entrypoint: the pod {pod} does {'not run' if runs else 'run'} with {settings}"
