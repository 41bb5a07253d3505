"""What kubectl builds of a kustomization, where there is a kubectl: the same as build must make of it."""
import copy
import os
import pathlib
import shutil
import subprocess
import tempfile

import yaml

from build import Unbuildable, place

KUBECTL = shutil.which("kubectl")


def differences(objects, kustomization, folder, roots):
    """Kinds and names of objects that kubectl makes other ones of."""
    ours, theirs = by_name(objects), by_name(built(kustomization, folder, roots))
    return sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))


def by_name(objects):
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def built(kustomization, folder, roots):
    with tempfile.TemporaryDirectory() as work:
        whole = copy.deepcopy(kustomization)
        for member in ("resources", "components"):
            folders = [place(path, folder, roots) for path in kustomization.get(member, [])]
            whole[member] = [os.path.relpath(one, pathlib.Path(work).resolve()) for one in folders]
        pathlib.Path(work, "kustomization.yaml").write_text(yaml.safe_dump(whole))
        result = subprocess.run([KUBECTL, "kustomize", work], capture_output=True, text=True)
    if result.returncode:
        raise Unbuildable(f"kubectl kustomize: {result.stderr.strip()}")
    return yaml.safe_load_all(result.stdout)
