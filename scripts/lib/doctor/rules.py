"""Settings that are unsafe in production. The gateway's /security has further rules, about classes, keys and hooks."""
import ipaddress
import re
import urllib.parse

from finding import fail, ok, warn


# In values of compose/host/satchel.env that a shop replaces.
EXAMPLE = re.compile(r"CHANGE_ME|\b(?:[Ss]hop[ .-][Ee]xample)\b")


class Settings:
    """The settings in effect: of the environment, otherwise the defaults of docs/reference/settings.md."""

    def __init__(self, environment, defaults):
        self.environment, self.defaults = environment, defaults

    def is_set(self, name):
        return bool(self.environment.get(name))

    def __getitem__(self, name):
        return self.environment.get(name) or self.defaults[name]

    @property
    def public_url(self):
        return urllib.parse.urlsplit(self.environment.get("SATCHEL_PUBLIC_URL", ""))


def is_everything(network):
    try:
        return ipaddress.ip_network(network.strip(), strict=False).prefixlen == 0
    except ValueError:
        return False


def is_loopback(host):
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def unsafe(settings):
    """Each unsafe setting as a finding."""
    for name, value in sorted(settings.environment.items()):
        if name.startswith("SATCHEL_") and EXAMPLE.search(value):
            yield fail("settings", f"{name} is still the example of satchel.env.", "Set your own value.")
    if settings["SATCHEL_APP_ID"] == settings.defaults["SATCHEL_APP_ID"]:
        yield warn("app id", "SATCHEL_APP_ID has its default, which is public.",
                   "Choose another one before the first app is published; afterwards it must stay.")
    if settings["SATCHEL_PAYMENTS"] == "sandbox":
        yield fail("payments", "SATCHEL_PAYMENTS is sandbox: customers pay nothing.", "docs/guides/stripe.md")
    if settings["SATCHEL_PAYMENTS"] == "stripe":
        yield from unsafe_stripe(settings)
    if settings["SATCHEL_MAIL"] == "spool":
        yield fail("mail", "SATCHEL_MAIL is spool: mails are files that no customer receives.", "docs/guides/mail.md")
    elif settings["SATCHEL_MAIL_FROM"] == settings.defaults["SATCHEL_MAIL_FROM"]:
        yield fail("mail", "SATCHEL_MAIL_FROM has its default, an address that is not yours.", "Set your sender.")
    if settings["SATCHEL_PUSH"] == "apns" and "sandbox" in settings["SATCHEL_APNS_URL"]:
        yield warn("push", "SATCHEL_APNS_URL is Apple's sandbox.", "Apps of the App Store need its default.")
    if settings["SATCHEL_LOG_LEVEL"] in ("trace", "debug"):
        yield warn("log", f"SATCHEL_LOG_LEVEL is {settings['SATCHEL_LOG_LEVEL']}.", "Set it to info.")
    yield from unsafe_addresses(settings)


def unsafe_stripe(settings):
    if settings["SATCHEL_STRIPE_SECRET_KEY"].startswith(("sk_test_", "rk_test_")):
        yield fail("payments", "SATCHEL_STRIPE_SECRET_KEY is a test key: customers pay nothing.", "Set the live key.")
    if not settings.is_set("SATCHEL_STRIPE_WEBHOOK_SECRET"):
        yield warn("payments", "SATCHEL_STRIPE_WEBHOOK_SECRET is missing: late payments and disputes stay unknown.",
                   "docs/guides/stripe.md")


def unsafe_addresses(settings):
    if not settings.is_set("SATCHEL_PUBLIC_URL"):
        yield fail("public URL", "SATCHEL_PUBLIC_URL is missing: mailed links and file URLs lead to this host's loopback.",
                   "Set it to https://YOUR-DOMAIN" + settings["SATCHEL_MOUNT"])
    proxies = settings["SATCHEL_TRUSTED_PROXIES"]
    # The gateway has no TLS, so a proxy in front of it does.
    if settings.public_url.scheme == "https" and not proxies:
        yield fail(
            "proxy", "SATCHEL_TRUSTED_PROXIES is missing: all customers share one address's quotas, and the master key "
            "is accepted from everywhere.", "Set it to the proxy's address, 127.0.0.1,::1 for a proxy on this host.")
    if any(map(is_everything, proxies.split(","))):
        yield fail("proxy", "SATCHEL_TRUSTED_PROXIES contains every address: clients can claim any.",
                   "Name the proxies' addresses alone.")
    if settings.public_url.scheme == "https" and not is_loopback(settings["SATCHEL_HOST"]):
        yield warn("proxy", f"SATCHEL_HOST is {settings['SATCHEL_HOST']}: clients may pass the proxy and its TLS.",
                   "Use 127.0.0.1 for a proxy on this host; otherwise open the port to the proxy alone.")


def check(settings):
    found = list(unsafe(settings))
    return found or [ok("settings", "None is known to be unsafe.")]
