"""A simulation of Apple's push service for senders: HTTP/2 over TLS, with a certificate from an authority created for this run.

Usage: apns.py FOLDER [option=value ...]

Writes FOLDER/authority.pem (for the client) and FOLDER/key.p8 (the sender's private key), and reports each notification that it
accepted or refused. The sender must be key KEYID123 of team TEAMID1234 with a token of the last hour. The start of the device token
selects the answer: gone (410), bad (400 BadDeviceToken), topic (400 DeviceTokenNotForTopic), slow (429 with Retry-After once, then
200), down (503 once, then 200), busy (always 503), mute (never an answer), mute1 (no answer once), noise (400 with a body that is
not JSON), cut (resets the stream once), half (headers and half a body, then a reset, once); everything else 200.

Options: expire=N (the first N requests get ExpiredProviderToken), refuse=N (InvalidProviderToken), drop=N (closes the connection
without notice after every N notifications), goaway=N (sends GOAWAY and closes after every N), garbage=1 (the first connection
answers with garbage), wait=SECONDS (before each answer), quiet=1 (reports only the id and the token).
"""
import asyncio
import base64
import datetime
import ipaddress
import json
import ssl
import sys
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.x509.oid import NameOID

folder = sys.argv[1]
options = dict(argument.split("=", 1) for argument in sys.argv[2:])
left = {name: int(options.get(name, "0")) for name in ("expire", "refuse", "garbage")}
wait = float(options.get("wait", "0"))
sender_key = ec.generate_private_key(ec.SECP256R1())
attempts = {}
tokens = {}
taken = 0


