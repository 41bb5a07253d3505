"""Identity providers: a Facebook Graph, an X that checks OAuth 1.0a signatures, and the published keys of Apple and Google.

Usage: identity.py

Facebook: /facebook/app and /facebook/me answer for tokens "<app id>:<user id>" whose appsecret_proof is right for the secret "fb-secret".
X: /twitter/account/verify_credentials.json answers for the token "<user id>-token" with secret "token-secret", signed with the consumer
"tw-key"/"tw-secret".
Keys: /keys (JWKS), POST /rotate (a new key replaces the old), POST /token with JSON {"claims", "header", "key"} answers a signed token;
"key" is "current", "stranger" (an unpublished key), "none" (alg none) or "secret" (HS256 with the published key's text).
Browsers: /google/login, /apple/login and /facebook/dialog return to the shop with a code, POST /google/token and /apple/token and
/facebook/oauth/access_token exchange it once; /x/request_token, /x/authenticate and /x/access_token do the same for X. The user is that of
POST /person {"id"}; an empty id cancels.
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

state = {"mode": "ok", "number": 0, "person": "web-user"}
codes = {}  # the parameters of each provider's page by the code that it returned


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


def signature_is_right(method, url, header, query=None, secret="token-secret"):
    scheme, _, rest = header.partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    fields = {name: urllib.parse.unquote(value.strip('"')) for name, value in fields.items()}
    given = fields.pop("oauth_signature", "")
    fields |= query or {}
    text = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in sorted(fields.items()))
    base = "&".join([method, quoted(url), quoted(text)])
    expected = hmac.new(f"tw-secret&{secret}".encode(), base.encode(), hashlib.sha1).digest()
    fresh = abs(time.time() - int(fields.get("oauth_timestamp", "0"))) < 300
    right = scheme == "OAuth" and fields.get("oauth_consumer_key") == "tw-key" and fresh
    return right and hmac.compare_digest(base64.b64encode(expected).decode(), given), fields.get("oauth_token", "")


def identity(provider, form):
    """The answer to an exchange of a code at Google or Apple; None for a wrong one."""
    page = codes.pop(form.get("code"), None)
    if not page or form.get("redirect_uri") != page["redirect_uri"] or form.get("client_id") != page["client_id"]:
        return None
    secret = form.get("client_secret", "")
    if provider == "google":
        challenge = b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if secret != "google-secret" or page.get("code_challenge") != challenge:
            return None
    else:
        claims = json.loads(base64.urlsafe_b64decode(secret.split(".")[1] + "=="))
        if claims["sub"] != page["client_id"] or claims["iss"] != "TEAM" or claims["exp"] < time.time():
            return None
    issuer = "https://accounts.google.com" if provider == "google" else "https://appleid.apple.com"
    claims = {
        "sub": page["person"], "iss": issuer, "aud": page["client_id"], "nonce": page["nonce"], "exp": int(time.time()) + 600}
    return {"id_token": token({"claims": claims})}


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

    def redirect(self, url, **parameters):
        self.send_response(302)
        self.send_header("Location", f"{url}?{urllib.parse.urlencode(parameters)}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def page(self, query):
        """A provider's page, on which the person confirms."""
        if not state["person"]:
            return self.redirect(query["redirect_uri"], error="access_denied", state=query["state"])
        code = b64(hashlib.sha256(json.dumps(query).encode()).digest())
        codes[code] = query | {"person": state["person"]}
        self.redirect(query["redirect_uri"], code=code, state=query["state"])

    def x(self, path, query):
        """The exchanges of X: a token for the callback, then the user's for the verifier."""
        full = f"http://127.0.0.1:{self.server.server_address[1]}{path}"
        first = path == "/x/request_token"
        right, access = signature_is_right(
            "POST", full, self.headers.get("Authorization", ""), query, "" if first else "request-secret")
        page = None if first else codes.pop(access, None)
        if not right or not first and (page is None or query.get("oauth_verifier") != "verified"):
            return self.answer(401, {"errors": [{"code": 32, "message": "Could not authenticate you."}]})
        if first:
            request = f"request-{len(codes)}-{time.time_ns()}"
            codes[request] = {"callback": query["oauth_callback"]}
            fields = {"oauth_token": request, "oauth_token_secret": "request-secret", "oauth_callback_confirmed": "true"}
        else:
            person = page["person"]
            fields = {"oauth_token": f"{person}-token", "oauth_token_secret": "token-secret", "user_id": person}
        self.answer(200, urllib.parse.urlencode(fields).encode())

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
        if url.path in ("/google/login", "/apple/login", "/facebook/dialog"):
            return self.page(query)
        if url.path == "/x/authenticate":
            page = codes[query["oauth_token"]]
            page["person"] = state["person"]
            return self.redirect(page["callback"], oauth_token=query["oauth_token"], oauth_verifier="verified")
        if url.path == "/facebook/oauth/access_token":
            page = codes.pop(query.get("code"), None)
            right = page and query.get("client_secret") == "fb-secret" and query.get("redirect_uri") == page["redirect_uri"]
            return self.answer(200 if right else 400, {"access_token": f"fb-app:{page['person']}"} if right else {"error": {}})
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
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        url = urllib.parse.urlsplit(self.path)
        if url.path in ("/google/token", "/apple/token", "/x/request_token", "/x/access_token"):
            print(json.dumps({"path": url.path}) + "\n", end="", flush=True)
            if state["mode"] != "ok":
                return self.misbehave()
            if url.path.startswith("/x/"):
                return self.x(url.path, dict(urllib.parse.parse_qsl(url.query)))
            answer = identity(url.path.split("/")[1], dict(urllib.parse.parse_qsl(content.decode())))
            return self.answer(200 if answer else 400, answer or {"error": "invalid_grant"})
        body = json.loads(content or b"{}")
        if self.path == "/person":
            state["person"] = body["id"]
            return self.answer(200, {})
        if self.path == "/mode":
            state["mode"] = body["mode"]
            return self.answer(200, {})
        if self.path == "/rotate":
            new_key()
            return self.answer(200, {})
        self.answer(200, {"token": token(body)})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
