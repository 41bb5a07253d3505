"""Finding one's way among the objects of a cluster."""
import suite
from build import containers, template


def of_kind(objects, *kinds):
    return [one for one in objects if one["kind"] in kinds]


def named(objects, kind, name):
    return next((one for one in of_kind(objects, kind) if one["metadata"]["name"] == name), None)


def workload(objects, service):
    """What makes the pods of a service or of the gateway."""
    return named(objects, "Deployment", service) or named(objects, "StatefulSet", service)


def has_volume(one):
    """Whether a service keeps its data in a volume, of which there is one for each pod."""
    return one["kind"] == "StatefulSet"


def without_volume(objects):
    """The names of the services that keep their data in PostgreSQL."""
    return [service for service in suite.SERVICES[1:] if not has_volume(workload(objects, service))]


def pods(objects):
    """Of each object that makes pods: its name, the pod and its only container."""
    for one in objects:
        if template(one):
            yield one["metadata"]["name"], template(one), containers(one)[0]


def suite_pods(objects):
    return [entry for entry in pods(objects) if entry[0] in suite.SERVICES]


def fits(selector, pod):
    labels = pod["metadata"]["labels"]
    return all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
        meets(rule, labels) for rule in selector.get("matchExpressions", [])
    )


def meets(rule, labels):
    value, values = labels.get(rule["key"]), rule.get("values", [])
    return {
        "Exists": value is not None,
        "DoesNotExist": value is None,
        "In": value in values,
        "NotIn": value not in values,
    }[rule["operator"]]


def settings_of(objects, container):
    """What a container's environment is: by name its text, or the secret that has it."""
    values = {}
    for source in container.get("envFrom", []):
        config = named(objects, "ConfigMap", source.get("configMapRef", {}).get("name"))
        values.update(config["data"] if config else {})
    for entry in container.get("env", []):
        values[entry["name"]] = entry.get("value", entry.get("valueFrom"))
    return values


def volume(pod, name):
    return next((one for one in pod["spec"]["volumes"] if one["name"] == name), {})