def pem(key):
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def certificates():
    now = datetime.datetime.now(datetime.timezone.utc)
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])

    def certificate(subject, key, is_authority):
        builder = (
            x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True))
        if not is_authority:
            names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(authority, hashes.SHA256())

    with open(f"{folder}/authority.pem", "wb") as file:
        file.write(certificate(issuer, authority, True).public_bytes(serialization.Encoding.PEM))
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    with open(f"{folder}/server.pem", "wb") as file:
        file.write(pem(server) + certificate(name, server, False).public_bytes(serialization.Encoding.PEM))
    with open(f"{folder}/key.p8", "wb") as file:
        file.write(pem(sender_key))


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def refusal_of(authorization):
    """The reason why the sender's token is invalid, or None. A checked token is not checked again."""
    if not authorization.startswith("bearer "):
        return "MissingProviderToken"
    text = authorization[len("bearer "):]
    if text not in tokens:
        try:
            header, claims, signature = text.split(".")
            head, said, raw = json.loads(decoded(header)), json.loads(decoded(claims)), decoded(signature)
            assert head["alg"] == "ES256" and head["kid"] == "KEYID123" and said["iss"] == "TEAMID1234"
            assert isinstance(said["iat"], int) and abs(time.time() - said["iat"]) < 3600 and len(raw) == 64
            dss = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
            sender_key.public_key().verify(dss, f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
            tokens[text] = None
        except Exception as problem:
            print(json.dumps({"badToken": repr(problem)}), flush=True)
            tokens[text] = "InvalidProviderToken"
    return tokens[text]


def wrong_header(headers):
    """The violated rule of APNs about headers, or None."""
    name = headers.get("apns-id", "")
    if len(name) != 36 or name != name.lower():
        return "BadMessageId"
    if not headers.get("apns-topic"):
        return "MissingTopic"
    if headers.get("apns-priority") not in ("5", "10"):
        return "BadPriority"
    if headers.get("apns-push-type") not in ("alert", "background"):
        return "InvalidPushType"
    if len(headers.get("apns-collapse-id", "")) > 64:
        return "BadCollapseId"
    if not headers.get("apns-expiration", "0").isdigit():
        return "BadExpirationDate"
    return None


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.streams = {}
        self.noisy = left["garbage"] > 0
        if self.noisy:
            left["garbage"] -= 1
            transport.write(b"\x00\xff this is not HTTP/2 \r\n\r\n" * 8)
            return
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        self.h2.initiate_connection()
        self.h2.update_settings({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 1000})
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def data_received(self, data):
        if self.noisy:
            return
        try:
            events = self.h2.receive_data(data)
        except Exception as problem:
            print(json.dumps({"broken": repr(problem)}), flush=True)
            self.transport.abort()
            return
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.streams[event.stream_id] = (dict(event.headers), bytearray())
            elif isinstance(event, h2.events.DataReceived):
                if event.stream_id in self.streams:
                    self.streams[event.stream_id][1].extend(event.data)
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                headers, body = self.streams.pop(event.stream_id)
                if wait:
                    asyncio.get_running_loop().call_later(wait, self.serve, event.stream_id, headers, bytes(body))
                else:
                    self.serve(event.stream_id, headers, bytes(body))
            elif isinstance(event, h2.events.StreamReset):
                self.streams.pop(event.stream_id, None)
        self.flush()

    def answer(self, stream, status, reason=None, more=(), body=None):
        try:
            if body is None:
                body = json.dumps({"reason": reason}).encode() if reason else b""
            self.h2.send_headers(stream, [(":status", str(status)), *more], end_stream=not body)
            if body:
                self.h2.send_data(stream, body, end_stream=True)
        except Exception:
            pass  # The client cancelled the stream.
        self.flush()

    def report(self, headers, body, status, reason):
        token = headers[":path"].rpartition("/")[2]
        seen = {"id": headers.get("apns-id"), "token": token, "status": status, "reason": reason}
        if "quiet" not in options:
            seen["headers"] = {name: value for name, value in headers.items() if name != "authorization"}
            seen["jwt"] = headers.get("authorization", "")[-16:]
            try:
                seen["body"] = json.loads(body)
            except ValueError:
                seen["body"] = None
        sys.stdout.write(json.dumps(seen) + "\n")

    def serve(self, stream, headers, body):
        global taken
        token = headers[":path"].rpartition("/")[2]
        count = attempts[token] = attempts.get(token, 0) + 1
        kind = token.split("-")[0]

        def reply(status, reason=None, more=(), body_of=None):
            self.report(headers, body, status, reason)
            self.answer(stream, status, reason, more, body_of)

        if headers.get(":method") != "POST" or not headers[":path"].startswith("/3/device/"):
            return reply(404, "BadPath")
        if left["expire"] > 0:
            left["expire"] -= 1
            return reply(403, "ExpiredProviderToken")
        if left["refuse"] > 0:
            left["refuse"] -= 1
            return reply(403, "InvalidProviderToken")
        problem = refusal_of(headers.get("authorization", ""))
        if problem:
            return reply(403, problem)
        problem = wrong_header(headers)
        if problem or len(body) > 4096:
            return reply(400 if problem else 413, problem or "PayloadTooLarge")
        try:
            assert isinstance(json.loads(body)["aps"], dict)
        except Exception:
            return reply(400, "PayloadEmpty")
        if kind == "gone":
            return reply(410, None, (), json.dumps({"reason": "Unregistered", "timestamp": 1}).encode())
        if kind == "bad":
            return reply(400, "BadDeviceToken")
        if kind == "topic":
            return reply(400, "DeviceTokenNotForTopic")
        if kind == "noise":
            return reply(400, None, (), b"\x00\xffnot json")
        if kind == "busy" or (kind == "down" and count == 1):
            return reply(503, "ServiceUnavailable")
        if kind == "slow" and count == 1:
            return reply(429, "TooManyRequests", [("retry-after", "2")])
        if kind == "mute" or (kind == "mute1" and count == 1):
            return self.report(headers, body, 0, "mute")
        if kind in ("cut", "half") and count == 1:
            self.report(headers, body, 0, kind)
            if kind == "half":
                self.h2.send_headers(stream, [(":status", "200"), ("content-length", "100")])
                self.h2.send_data(stream, b'{"rea')
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.INTERNAL_ERROR)
            return self.flush()
        reply(200)
        taken += 1
        for name in ("drop", "goaway"):
            if name in options and taken % int(options[name]) == 0:
                if name == "goaway":
                    self.h2.close_connection()
                    self.flush()
                    self.transport.close()
                else:
                    self.transport.abort()


async def main():
    certificates()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/server.pem")
    context.set_alpn_protocols(["h2"])
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, ssl=context, backlog=128)
    print("listening", server.sockets[0].getsockname()[1], flush=True)

    async def flush_reports():
        while True:
            sys.stdout.flush()
            await asyncio.sleep(0.02)

    await asyncio.gather(server.serve_forever(), flush_reports())


asyncio.run(main())
