"""S3 as moto simulates it, with one bucket, strict checks of signatures and checksums, and failures on demand.

Usage: s3.py <bucket> <access key> <secret>

moto accepts every signature, so botocore recomputes each one here, for headers and presigned URLs. An expired time, a body that
does not match its SHA-256 and MD5, and a request without a signature are refused as in S3.

Control, all by POST:
  /_control/fail    {"how": …, "method": "PUT" (all), "times": 1, "seconds": 1}
  /_control/heal    ends all failures
  /_control/state   {"objects": {key: {"size", "type", "disposition"}}}
  /_control/put     {"key": …, "text": …}: stores an object, as another client would
  /_control/remove  {"key": …}: removes an object, as another client would

Failure modes: 503 (SlowDown), 403 (AccessDenied), close (without an answer), half (of an answer), slow (answers after `seconds`),
corrupt (stores other content than it was given).
Reports: {"event": "request", "method", "path", "status", "range"}.
"""
import base64
import datetime
import hashlib
import hmac
import io
import json
import logging
import socket
import sys
import threading
import time
from urllib.parse import parse_qsl, urlencode, urlsplit, quote

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET, KEY, SECRET = sys.argv[1:4]
REGION = "us-east-1"
TIME = "%Y%m%dT%H%M%SZ"

lock = threading.Lock()
faults = []
backend = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
moto = create_backend_app("s3")


class Refusal(Exception):
    def __init__(self, status, code):
        self.status, self.code = status, code


def say(event, **members):
    print(json.dumps({"event": event, **members}) + "\n", end="", flush=True)


