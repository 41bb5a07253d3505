"""Errors that the rules must find: each is planted into a copy of the manifests, with a part of what is then said."""
from build import containers, template
from lookups import named, volume, workload


def container(objects, name):
    return containers(workload(objects, name))[0]


def spec(objects, kind, name):
    return named(objects, kind, name)["spec"]


def pod(objects, name):
    return template(workload(objects, name))


def data(objects, name):
    return named(objects, "ConfigMap", name)["data"]


def remove(objects, kind, name):
    objects.remove(named(objects, kind, name))


def autoscaler(kind, name):
    return {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": name}},
    }


# Into the manifests as they are without a component.
PLANTED = (
    ("spec.template.spec.containers.0", lambda all: container(all, "bag").update(imagePullPolcy="Always")),
    ("spec.replicas", lambda all: spec(all, "StatefulSet", "mail").update(replicas="one")),
    ("bag: no Deployment or StatefulSet", lambda all: remove(all, "StatefulSet", "bag")),
    ("break data", lambda all: spec(all, "StatefulSet", "catalog").update(replicas=2)),
    ("a part of the services", lambda all: spec(all, "Deployment", "gateway").update(
        strategy={"type": "RollingUpdate"})),
    ("no volume date", lambda all: container(all, "cloud")["volumeMounts"][0].update(name="date")),
    ("several nodes", lambda all: spec(all, "StatefulSet", "push")["volumeClaimTemplates"][0]["spec"].update(
        accessModes=["ReadWriteMany"])),
    ("a second pod would not be of the same shop", lambda all: all.append(autoscaler("StatefulSet", "catalog"))),
    ("SATCHEL_QUOTAS of compose.yaml is missing", lambda all: data(all, "settings").pop("SATCHEL_QUOTAS")),
    ("SATCHEL_QUOTA is not in docs", lambda all: data(all, "settings").update(SATCHEL_QUOTA="")),
    ("another default", lambda all: data(all, "users-settings").update(SATCHEL_MFA="totp")),
    ("is a secret and not in one", lambda all: data(all, "gateway-settings").update(SATCHEL_REST_KEY="x")
     or container(all, "gateway").update(env=container(all, "gateway")["env"][:2])),
    ("no ConfigMap", lambda all: remove(all, "ConfigMap", "mail-settings")),
    ("does not name", lambda all: container(all, "payments")["env"][1]["valueFrom"]["secretKeyRef"].update(name="x")),
    ("not name the secret keys", lambda all: pod(all, "bag")["spec"]["volumes"][0]["secret"].update(
        secretName="keys")),
    ("is not called as its pod", lambda all: container(all, "gateway")["env"].pop(0)),
    ("does not make SATCHEL_REST_KEY", lambda all: container(all, "gateway")["env"][2]["valueFrom"][
        "secretKeyRef"].pop("optional")),
    ("no Service", lambda all: spec(all, "StatefulSet", "crash").update(serviceName="crash")),
    ("port web, which is not declared", lambda all: container(all, "gateway")["readinessProbe"]["httpGet"].update(
        port="web")),
    ("asks a port that is not declared", lambda all: container(all, "gateway")["ports"][0].update(containerPort=1338)),
    ("because another one is away", lambda all: container(all, "users").update(
        livenessProbe=container(all, "users")["readinessProbe"])),
    ("crash: does not dial", lambda all: data(all, "crash-settings").update(SATCHEL_BUS="tcp://gateway:5570")),
    ("before the services have dialled", lambda all: spec(all, "Service", "gateway-bus").pop(
        "publishNotReadyAddresses")),
    ("bus-check looks for", lambda all: spec(all, "Service", "gateway-bus")["ports"][0].update(port=5571)),
    ("leads to nobody", lambda all: spec(all, "Service", "gateway")["selector"].update({"x": "y"})),
    ("more than it needs", lambda all: container(all, "push")["securityContext"].update(readOnlyRootFilesystem=False)),
    ("user of the Containerfile", lambda all: pod(all, "push")["spec"]["securityContext"].update(runAsUser=1000)),
    ("another time to stop", lambda all: pod(all, "bag")["spec"].update(terminationGracePeriodSeconds=30)),
    ("not the image of release", lambda all: container(all, "bag").update(image="satchel:latest")),
    ("everybody may talk", lambda all: pod(all, "crash")["metadata"]["labels"].pop("app.kubernetes.io/part-of")),
    ("world outside", lambda all: pod(all, "crash")["metadata"]["labels"].update({"satchel/outside": "any"})),
    ("crash: has 0 budgets", lambda all: pod(all, "crash")["metadata"]["labels"].pop("satchel/bus")),
    ("not as in the others", lambda all: pod(all, "mail")["spec"].update(shareProcessNamespace=False)),
    ("only its name", lambda all: all.append({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bus-keys"}, "stringData": {"bus.keys": "x"}})),
)

HPA, PDB = "HorizontalPodAutoscaler", "PodDisruptionBudget"

# Into those with PostgreSQL and several gateways.
PLANTED_GROWN = (
    ("mail: Deployment and StatefulSet", lambda all: all.append({
        **named(all, "StatefulSet", "cloud"), "metadata": {"name": "mail"}})),
    ("every apply disagree", lambda all: spec(all, "Deployment", "bag").update(replicas=2)),
    ("an old pod goes before", lambda all: spec(all, "Deployment", "bag")["strategy"]["rollingUpdate"].update(
        maxUnavailable=1)),
    ("not an empty folder of the node's disk", lambda all: volume(pod(all, "bag"), "data")["emptyDir"].update(
        medium="Memory")),
    ("may start without a database", lambda all: container(all, "bag")["env"][-1]["valueFrom"]["secretKeyRef"].update(
        optional=True)),
    ("not every pod of it writes", lambda all: data(all, "settings").pop("SATCHEL_WRITERS")),
    ("bag: all of its pods may be on one node", lambda all: pod(all, "bag")["spec"].pop("topologySpreadConstraints")),
    ("a key of its own", lambda all: data(all, "users-settings").update(SATCHEL_USERS_KEY_FILE="")),
    ("its code is in its volume", lambda all: named(all, "StatefulSet", "cloud").update(
        kind="Deployment", spec={key: spec(all, "StatefulSet", "cloud")[key] for key in ("selector", "template")})),
    ("nothing to scale", lambda all: spec(all, HPA, "crash")["scaleTargetRef"].update(name="crashes")),
    ("nothing to scale", lambda all: spec(all, HPA, "crash")["scaleTargetRef"].update(kind="StatefulSet")),
    ("or on no list", lambda all: all.append(autoscaler("StatefulSet", "gateway"))),
    ("fewer than two", lambda all: spec(all, HPA, "mail").update(minReplicas=1)),
    ("a request that is not made", lambda all: container(all, "mail")["resources"]["requests"].pop("cpu")),
    ("pods never get there", lambda all: spec(all, HPA, "catalog")["metrics"][0]["resource"]["target"].update(
        averageUtilization=150)),
    ("with every wave", lambda all: spec(all, HPA, "users")["behavior"].pop("scaleDown")),
    ("other numbers than in docs", lambda all: spec(all, HPA, "push").update(maxReplicas=40)),
    ("services without a volume are", lambda all: remove(all, HPA, "push")),
    ("bag: has 0 budgets", lambda all: remove(all, PDB, "bag")),
    ("gateway: has 2 budgets", lambda all: spec(all, PDB, "satchel")["selector"]["matchExpressions"].pop()),
    ("another number than one", lambda all: spec(all, PDB, "bag").update(maxUnavailable=0)),
    ("is of bag, cloud", lambda all: spec(all, PDB, "bag").update(selector={
        "matchExpressions": [{"key": "app.kubernetes.io/name", "operator": "In", "values": ["bag", "cloud"]}]})),
    ("no policy lets it reach", lambda all: remove(all, "NetworkPolicy", "database")),
    ("catalog: reaches the world", lambda all: pod(all, "catalog")["metadata"]["labels"].pop("satchel/outside")),
    ("does not make SATCHEL_DATABASE of db", lambda all: container(all, "bag")["env"][-1]["valueFrom"][
        "secretKeyRef"].update(name="db")),
    ("does not make users.key.old", lambda all: volume(pod(all, "users"), "secrets")["secret"]["items"][0].update(
        key="users.key.old")),
    ("not that of the StatefulSet's pods", lambda all: spec(all, "StatefulSet", "gateway").update(replicas=5)),
    ("not that of the StatefulSet's pods", lambda all: data(all, "gateways").update(
        list="tcp://gateway-1.gateways:5570\ntcp://gateway-2.gateways:5570\n")),
    ("not that of the StatefulSet's pods", lambda all: container(all, "bag")["volumeMounts"][-1].update(
        subPath="list")),
    ("not that of the StatefulSet's pods", lambda all: data(all, "settings").update(
        SATCHEL_BUS="tcp://gateway:5570")),
    ("no ConfigMap gateways", lambda all: remove(all, "ConfigMap", "gateways")),
    ("no Service gateways", lambda all: remove(all, "Service", "gateways")),
    ("before the services have dialled", lambda all: spec(all, "Service", "gateways").pop(
        "publishNotReadyAddresses")),
    ("no names of their own", lambda all: spec(all, "Service", "gateways").pop("clusterIP")),
    ("stands for several gateways", lambda all: all.append({
        **named(all, "Service", "gateways"), "metadata": {"name": "gateway-bus"}})),
    ("one that is not ready", lambda all: spec(all, "Service", "gateway").update(publishNotReadyAddresses=True)),
    ("one waits for another", lambda all: spec(all, "StatefulSet", "gateway").pop("podManagementPolicy")),
    ("take all of them away", lambda all: container(all, "gateway")["readinessProbe"]["httpGet"].update(
        path="/parse/health")),
    ("before the cluster knows", lambda all: data(all, "gateway-settings").update(SATCHEL_DRAIN_MILLISECONDS="0")),
    ("another time to stop", lambda all: data(all, "gateway-settings").update(SATCHEL_DRAIN_MILLISECONDS="8000")),
    ("gateway: all of them may be on one node", lambda all: pod(all, "gateway")["spec"]["affinity"].update(
        podAntiAffinity={"preferredDuringSchedulingIgnoredDuringExecution": []})),
    ("not listen where", lambda all: data(all, "gateway-settings").update(
        SATCHEL_BUS="tcp://gateway-0.gateways:5570")),
    ("not as in the others", lambda all: pod(all, "mail")["spec"].pop("tolerations")),
)

# Into those of the page's last kustomization.
PLANTED_IN_SHOP = (
    ("files go with its pod", lambda all: data(all, "catalog-settings").update(SATCHEL_FILES_BUCKET="")),
    ("mail: its spool goes", lambda all: data(all, "mail-settings").update(SATCHEL_MAIL="spool")),
    ("push: its spool goes", lambda all: data(all, "push-settings").update(SATCHEL_PUSH="spool")),
)
