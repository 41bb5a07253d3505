"""Rules of what belongs together: settings, names, ports, who may talk to whom. Each is given all objects and yields
what is wrong."""
import suite
from lookups import fits, named, of_kind, pods, settings_of, suite_pods, without_volume

# Where Kubernetes is not Compose: names of hosts, keys, which are in secrets, and a gateway that another one stands by.
DIFFERENT = {
    "SATCHEL_BUS", "SATCHEL_PUBLIC_URL", "SATCHEL_FILES_KEY_FILE", "SATCHEL_USERS_KEY_FILE",
    "SATCHEL_DRAIN_MILLISECONDS",
}
# Of every service that has none of its own.
FOR_ALL = {"SATCHEL_REPLICA", "SATCHEL_DATABASE"}


def settings(objects):
    common = set(named(objects, "ConfigMap", "settings")["data"])
    for service, _, container in suite_pods(objects):
        wanted, given = suite.environment(service), settings_of(objects, container)
        for name in sorted(wanted.keys() - given.keys()):
            where = f"{service}.yaml, of {service}-secrets" if suite.is_secret(name) else "settings.yaml"
            yield f"{service}: {name} of compose.yaml is missing ({where})"
        for name in sorted(given.keys() - wanted.keys() - common - FOR_ALL):
            yield f"{service}: {name} is not in compose.yaml"
        if given.get("SATCHEL_REPLICA") != {"fieldRef": {"fieldPath": "metadata.name"}}:
            yield f"{service}: is not called as its pod is"
        for name, value in given.items():
            if name not in suite.DOCUMENTED:
                yield f"{service}: {name} is not in docs/settings.md"
            if suite.is_secret(name) != ("secretKeyRef" in value):
                yield f"{service}: {name} is a secret and not in one, or the other way round"


def defaults(objects):
    """The manifests' own; a shop's are others."""
    for service, _, container in suite_pods(objects):
        wanted = suite.environment(service)
        for name, value in settings_of(objects, container).items():
            if isinstance(value, str) and name not in DIFFERENT and value != wanted.get(name, value):
                yield f"{service}: {name} has another default than in compose.yaml"


def references(objects):
    for name, pod, container in pods(objects):
        spec = pod["spec"]
        if not named(objects, "ServiceAccount", spec["serviceAccountName"]):
            yield f"{name}: no ServiceAccount {spec['serviceAccountName']}"
        for source in container.get("envFrom", []):
            if not named(objects, "ConfigMap", source.get("configMapRef", {}).get("name")):
                yield f"{name}: no ConfigMap of {source}"
        for entry in container.get("env", []):
            reference = entry.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                yield from secret(name, reference["name"], {reference["key"]}, reference.get("optional"))
        yield from volumes(objects, name, spec, container)
    for one in of_kind(objects, "StatefulSet"):
        if not named(objects, "Service", one["spec"]["serviceName"]):
            yield f"{one['metadata']['name']}: no Service {one['spec']['serviceName']}"


def secret(name, of, keys, optional):
    """The page names each key, and says how to make those without which a pod does not start."""
    for key in sorted(keys - suite.SECRETS_DOCUMENTED.get(of, set())):
        yield f"{name}: docs/kubernetes.md does not name {key} of {of}"
    for key in [] if optional else sorted(keys - suite.SECRETS_MADE.get(of, set())):
        yield f"{name}: docs/kubernetes.md does not make {key} of {of}"


def volumes(objects, name, spec, container):
    declared = {volume["name"]: volume for volume in spec["volumes"]}
    own = named(objects, "StatefulSet", name)
    for claim in own["spec"].get("volumeClaimTemplates", []) if own else []:
        declared[claim["metadata"]["name"]] = {}
    for mount in container["volumeMounts"]:
        if mount["name"] not in declared:
            yield f"{name}: no volume {mount['name']}"
    for volume in declared.values():
        source, claim, config = (volume.get(kind) for kind in ("secret", "persistentVolumeClaim", "configMap"))
        if source:
            keys = {item["key"] for item in source.get("items", [])}
            yield from secret(name, source["secretName"], keys, source.get("optional"))
            if source["secretName"] not in suite.SECRETS_DOCUMENTED:
                yield f"{name}: docs/kubernetes.md does not name the secret {source['secretName']}"
        if claim and claim["claimName"] not in claims(objects):
            yield f"{name}: no claim {claim['claimName']}"
        if config and not named(objects, "ConfigMap", config["name"]):
            yield f"{name}: no ConfigMap {config['name']}"


def claims(objects):
    """The names of all claims, those that StatefulSets make of their templates among them."""
    found = {one["metadata"]["name"] for one in of_kind(objects, "PersistentVolumeClaim")}
    for one in of_kind(objects, "StatefulSet"):
        for claim in one["spec"].get("volumeClaimTemplates", []):
            found.add(f"{claim['metadata']['name']}-{one['metadata']['name']}-0")
    return found


def services(objects):
    gateway = next(container for name, _, container in pods(objects) if name == "gateway")
    ports = {port["name"]: port["containerPort"] for port in gateway["ports"]}
    for one in of_kind(objects, "Service"):
        name, spec = one["metadata"]["name"], one["spec"]
        chosen = {pod[0] for pod in pods(objects) if fits({"matchLabels": spec["selector"]}, pod[1])}
        if chosen != (set(suite.SERVICES[1:]) if name == "services" else {"gateway"}):
            yield f"Service {name}: leads to {', '.join(sorted(chosen)) or 'nobody'}"
        for port in spec.get("ports", []):
            if port["targetPort"] not in ports:
                yield f"Service {name}: the gateway has no port {port['targetPort']}"
    if named(objects, "Service", "gateway")["spec"].get("publishNotReadyAddresses"):
        yield "Service gateway: customers would reach one that is not ready"


def network(objects):
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}
    for name, pod, container in pods(objects):
        if not fits(policies["nothing"]["podSelector"], pod):
            yield f"{name}: everybody may talk to it"
        if name not in suite.SERVICES:
            continue
        outside = [key for key in policies if key.startswith("outside-") and fits(policies[key]["podSelector"], pod)]
        # With a bucket the catalog does, in Compose as well.
        has_bucket = name in without_volume(objects) and name == "catalog"
        if bool(outside) != (suite.reaches_outside(name) or has_bucket):
            yield f"{name}: reaches the world outside in one of compose.yaml and the policies alone"
        reaches = "database" in policies and fits(policies["database"]["podSelector"], pod)
        if reaches != ("SATCHEL_DATABASE" in settings_of(objects, container)):
            yield f"{name}: has a database that no policy lets it reach, or the other way round"
