"""Rules of what belongs together: settings, names, ports, who may talk to whom. Each is given all objects and yields
what is wrong."""
import suite
from lookups import fits, named, of_kind, pods, settings_of, suite_pods

# Where Kubernetes is not Compose: names of hosts, and the gateway's keys, which are in a secret.
DIFFERENT = {"SATCHEL_BUS", "SATCHEL_PUBLIC_URL", "SATCHEL_FILES_KEY_FILE"}


def settings(objects):
    common = set(named(objects, "ConfigMap", "settings")["data"])
    for service, _, container in suite_pods(objects):
        wanted, given = suite.environment(service), settings_of(objects, container)
        for name in sorted(wanted.keys() - given.keys()):
            where = f"{service}.yaml, of {service}-secrets" if suite.is_secret(name) else "settings.yaml"
            yield f"{service}: {name} of compose.yaml is missing ({where})"
        for name in sorted(given.keys() - wanted.keys() - common - {"SATCHEL_REPLICA"}):
            yield f"{service}: {name} is not in compose.yaml"
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
            if reference and reference["key"] not in suite.SECRETS_DOCUMENTED.get(reference["name"], ()):
                yield f"{name}: docs/kubernetes.md does not name {reference['key']} of {reference['name']}"
        yield from volumes(objects, name, spec, container)
    for one in of_kind(objects, "StatefulSet"):
        if not named(objects, "Service", one["spec"]["serviceName"]):
            yield f"{one['metadata']['name']}: no Service {one['spec']['serviceName']}"


def volumes(objects, name, spec, container):
    declared = {volume["name"]: volume for volume in spec["volumes"]}
    if named(objects, "StatefulSet", name):
        declared["data"] = {}
    for mount in container["volumeMounts"]:
        if mount["name"] not in declared:
            yield f"{name}: no volume {mount['name']}"
    for volume in declared.values():
        secret, claim = volume.get("secret"), volume.get("persistentVolumeClaim")
        if secret:
            known = suite.SECRETS_DOCUMENTED.get(secret["secretName"])
            if known is None or not known >= {item["key"] for item in secret.get("items", [])}:
                yield f"{name}: docs/kubernetes.md does not name all of the secret {secret['secretName']}"
        if claim and claim["claimName"] not in claims(objects):
            yield f"{name}: no claim {claim['claimName']}"


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
        wanted = set(suite.SERVICES[1:]) if spec.get("clusterIP") == "None" else {"gateway"}
        if chosen != wanted:
            yield f"Service {name}: leads to {', '.join(sorted(chosen)) or 'nobody'}"
        for port in spec.get("ports", []):
            if port["targetPort"] not in ports:
                yield f"Service {name}: the gateway has no port {port['targetPort']}"
    bus = named(objects, "Service", "gateway-bus")["spec"]
    if not bus.get("publishNotReadyAddresses"):
        yield "Service gateway-bus: the gateway is not ready before the services have dialled it"
    port = bus["ports"][0]["port"]
    if port != suite.BUS_PORT or ports["bus"] != suite.BUS_PORT:
        yield "Service gateway-bus: not the port that bus-check looks for"
    for service, _, container in suite_pods(objects):
        host = "0.0.0.0" if service == "gateway" else "gateway-bus"
        if settings_of(objects, container).get("SATCHEL_BUS") != f"tcp://{host}:{port}":
            yield f"{service}: the bus is not tcp://{host}:{port}"


def network(objects):
    policies = {one["metadata"]["name"]: one["spec"] for one in of_kind(objects, "NetworkPolicy")}
    for name, pod, _ in pods(objects):
        if not fits(policies["nothing"]["podSelector"], pod):
            yield f"{name}: everybody may talk to it"
        outside = [key for key in policies if key.startswith("outside-") and fits(policies[key]["podSelector"], pod)]
        if name in suite.SERVICES and bool(outside) != suite.reaches_outside(name):
            yield f"{name}: reaches the world outside in one of compose.yaml and the policies alone"
    for one in of_kind(objects, "PodDisruptionBudget"):
        left = [pod[0] for pod in suite_pods(objects) if not fits(one["spec"]["selector"], pod[1])]
        if left:
            yield f"{one['metadata']['name']}: leaves out {', '.join(left)}"
