"""Finding one's way among the objects of a cluster."""
import suite
from build import containers, template


def of_kind(objects, *kinds):
    return [one for one in objects if one["kind"] in kinds]


def named(objects, kind, name):
    return next((one for one in of_kind(objects, kind) if one["metadata"]["name"] == name), None)


def pods(objects):
    """Of each object that makes pods: its name, the pod and its only container."""
    for one in objects:
        if template(one):
            yield one["metadata"]["name"], template(one), containers(one)[0]


def suite_pods(objects):
    return [entry for entry in pods(objects) if entry[0] in suite.SERVICES]


def fits(selector, pod):
    labels = pod["metadata"]["labels"]
    exist = [rule["key"] for rule in selector.get("matchExpressions", []) if rule["operator"] == "Exists"]
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        key in labels for key in exist
    )


def settings_of(objects, container):
    """What a container's environment is: by name its text, or the secret that has it."""
    values = {}
    for source in container.get("envFrom", []):
        config = named(objects, "ConfigMap", source.get("configMapRef", {}).get("name"))
        values.update(config["data"] if config else {})
    for entry in container.get("env", []):
        values[entry["name"]] = entry.get("value", entry.get("valueFrom"))
    return values
