"""Rules of the bus: services dial every gateway there is, each by a name that is its own. Each is given all objects and
yields what is wrong."""
import suite
from lookups import named, settings_of, suite_pods, volume, workload


def gateways(objects):
    one = workload(objects, "gateway")
    yield from (several if one["kind"] == "StatefulSet" else single)(objects, one["spec"])
    container = one["spec"]["template"]["spec"]["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    if settings_of(objects, container).get("SATCHEL_BUS") != f"tcp://0.0.0.0:{ports['bus']}":
        yield "gateway: does not listen where the services dial"
    if ports["bus"] != suite.BUS_PORT:
        yield "gateway: not the port that bus-check looks for"


def single(objects, spec):
    if spec["replicas"] != 1 or spec["strategy"] != {"type": "Recreate"}:
        yield "gateway: two at once would have a part of the services each"
    yield from service_of_bus(objects, "gateway-bus")
    wanted = f"tcp://gateway-bus:{suite.BUS_PORT}"
    for service, _, container in suite_pods(objects):
        if service != "gateway" and settings_of(objects, container).get("SATCHEL_BUS") != wanted:
            yield f"{service}: does not dial gateway-bus"


def several(objects, spec):
    name = spec["serviceName"]
    yield from service_of_bus(objects, name)
    if (named(objects, "Service", name) or {"spec": {}})["spec"].get("clusterIP") != "None":
        yield f"Service {name}: pods have no names of their own"
    if named(objects, "Service", "gateway-bus"):
        yield "Service gateway-bus: a name that stands for several gateways"
    wanted = [f"tcp://gateway-{number}.{name}:{suite.BUS_PORT}" for number in range(spec["replicas"])]
    for service, pod, container in suite_pods(objects):
        if service != "gateway" and listed(objects, pod, container) != wanted:
            yield f"{service}: its list of gateways is not that of the StatefulSet's pods"
    if spec["replicas"] < 2 or spec.get("podManagementPolicy") != "Parallel":
        yield "gateway: one waits for another, or is alone"
    container = spec["template"]["spec"]["containers"][0]
    if container["readinessProbe"]["httpGet"]["path"] != "/parse/health?of=gateway":
        yield "gateway: what all of them lack alike would take all of them away"
    if int(settings_of(objects, container)["SATCHEL_DRAIN_MILLISECONDS"]) < 2000:
        yield "gateway: ends before the cluster knows that it does"
    apart = spec["template"]["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = [term["podAffinityTerm"]["labelSelector"]["matchLabels"] for term in apart]
    if not any(label.get("app.kubernetes.io/name") == "gateway" for label in labels):
        yield "gateway: all of them may be on one node"


def listed(objects, pod, container):
    """The endpoints in the file that `SATCHEL_BUS` names, which changes with its ConfigMap; nil where it does not."""
    setting = settings_of(objects, container).get("SATCHEL_BUS", "")
    for mount in container["volumeMounts"]:
        folder = f"file:{mount['mountPath']}/"
        config = volume(pod, mount["name"]).get("configMap")
        if config and setting.startswith(folder) and "subPath" not in mount:
            found = named(objects, "ConfigMap", config["name"])
            return (found or {"data": {}})["data"].get(setting.removeprefix(folder), "").split()
    return None


def service_of_bus(objects, name):
    one = named(objects, "Service", name)
    if not one:
        yield f"gateway: no Service {name}"
        return
    if not one["spec"].get("publishNotReadyAddresses"):
        yield f"Service {name}: a gateway is not ready before the services have dialled it"
    if [port["port"] for port in one["spec"]["ports"]] != [suite.BUS_PORT]:
        yield f"Service {name}: not the port that bus-check looks for"
