"""An SMTP server (aiosmtpd) that accepts mails, or fails as the recipient's address selects.

Usage: smtp.py [--port N] [--tls starttls|implicit|none] [--ca FILE] [--login USER:PASSWORD] [--pause SECONDS] [--greeting TEXT]

With TLS it creates a certificate authority at start and writes its certificate to FILE. The local part of an address chooses:
  mail-<code>, rcpt-<code>, data-<code>, end-<code>   that reply to MAIL, RCPT, DATA, the end of the content; an enhanced code
                                                      may follow: rcpt-550-5.7.1
  greylist    451 to the first attempt of each address     drop     closes the connection in the middle of the content
  lost        accepts the first mail, closes without reply slow     never answers RCPT
  garbage     answers RCPT with non-SMTP bytes             half     closes in the middle of the reply to RCPT
Anything may follow these after a `+`. Reports: {"event": "login" | "rcpt" | "mail", ...}.
"""
import argparse
import asyncio
import datetime
import ipaddress
import json
import re
import ssl
import sys
import tempfile
import time

from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from received_mail import report

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--tls", choices=["starttls", "implicit", "none"], default="starttls")
parser.add_argument("--ca")
parser.add_argument("--login")
parser.add_argument("--pause", type=float, default=0)
parser.add_argument("--greeting")
options = parser.parse_args()


def say(event, **members):
    print(json.dumps({"event": event, **members}), flush=True)


def certificate(name, key, issuer, issuer_key, is_authority):
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True))
    if not is_authority:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def tls_context():
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    authority = certificate(authority_name, authority_key, authority_name, authority_key, True)
    pem = serialization.Encoding.PEM
    if options.ca:
        with open(options.ca, "wb") as file:
            file.write(authority.public_bytes(pem))
    with tempfile.NamedTemporaryFile() as file:
        file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        file.write(certificate(name, key, authority_name, authority_key, False).public_bytes(pem))
        file.flush()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file.name)
        return context


def wanted(stage, address):
    """The reply that the address selects at this stage, or None."""
    match = re.match(rf"{stage}-(\d{{3}})(?:-(\d\.\d\.\d))?[@+]", address)
    return match and f"{match[1]} {match[2] + ' ' if match[2] else ''}As asked for <{address}>"


def behaviour(address):
    return re.split(r"[@+]", address)[0]


seen = set()


class Handler:
    async def handle_MAIL(self, server, session, envelope, address, mail_options):
        refusal = wanted("mail", address)
        if refusal:
            return refusal
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        first = address not in seen
        seen.add(address)
        say("rcpt", to=address)
        what = behaviour(address)
        if what == "slow":
            await asyncio.sleep(300)
        if what == "greylist" and first:
            return "451 4.7.1 Greylisted, come back later"
        if what == "garbage":
            return "\x01\x02 what?\r\n\r\n???"
        if what == "half":
            server.transport.write(b"25")
            server.transport.close()
        refusal = wanted("rcpt", address)
        if refusal:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        began = time.monotonic()
        await asyncio.sleep(options.pause)
        to = envelope.rcpt_tos[0]
        refusal = wanted("end", to)
        if refusal:
            return refusal
        user = session.auth_data.login.decode() if session.auth_data else None
        say(
            "mail", envelopeFrom=envelope.mail_from, envelopeTo=envelope.rcpt_tos, tls=server.transport.get_extra_info("ssl_object") is not None, user=user,
            connection=session.peer[1], took=[began, time.monotonic()], **report(envelope.content))
        if behaviour(to) == "lost" and ("taken", to) not in seen:
            seen.add(("taken", to))
            server.transport.abort()
        return "250 2.0.0 Taken"


class Server(SMTP):
    async def smtp_DATA(self, argument):
        recipients = self.envelope.rcpt_tos if self.envelope else []
        refusal = next((wanted("data", to) for to in recipients if wanted("data", to)), None)
        if refusal:
            await self.push(refusal)
        elif any(behaviour(to) == "drop" for to in recipients):
            await self.push("354 Go on")
            await self._reader.readuntil(b"\r\n")
            self.transport.abort()
        else:
            await super().smtp_DATA(argument)

    async def push(self, status):
        # The first line that a server sends is its greeting.
        if options.greeting and not getattr(self, "has_greeted", False):
            status = options.greeting
        self.has_greeted = True
        await super().push(status)


def authenticator(server, session, envelope, mechanism, data):
    is_right = f"{data.login.decode()}:{data.password.decode()}" == options.login
    say("login", mechanism=mechanism, ok=is_right)
    return AuthResult(success=is_right, handled=False, auth_data=data)


async def main():
    context = None if options.tls == "none" else tls_context()

    def factory():
        return Server(
            Handler(), tls_context=context if options.tls == "starttls" else None,
            authenticator=authenticator if options.login else None, auth_required=bool(options.login),
            auth_require_tls=options.tls == "starttls", hostname="smtp.test", loop=asyncio.get_running_loop())

    server = await asyncio.get_running_loop().create_server(
        factory, "127.0.0.1", options.port, ssl=context if options.tls == "implicit" else None, backlog=128)
    print("listening", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# aiosmtpd warns about settings that these tests require.
sys.stderr = open("/dev/null", "w")
asyncio.run(main())
