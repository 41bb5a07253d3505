"""Rules of what has several pods: services in PostgreSQL, their autoscalers, and what a drained node may take. Each is
given all objects and yields what is wrong."""
import suite
from build import containers, template
from lookups import fits, has_volume, of_kind, settings_of, suite_pods, volume, without_volume, workload


def spread(objects):
    """A service without a volume keeps nothing in its pods, of which every one may go."""
    for service in without_volume(objects):
        one = workload(objects, service)
        spec, pod, container = one["spec"], template(one), containers(one)[0]
        if service == "cloud":
            yield "cloud: its code is in its volume"
        if "replicas" in spec:
            yield f"{service}: replicas that the autoscaler and every apply disagree about"
        update = spec.get("strategy", {})
        if update.get("type") != "RollingUpdate" or update.get("rollingUpdate", {}).get("maxUnavailable") != 0:
            yield f"{service}: an old pod goes before a new one is there"
        data = volume(pod, "data").get("emptyDir")
        if data is None or "medium" in data or "sizeLimit" not in data:
            yield f"{service}: /data is not an empty folder of the node's disk"
        settings = settings_of(objects, container)
        if settings.get("SATCHEL_DATABASE", {}).get("secretKeyRef", {}).get("optional", False):
            yield f"{service}: may start without a database"
        if "SATCHEL_DATABASE" not in settings or settings.get("SATCHEL_WRITERS") != "every":
            yield f"{service}: not every pod of it writes"
        keys = [constraint["topologyKey"] for constraint in pod["spec"].get("topologySpreadConstraints", [])]
        if "kubernetes.io/hostname" not in keys:
            yield f"{service}: all of its pods may be on one node"
        if service == "users" and not settings.get("SATCHEL_USERS_KEY_FILE", "").startswith("/secrets/"):
            yield "users: each pod would make a key of its own"


def outlasting(objects):
    """Of a shop's manifests: what a pod without a volume would lose is elsewhere, as the entrypoint asks for as well."""
    for service in without_volume(objects):
        settings = settings_of(objects, containers(workload(objects, service))[0])
        if service == "catalog" and not settings["SATCHEL_FILES_BUCKET"]:
            yield "catalog: its files go with its pod (SATCHEL_FILES_BUCKET)"
        if service in ("mail", "push") and settings[f"SATCHEL_{service.upper()}"] == "spool":
            yield f"{service}: its spool goes with its pod (SATCHEL_{service.upper()})"


def autoscalers(objects):
    targets = []
    for one in of_kind(objects, "HorizontalPodAutoscaler"):
        name, spec = one["metadata"]["name"], one["spec"]
        target = spec["scaleTargetRef"]
        targets.append(target["name"])
        scaled = workload(objects, target["name"])
        if scaled is None or scaled["kind"] != target["kind"] or scaled["apiVersion"] != target.get("apiVersion"):
            yield f"HorizontalPodAutoscaler {name}: nothing to scale"
            continue
        if has_volume(scaled) or target["name"] == "gateway":
            yield f"HorizontalPodAutoscaler {name}: a second pod would not be of the same shop, or on no list"
        if not 2 <= spec.get("minReplicas", 1) < spec["maxReplicas"]:
            yield f"HorizontalPodAutoscaler {name}: fewer than two, or never more than at first"
        for metric in spec.get("metrics", [{}]):
            measured = metric.get("resource", {})
            if measured.get("name") not in containers(scaled)[0]["resources"]["requests"]:
                yield f"HorizontalPodAutoscaler {name}: compares with a request that is not made"
            if not 1 <= measured.get("target", {}).get("averageUtilization", 0) < 100:
                yield f"HorizontalPodAutoscaler {name}: a full node's pods never get there"
        if spec.get("behavior", {}).get("scaleDown", {}).get("stabilizationWindowSeconds", 0) < 300:
            yield f"HorizontalPodAutoscaler {name}: pods come and go with every wave"
    wanted = without_volume(objects)
    if sorted(targets) != sorted(wanted):
        yield f"services without a volume are {', '.join(wanted)}, and scaled are {', '.join(targets)}"


def documented(objects):
    """Of the manifests as they are here alone; a shop sets other numbers."""
    for one in of_kind(objects, "HorizontalPodAutoscaler"):
        name, spec = one["metadata"]["name"], one["spec"]
        asked = containers(workload(objects, name))[0]["resources"]["requests"].get("cpu", "0")
        processors = float(asked[:-1]) / 1000 if asked.endswith("m") else float(asked)
        if suite.SCALED_DOCUMENTED.get(name) != (processors, spec.get("minReplicas"), spec["maxReplicas"]):
            yield f"HorizontalPodAutoscaler {name}: other numbers than in docs/kubernetes.md"


def budgets(objects):
    """Kubernetes evicts no pod that has two budgets."""
    all_budgets = of_kind(objects, "PodDisruptionBudget")
    for name, pod, _ in suite_pods(objects):
        own = [one["metadata"]["name"] for one in all_budgets if fits(one["spec"]["selector"], pod)]
        if len(own) != 1:
            yield f"{name}: has {len(own)} budgets"
    for one in all_budgets:
        if one["spec"].get("maxUnavailable") != 1 or one["spec"].get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
            yield f"PodDisruptionBudget {one['metadata']['name']}: another number than one at a time"
        chosen = [name for name, pod, _ in suite_pods(objects) if fits(one["spec"]["selector"], pod)]
        several = [name for name in chosen if name in without_volume(objects)]
        if not chosen or (several and len(chosen) > 1):
            yield f"PodDisruptionBudget {one['metadata']['name']}: is of {', '.join(chosen) or 'nobody'}"
