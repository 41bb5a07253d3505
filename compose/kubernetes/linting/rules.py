"""What must hold of the manifests beyond their form."""
from wiring import defaults, network, references, services, settings
from workloads import alike, names, one_of_each, present, probes, security

# When one of the first finds something, the others are not asked: they look into what should be there.
FIRST = (names, present)
RULES = (one_of_each, settings, references, probes, services, security, network, alike)
# Of the manifests as they are here alone; a shop sets others.
OURS = (*RULES, defaults)
