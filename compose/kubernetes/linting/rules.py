"""What must hold of the manifests beyond their form. Each rule is given all objects and yields what is wrong."""
import functools

import suite
from build import containers, template

# Where Kubernetes is not Compose: names of hosts, and the gateway's keys, which are in a secret.
DIFFERENT = {"SATCHEL_BUS", "SATCHEL_PUBLIC_URL", "SATCHEL_FILES_KEY_FILE"}


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


def names(objects):
    seen = set()
    for one in objects:
        key = (one["kind"], one["metadata"]["name"])
        if key in seen:
            yield f"{key[0]} {key[1]} is there twice"
        seen.add(key)
        if one["kind"] == "Secret":
            yield f"{key[1]}: a secret does not belong here, only its name"


def present(objects):
    wanted = [("Service", "gateway-bus"), ("ConfigMap", "settings"), ("NetworkPolicy", "nothing")]
    wanted += [("Deployment" if service == "gateway" else "StatefulSet", service) for service in suite.SERVICES]
    for kind, name in wanted:
        if not named(objects, kind, name):
            yield f"{name}: no {kind}"


def one_of_each(objects):
    """One process of each service, since each has its own volume, and the gateway's is the only bus."""
    for service in suite.SERVICES:
        one = named(objects, "Deployment", service) or named(objects, "StatefulSet", service)
        spec, container = one["spec"], containers(one)[0]
        if spec["replicas"] != 1:
            yield f"{service}: more than one would break data"
        if container.get("args") != [service] or "command" in container:
            yield f"{service}: the arguments are not [{service}]"
        if len(containers(one)) != 1 or not fits(spec["selector"], template(one)):
            yield f"{service}: not one container, or the selector is not its own"
        if service == "gateway" and spec["strategy"] != {"type": "Recreate"}:
            yield "gateway: two at once would have a part of the services each"
        if service != "gateway":
            yield from volume_of(service, spec)
    for one in of_kind(objects, "HorizontalPodAutoscaler"):
        yield f"{one['metadata']['name']}: nothing may have replicas in Kubernetes yet"


def volume_of(service, spec):
    claims = spec.get("volumeClaimTemplates", [])
    if [claim["metadata"]["name"] for claim in claims] != ["data"]:
        yield f"{service}: needs one volume, data"
    elif claims[0]["spec"]["accessModes"] != ["ReadWriteOnce"]:
        yield f"{service}: a database on several nodes breaks"
    if set(spec.get("persistentVolumeClaimRetentionPolicy", {}).values()) != {"Retain"}:
        yield f"{service}: its volume goes with it"
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["template"]["spec"]["containers"][0]["volumeMounts"]}
    if mounts.get("data") != "/data":
        yield f"{service}: the volume is not at /data"


def settings_of(objects, container):
    """What a container's environment is: by name its text, or the secret that has it."""
    values = {}
    for source in container.get("envFrom", []):
        config = named(objects, "ConfigMap", source.get("configMapRef", {}).get("name"))
        values.update(config["data"] if config else {})
    for entry in container.get("env", []):
        values[entry["name"]] = entry.get("value", entry.get("valueFrom"))
    return values


def settings(objects):
    common = set(named(objects, "ConfigMap", "settings")["data"])
    for service, _, container in suite_pods(objects):
        wanted, given = suite.environment(service), settings_of(objects, container)
        for name in sorted(wanted.keys() - given.keys()):
            yield f"{service}: {name} of compose.yaml is missing"
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


def probes(objects):
    for service, _, container in suite_pods(objects):
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        if "readinessProbe" not in container:
            yield f"{service}: nothing tells whether it is ready"
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container.get(kind, {})
            for action in ("httpGet", "tcpSocket", "grpc"):
                port = probe.get(action, {}).get("port")
                if port is not None and port not in ports and port not in ports.values():
                    yield f"{service}: the {kind} asks port {port}, which is not declared"
            command = " ".join(probe.get("exec", {}).get("command", []))
            if "http" in command and not any(f":{port}/" in command for port in ports.values()):
                yield f"{service}: the {kind} asks a port that is not declared"
            if kind != "readinessProbe" and ("bus-check" in command or probe.get("httpGet")):
                yield f"{service}: the {kind} would restart it because another one is away"


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


def security(objects):
    for name, pod, container in pods(objects):
        spec, context = pod["spec"], container.get("securityContext", {})
        if spec["automountServiceAccountToken"] is not False or spec["enableServiceLinks"] is not False:
            yield f"{name}: gets the cluster's token, or its variables"
        own = spec["securityContext"]
        if not own["runAsNonRoot"] or {own["runAsUser"], own["fsGroup"]} != {suite.USER}:
            yield f"{name}: does not run as the user of the Containerfile"
        if own["seccompProfile"] != {"type": "RuntimeDefault"}:
            yield f"{name}: without seccomp"
        wanted = {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }
        if context != wanted:
            yield f"{name}: may do more than it needs"
        if "memory" not in container["resources"]["limits"] or len(container["resources"]["requests"]) != 2:
            yield f"{name}: says not what it needs"
        if name in suite.SERVICES and spec["terminationGracePeriodSeconds"] != suite.STOP_SECONDS:
            yield f"{name}: is given another time to stop than by the scripts"
        if container["image"].rsplit(":", 1)[-1] != suite.RELEASE:
            yield f"{name}: not the image of release {suite.RELEASE}"


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


def alike(objects):
    """Services differ in what is theirs: nothing else may be changed in one of them alone."""
    common = functools.partial(common_part, objects)
    first = common("catalog")
    for service in suite.SERVICES[2:]:
        for member, value in common(service).items():
            if value != first[member]:
                yield f"{service}: {member} is not as in the others"


def common_part(objects, service):
    one = named(objects, "StatefulSet", service)
    pod = template(one)["spec"]
    container = pod["containers"][0]
    members = {f"spec.{key}": value for key, value in pod.items() if key not in ("containers", "volumes")}
    for key in ("readinessProbe", "livenessProbe", "startupProbe", "lifecycle", "image"):
        members[key] = container.get(key)
    return members


# When one of the first finds something, the others are not asked: they look into what should be there.
FIRST = (names, present)
RULES = (one_of_each, settings, references, probes, services, security, network, alike)
