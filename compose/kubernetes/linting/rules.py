"""What must hold of the manifests beyond their form."""
from gateways import gateways
from scaling import autoscalers, budgets, documented, outlasting, spread
from wiring import defaults, network, references, services, settings
from workloads import alike, names, one_kind_of_each, present, probes, security

# When one of the first finds something, the others are not asked: they look into what should be there.
FIRST = (names, present)
RULES = (
    one_kind_of_each, spread, autoscalers, budgets, settings, references, probes, services, gateways, security, network,
    alike,
)
# Of the manifests as they are here alone; a shop sets others.
OURS = (*RULES, defaults, documented)
# Of a shop's, which has set what is its own.
SHOPS = (*RULES, outlasting)