def header_of(environ, name):
    key = name.upper().replace("-", "_")
    return environ.get(key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_" + key, "")


def check_signature(environ, target):
    parts = urlsplit(target)
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = dict(query)
    if "X-Amz-Signature" in given:
        return check_presigned(environ, parts, query, given)
    authorization = environ.get("HTTP_AUTHORIZATION", "")
    if not authorization.startswith("AWS4-HMAC-SHA256 "):
        raise Refusal(403, "AccessDenied")
    fields = dict(field.strip().split("=", 1) for field in authorization.split(" ", 1)[1].split(","))
    if fields["Credential"].split("/")[0] != KEY:
        raise Refusal(403, "InvalidAccessKeyId")
    moment = header_of(environ, "x-amz-date")
    if abs(seconds_since(moment)) > 900:
        raise Refusal(403, "RequestTimeTooSkewed")
    names = fields["SignedHeaders"].split(";")
    needed = {"host", "x-amz-date", "x-amz-content-sha256"}
    # S3 requires a signature for every header that describes the object.
    needed |= {name for name in ("content-type", "content-md5", "range") if header_of(environ, name)}
    if not needed <= set(names):
        raise Refusal(403, "AccessDenied")
    compare(S3SigV4Auth, environ, target, names, moment, fields["Credential"], fields["Signature"])


def check_presigned(environ, parts, query, given):
    if given["X-Amz-Credential"].split("/")[0] != KEY:
        raise Refusal(403, "InvalidAccessKeyId")
    if not 0 <= seconds_since(given["X-Amz-Date"]) <= int(given["X-Amz-Expires"]):
        raise Refusal(403, "AccessDenied")
    rest = [(name, value) for name, value in query if name != "X-Amz-Signature"]
    target = f"{parts.path}?{urlencode(rest, quote_via=quote, safe='')}"
    names = given["X-Amz-SignedHeaders"].split(";")
    compare(
        S3SigV4QueryAuth, environ, target, names, given["X-Amz-Date"], given["X-Amz-Credential"], given["X-Amz-Signature"])


def compare(kind, environ, target, names, moment, credential, signature):
    scope = credential.split("/")[1:]
    if scope != [moment[:8], REGION, "s3", "aws4_request"]:
        raise Refusal(403, "AuthorizationHeaderMalformed")
    auth = kind(Credentials(KEY, SECRET), "s3", REGION)
    request = AWSRequest(
        method=environ["REQUEST_METHOD"], url=f"http://{environ['HTTP_HOST']}{target}",
        headers={name: header_of(environ, name) for name in names})
    request.context["timestamp"] = moment
    wanted = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    if not hmac.compare_digest(wanted, signature):
        raise Refusal(403, "SignatureDoesNotMatch")


def seconds_since(text):
    moment = datetime.datetime.strptime(text, TIME).replace(tzinfo=datetime.timezone.utc)
    return (datetime.datetime.now(datetime.timezone.utc) - moment).total_seconds()


def check_body(environ, body):
    digest = header_of(environ, "x-amz-content-sha256")
    if digest and digest != hashlib.sha256(body).hexdigest():
        raise Refusal(400, "XAmzContentSHA256Mismatch")
    md5 = header_of(environ, "content-md5")
    if md5 and base64.b64decode(md5) != hashlib.md5(body).digest():
        raise Refusal(400, "BadDigest")


def fault_of(method):
    with lock:
        for fault in faults:
            if fault["times"] > 0 and fault.get("method", method) == method:
                fault["times"] -= 1
                return fault
    return {"how": ""}


def control(what, order):
    if what == "fail":
        with lock:
            faults.append({"times": 1, **order})
    elif what == "heal":
        with lock:
            faults.clear()
    elif what == "put":
        backend.put_object(BUCKET, order["key"], order["text"].encode())
    elif what == "remove":
        backend.delete_object(BUCKET, order["key"])
    elif what == "state":
        keys = backend.buckets[BUCKET].keys
        return {"objects": {name: {
            "size": keys[name].size, "type": keys[name].metadata.get("Content-Type"),
            "disposition": keys[name].metadata.get("Content-Disposition"),
        } for name in list(keys.keys())}}
    return {}


def application(environ, start_response):
    method, target = environ["REQUEST_METHOD"], environ["REQUEST_URI"]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    if target.startswith("/_control/"):
        answer = json.dumps(control(target.rsplit("/", 1)[1], json.loads(body or b"{}"))).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
        return [answer]
    fault = fault_of(method)
    if fault["how"] == "close":
        say("request", method=method, path=target, status=0, range=header_of(environ, "range"))
        return cut(environ)
    if fault["how"] == "slow":
        time.sleep(fault.get("seconds", 1))
    status = {}
    try:
        if fault["how"] == "503":
            raise Refusal(503, "SlowDown")
        if fault["how"] == "403":
            raise Refusal(403, "AccessDenied")
        check_signature(environ, target)
        check_body(environ, body)
        if fault["how"] == "corrupt":
            body = bytes([body[0] ^ 1]) + body[1:]
        environ["wsgi.input"] = io.BytesIO(body)

        def begin(line, headers, error=None):
            status["line"], status["headers"] = line, headers

        answer = b"".join(moto(environ, begin))
    except Refusal as refusal:
        answer = f"<?xml version='1.0'?><Error><Code>{refusal.code}</Code><Message>No.</Message></Error>".encode()
        status = {"line": f"{refusal.status} No", "headers": [("Content-Type", "application/xml")]}
        status["headers"].append(("Content-Length", str(len(answer))))
    say(
        "request", method=method, path=target, status=int(status["line"].split()[0]), range=header_of(environ, "range"))
    if fault["how"] == "half":
        lines = [f"HTTP/1.1 {status['line']}"] + [f"{name}: {value}" for name, value in status["headers"]]
        environ["werkzeug.socket"].sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + answer[: len(answer) // 2])
        return cut(environ)
    start_response(status["line"], status["headers"])
    return [answer]


def cut(environ):
    environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
    raise ConnectionError


class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, kind, message, *arguments):
        pass


backend.create_bucket(BUCKET, REGION)
# A cut connection is intended.
sys.stderr = open("/dev/null", "w")
logging.disable()
server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Handler)
print("listening", server.server_port, flush=True)
server.serve_forever()
