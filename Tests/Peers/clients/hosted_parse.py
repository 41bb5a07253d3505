"""Redirects a client of hosted Parse, which connects to https://api.parse.com/1, to a Satchel server.

The client's process gets a proxy that accepts its connections to that host, with a generated certificate that the process trusts, and
forwards them unchanged to Satchel's /1. The client itself is unmodified.
"""
import datetime
import http.client
import http.server
import ipaddress
import os
import ssl
import tempfile
import threading

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

HOST = "api.parse.com"


def _certificate(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256()))
    path = os.path.join(folder, "hosted.pem")
    with open(path, "wb") as file:
        file.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                     serialization.NoEncryption()))
        file.write(certificate.public_bytes(serialization.Encoding.PEM))
    return path


def redirect(port, seen):
    """Redirects this process's requests to the hosted service to 127.0.0.1:<port>; `seen` gets (verb, path, status) of each request."""
    certificate = _certificate(tempfile.mkdtemp())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Proxy(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_CONNECT(self):
            self.send_response(200)
            self.end_headers()
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
            # Python's client requests the tunnel with HTTP/1.0, which would permit only one request.
            self.close_connection = False

        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for header, value in self.headers.items():
                upstream.putheader(header, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            seen.append((self.command, self.path, answer.status))
            self.send_response_only(answer.status)
            for header, value in answer.getheaders():
                if header.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(header, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()
            upstream.close()

        do_GET = do_POST = do_PUT = do_DELETE = forward

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer((str(ipaddress.ip_address("127.0.0.1")), 0), Proxy)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ["HTTPS_PROXY"] = os.environ["https_proxy"] = f"http://127.0.0.1:{server.server_port}"
    os.environ["SSL_CERT_FILE"] = certificate
    for name in ("NO_PROXY", "no_proxy"):
        os.environ.pop(name, None)
