"""Kubernetes' own schemas, of the package kubernetes-validate, which refuse unknown members too."""
import functools
import json
import pathlib

import kubernetes_validate
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
# The oldest release that has all that the manifests ask for, and the newest that the package knows.
VERSIONS = ("1.30.0", "1.37.0")


@functools.cache
def registry(version):
    definitions = json.loads((folder(version) / "_definitions.json").read_text())
    return Resource.from_contents(definitions) @ Registry()


@functools.cache
def validator(version, kind, api):
    group = api.split("/")[0].split(".")[0] + "-" if "/" in api else ""
    path = folder(version) / f"{kind.lower()}-{group}{api.split('/')[-1]}.json"
    if not path.is_file():
        return None
    schema = json.loads(path.read_text())
    return Draft202012Validator(schema, registry=Resource.from_contents(schema) @ registry(version))


def folder(version):
    return FOLDER / f"v{version}-local-strict"


def problems(one):
    """What Kubernetes would refuse of an object."""
    return problems_of(json.dumps(one, sort_keys=True))


@functools.cache
def problems_of(text):
    """Many objects are the same in several compositions, and with an error planted into another one."""
    one, found = json.loads(text), []
    for version in VERSIONS:
        schema = validator(version, one["kind"], one["apiVersion"])
        if schema is None:
            found.append(f"Kubernetes {version} has no {one['kind']} of {one['apiVersion']}")
            continue
        for error in schema.iter_errors(one):
            found.append(f"Kubernetes {version}: {'.'.join(map(str, error.path))}: {error.message[:200]}")
    return found
