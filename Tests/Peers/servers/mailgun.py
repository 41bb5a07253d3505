"""Mailgun's endpoint for whole MIME messages, https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages/,
which fails as the recipient's address selects.

Usage: mailgun.py --domain DOMAIN --key KEY [--port N]

The local part of the address chooses: status-<code>, slow (never answers), garbage (not HTTP), nonsense (200 with a body that is not
JSON), half (an answer cut in the middle), lost (accepts the first mail, closes without an answer). Anything may follow after a `+`.
Reports: {"event": "request", "status"} for each request, {"event": "mail", ...} for each accepted mail.
"""
import argparse
import base64
import json
import re
import time
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from received_mail import report

parser = argparse.ArgumentParser()
parser.add_argument("--domain", required=True)
parser.add_argument("--key", required=True)
parser.add_argument("--port", type=int, default=0)
options = parser.parse_args()
taken = set()


def say(event, **members):
    print(json.dumps({"event": event, **members}) + "\n", end="", flush=True)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        say("request", status=status)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(data)

    def cut(self, data):
        say("request", status=0)
        self.close_connection = True
        self.wfile.write(data)
        self.wfile.flush()
        self.connection.shutdown(2)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        login = "Basic " + base64.b64encode(f"api:{options.key}".encode()).decode()
        if self.headers.get("Authorization") != login:
            return self.answer(401, b"Forbidden")
        if self.path != f"/v3/{options.domain}/messages.mime":
            return self.answer(404, {"message": "Domain not found"})
        form = message_from_bytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body, policy=policy.HTTP)
        fields = {
            part.get_param("name", header="content-disposition"): part for part in form.iter_parts()
        } if form.is_multipart() else {}
        if form.defects or set(fields) != {"to", "message"} or not fields["message"].get_filename():
            return self.answer(400, {"message": "to and message are needed"})
        to = fields["to"].get_payload(decode=True).decode()
        what = re.split(r"[@+]", to)[0]
        if match := re.fullmatch(r"status-(\d{3})", what):
            return self.answer(int(match[1]), {"message": f"As asked for {to}"})
        if what == "slow":
            return time.sleep(300)
        if what == "garbage":
            return self.cut(b"\x00\xffthis is not HTTP\r\n\r\n")
        if what == "nonsense":
            return self.answer(200, b"<html>Welcome to the hotel's network</html>")
        if what == "half":
            return self.cut(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id\":\"<hal")
        content = fields["message"].get_payload(decode=True)
        say("mail", envelopeTo=[to], **report(content))
        if what == "lost" and to not in taken:
            taken.add(to)
            return self.cut(b"")
        return self.answer(200, {"id": "<1@" + options.domain + ">", "message": "Queued. Thank you."})


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", options.port), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
