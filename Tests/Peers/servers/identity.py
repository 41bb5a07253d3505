"""Identity providers: a Facebook Graph, an X that checks OAuth 1.0a signatures, and the published keys of Apple and Google.

Usage: identity.py

Facebook: /facebook/app and /facebook/me answer for tokens "<app id>:<user id>" whose appsecret_proof is right for the secret "fb-secret".
X: /twitter/account/verify_credentials.json answers for the token "<user id>-token" with secret "token-secret", signed with the consumer
"tw-key"/"tw-secret".
Keys: /keys (JWKS), POST /rotate (a new key replaces the old), POST /token with JSON {"claims", "header", "key"} answers a signed token;
"key" is "current", "stranger" (an unpublished key), "none" (alg none) or "secret" (HS256 with the published key's text).
POST /mode {"mode"} makes every provider answer badly: "ok", "500", "429", "slow", "garbage", "half", "close", "text".
"""
import base64
import hashlib
import hmac
import json
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

state = {"mode": "ok", "number": 0}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return b64(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def new_key():
    state["number"] += 1
    state["key"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    state["kid"] = f"key-{state['number']}"


new_key()
stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def token(wish):
    kind = wish.get("key", "current")
    algorithm = {"none": "none", "secret": "HS256"}.get(kind, "RS256")
    header = {"alg": algorithm, "kid": state["kid"], "typ": "JWT"} | wish.get("header", {})
    signed = b64(json.dumps(header).encode()) + "." + b64(json.dumps(wish["claims"]).encode())
    if kind == "none":
        return signed + "."
    if kind == "secret":
        text = state["key"].public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return signed + "." + b64(hmac.new(text, signed.encode(), hashlib.sha256).digest())
    key = stranger if kind == "stranger" else state["key"]
    return signed + "." + b64(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))


def quoted(text):
    return urllib.parse.quote(text, safe="-._~")


def signature_is_right(method, url, header):
    scheme, _, rest = header.partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    fields = {name: urllib.parse.unquote(value.strip('"')) for name, value in fields.items()}
    given = fields.pop("oauth_signature", "")
    text = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in sorted(fields.items()))
    base = "&".join([method, quoted(url), quoted(text)])
    expected = hmac.new(b"tw-secret&token-secret", base.encode(), hashlib.sha1).digest()
    fresh = abs(time.time() - int(fields.get("oauth_timestamp", "0"))) < 300
    right = scheme == "OAuth" and fields.get("oauth_consumer_key") == "tw-key" and fresh
    return right and hmac.compare_digest(base64.b64encode(expected).decode(), given), fields.get("oauth_token", "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def misbehave(self):
        mode = state["mode"]
        if mode.isdigit():
            self.answer(int(mode), {"error": "as asked"})
        elif mode == "slow":
            time.sleep(8)
            self.answer(200, {"id": "1"})
        elif mode == "text":
            self.answer(200, b"hello")
        else:
            self.close_connection = True
            if mode == "garbage":
                self.wfile.write(b"\x00\xffthis is not HTTP\r\n\r\n")
            elif mode == "half":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id\":\"1")
            self.wfile.flush()
            self.connection.shutdown(2)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {name: values[-1] for name, values in urllib.parse.parse_qs(url.query).items()}
        print(json.dumps({"path": url.path}) + "\n", end="", flush=True)
        if state["mode"] != "ok":
            return self.misbehave()
        if url.path.startswith("/facebook/"):
            access = query.get("access_token", "")
            proof = hmac.new(b"fb-secret", access.encode(), hashlib.sha256).hexdigest()
            application, _, user = access.partition(":")
            if not user or not hmac.compare_digest(proof, query.get("appsecret_proof", "")):
                return self.answer(400, {"error": {"message": "Invalid OAuth access token.", "code": 190}})
            return self.answer(200, {"id": application if url.path.endswith("/app") else user})
        if url.path == "/twitter/account/verify_credentials.json":
            full = f"http://127.0.0.1:{self.server.server_address[1]}{url.path}"
            right, access = signature_is_right("GET", full, self.headers.get("Authorization", ""))
            if not right or not access.endswith("-token"):
                return self.answer(401, {"errors": [{"code": 32, "message": "Could not authenticate you."}]})
            return self.answer(200, {"id_str": access.removesuffix("-token"), "screen_name": "x"})
        if url.path == "/keys":
            public = state["key"].public_key().public_numbers()
            key = {"kty": "RSA", "kid": state["kid"], "use": "sig", "alg": "RS256", "n": number(public.n), "e": number(public.e)}
            return self.answer(200, {"keys": [{"kty": "unheard-of", "kid": "other"}, key]})
        self.answer(404, {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path == "/mode":
            state["mode"] = body["mode"]
            return self.answer(200, {})
        if self.path == "/rotate":
            new_key()
            return self.answer(200, {})
        self.answer(200, {"token": token(body)})


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
