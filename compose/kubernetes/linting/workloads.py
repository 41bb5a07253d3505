"""Rules of what runs: each service with its volume, or without one, and no more rights than it needs. Each is given all
objects and yields what is wrong."""
import suite
from build import containers, template
from lookups import fits, has_volume, named, pods, settings_of, suite_pods, workload


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
    for kind, name in (("ConfigMap", "settings"), ("NetworkPolicy", "nothing"), ("Service", "gateway")):
        if not named(objects, kind, name):
            yield f"{name}: no {kind}"
    for service in suite.SERVICES:
        kinds = [kind for kind in ("Deployment", "StatefulSet") if named(objects, kind, service)]
        if len(kinds) != 1:
            yield f"{service}: {' and '.join(kinds) or 'no Deployment or StatefulSet'}"


def one_kind_of_each(objects):
    """A StatefulSet of one pod with a volume, or a Deployment of any number without one."""
    for service in suite.SERVICES:
        one = workload(objects, service)
        spec, container = one["spec"], containers(one)[0]
        if container.get("args") != [service] or "command" in container:
            yield f"{service}: the arguments are not [{service}]"
        if len(containers(one)) != 1 or not fits(spec["selector"], template(one)):
            yield f"{service}: not one container, or the selector is not its own"
        if service != "gateway" and has_volume(one):
            if spec["replicas"] != 1:
                yield f"{service}: more than one would break data"
            yield from volume_of(service, spec)


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
        drain = int(settings_of(objects, container).get("SATCHEL_DRAIN_MILLISECONDS", "0")) / 1000
        if name in suite.SERVICES and spec["terminationGracePeriodSeconds"] != suite.STOP_SECONDS + drain:
            yield f"{name}: is given another time to stop than by the scripts"
        if container["image"].rsplit(":", 1)[-1] != suite.RELEASE:
            yield f"{name}: not the image of release {suite.RELEASE}"


def alike(objects):
    """Services differ in what is theirs: nothing else may be changed in one of them alone. Those with a volume are like
    each other, and so are those without."""
    kinds = {}
    for service in suite.SERVICES[1:]:
        kinds.setdefault(workload(objects, service)["kind"], []).append(service)
    for first, *others in kinds.values():
        wanted = common_part(objects, first)
        for service in others:
            found = common_part(objects, service)
            for member in sorted(wanted.keys() | found.keys()):
                if found.get(member) != wanted.get(member):
                    yield f"{service}: {member} is not as in the others"


def common_part(objects, service):
    one = workload(objects, service)
    pod = template(one)["spec"]
    container = pod["containers"][0]
    members = {f"spec.{key}": value for key, value in pod.items() if key not in ("containers", "volumes")}
    for key in ("strategy", "minReadySeconds", "podManagementPolicy"):
        members[key] = one["spec"].get(key)
    for key in ("readinessProbe", "livenessProbe", "startupProbe", "lifecycle", "image"):
        members[key] = container.get(key)
    return members
