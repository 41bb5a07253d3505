"""Rules of what runs: one process of each service, with its volume and no more rights than it needs. Each is given all
objects and yields what is wrong."""
import functools

import suite
from build import containers, template
from lookups import fits, named, of_kind, pods, suite_pods


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
