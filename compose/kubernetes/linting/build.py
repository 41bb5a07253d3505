"""Builds a kustomization as far as ours go: resources, components, patches by path, `$patch: delete`, a namespace and
images."""
import copy
import re

import yaml


class Unbuildable(Exception):
    """What is wrong with a kustomization, and where."""


def build(kustomization, folder, roots=()):
    """The objects of a kustomization as they would be applied.

    folder: where its paths begin.
    roots: folders by the end of their path; a path that ends so is that folder, wherever it is said to be.
    Throws: Unbuildable for a file that is not there, or a patch that fits nowhere.
    """
    objects = []
    for path in kustomization.get("resources", []):
        objects += load(place(path, folder, roots))
    for path in kustomization.get("components", []):
        inner = place(path, folder, roots)
        component = read(inner / "kustomization.yaml")
        for more in component.get("resources", []):
            objects += load(inner / more)
        change(objects, component)
    change(objects, kustomization)
    return objects


def place(path, folder, roots):
    for end, root in roots:
        if path.rstrip("/").endswith(end):
            return root
    return folder / path


def load(path):
    if path.is_dir():
        return build(read(path / "kustomization.yaml"), path)
    if not path.is_file():
        raise Unbuildable(f"{path} is not there")
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def read(path):
    if not path.is_file():
        raise Unbuildable(f"{path} is not there")
    return yaml.safe_load(path.read_text())


def change(objects, kustomization):
    for entry in kustomization.get("patches", []):
        targets = [one for one in objects if is_target(one, entry["target"])]
        if not targets:
            raise Unbuildable(f"a patch fits nothing: {entry['target']}")
        operations = yaml.safe_load(entry["patch"])
        if isinstance(operations, dict):
            if operations.get("$patch") != "delete":
                raise Unbuildable(f"a patch of another form: {entry['target']}")
            objects[:] = [one for one in objects if one not in targets]
            continue
        for one in targets:
            kind = one["kind"]
            for operation in operations:
                patch(one, operation)
            if one["kind"] != kind and not entry.get("options", {}).get("allowKindChange"):
                raise Unbuildable(f"{one['metadata']['name']}: its kind may not change")
    for one in objects:
        if "namespace" in kustomization and one["kind"] != "Namespace":
            one["metadata"]["namespace"] = kustomization["namespace"]
        for container in containers(one):
            for image in kustomization.get("images", []):
                if container["image"].split(":")[0] == image["name"]:
                    container["image"] = f"{image.get('newName', image['name'])}:{image['newTag']}"


def is_target(one, target):
    return re.fullmatch(target.get("kind", ".*"), one["kind"]) and re.fullmatch(
        target.get("name", ".*"), one["metadata"]["name"]
    )


def patch(one, operation):
    """RFC 6902: add, replace and remove."""
    *steps, last = [step.replace("~1", "/").replace("~0", "~") for step in operation["path"].split("/")[1:]]
    unknown = Unbuildable(f"{one['metadata']['name']} has no {operation['path']}")
    if operation["op"] not in ("add", "replace", "remove"):
        raise Unbuildable(f"{operation['op']} is not known here")
    inner = one
    for step in steps:
        inner = member(inner, step)
        if inner is None:
            raise unknown
    if operation["op"] != "add" and member(inner, last) is None:
        raise unknown
    value = copy.deepcopy(operation.get("value"))
    if operation["op"] == "remove":
        del inner[int(last) if isinstance(inner, list) else last]
    elif isinstance(inner, list) and operation["op"] == "add":
        inner.insert(len(inner) if last == "-" else int(last), value)
    else:
        inner[int(last) if isinstance(inner, list) else last] = value


def member(inner, step):
    if isinstance(inner, dict):
        return inner.get(step)
    return inner[int(step)] if step.isdecimal() and int(step) < len(inner) else None


def template(one):
    """The pod that an object makes; nil for one that makes none."""
    if one["kind"] == "CronJob":
        return one["spec"]["jobTemplate"]["spec"]["template"]
    return one["spec"]["template"] if one["kind"] in ("Deployment", "StatefulSet") else None


def containers(one):
    pod = template(one)
    return pod["spec"]["containers"] if pod else []
