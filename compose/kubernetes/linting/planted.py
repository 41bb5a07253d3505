"""Errors that the rules must find: each is planted into a copy of the manifests, with a part of what is then said."""
from build import containers, template
from lookups import named


def container(objects, name):
    return containers(named(objects, "Deployment", name) or named(objects, "StatefulSet", name))[0]


def spec(objects, kind, name):
    return named(objects, kind, name)["spec"]


def pod(objects, name):
    return template(named(objects, "Deployment", name) or named(objects, "StatefulSet", name))


def data(objects, name):
    return named(objects, "ConfigMap", name)["data"]


def remove(objects, kind, name):
    objects.remove(named(objects, kind, name))


PLANTED = (
    ("spec.template.spec.containers.0", lambda all: container(all, "bag").update(imagePullPolcy="Always")),
    ("spec.replicas", lambda all: spec(all, "StatefulSet", "mail").update(replicas="one")),
    ("bag: no StatefulSet", lambda all: remove(all, "StatefulSet", "bag")),
    ("break data", lambda all: spec(all, "StatefulSet", "catalog").update(replicas=2)),
    ("a part of the services", lambda all: spec(all, "Deployment", "gateway").update(
        strategy={"type": "RollingUpdate"})),
    ("no volume date", lambda all: container(all, "cloud")["volumeMounts"][0].update(name="date")),
    ("several nodes", lambda all: spec(all, "StatefulSet", "push")["volumeClaimTemplates"][0]["spec"].update(
        accessModes=["ReadWriteMany"])),
    ("replicas in Kubernetes yet", lambda all: all.append({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "catalog"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "StatefulSet", "name": "catalog"}}})),
    ("SATCHEL_QUOTAS of compose.yaml is missing", lambda all: data(all, "settings").pop("SATCHEL_QUOTAS")),
    ("SATCHEL_QUOTA is not in docs", lambda all: data(all, "settings").update(SATCHEL_QUOTA="")),
    ("another default", lambda all: data(all, "users-settings").update(SATCHEL_MFA="totp")),
    ("is a secret and not in one", lambda all: data(all, "gateway-settings").update(SATCHEL_REST_KEY="x")
     or container(all, "gateway").update(env=container(all, "gateway")["env"][:1])),
    ("no ConfigMap", lambda all: remove(all, "ConfigMap", "mail-settings")),
    ("does not name", lambda all: container(all, "payments")["env"][1]["valueFrom"]["secretKeyRef"].update(name="x")),
    ("not name all of the secret keys", lambda all: pod(all, "bag")["spec"]["volumes"][0]["secret"].update(
        secretName="keys")),
    ("no Service", lambda all: spec(all, "StatefulSet", "crash").update(serviceName="crash")),
    ("port web, which is not declared", lambda all: container(all, "gateway")["readinessProbe"]["httpGet"].update(
        port="web")),
    ("asks a port that is not declared", lambda all: container(all, "gateway")["ports"][0].update(containerPort=1338)),
    ("because another one is away", lambda all: container(all, "users").update(
        livenessProbe=container(all, "users")["readinessProbe"])),
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
    ("leaves out crash", lambda all: pod(all, "crash")["metadata"]["labels"].pop("satchel/bus")),
    ("not as in the others", lambda all: pod(all, "mail")["spec"].update(shareProcessNamespace=False)),
    ("only its name", lambda all: all.append({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "bus-keys"}, "stringData": {"bus.keys": "x"}})),
)
