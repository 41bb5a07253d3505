"""A host with webhooks, and Apple's receipt server, with a configurable answer for each path.

Usage: webhook.py

POST /_control/<name> sets the answers of /<name> from now on, as JSON: {"status": 200, "json": value} or {"how": "echo" (the received
object, as success), "slow" (after "seconds"), "garbage", "half", "close", "large", "redirect" (to "to"), "text" (of "text"),
"hold" (until there is another order, which it then carries out), "refuse" (with "error", when "field" of the object is "value", else success)}. The default answer is {"success": {}}.
Each call is a line on the output: {"name", "headers", "body"}.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

orders = {}
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def say(self, value):
        self.answer(200, json.dumps(value).encode())

    def do_GET(self):
        with lock:
            print(json.dumps({"name": self.path, "method": "GET"}) + "\n", end="", flush=True)
        self.say({"success": {}})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        name = self.path.lstrip("/")
        if name.startswith("_control/"):
            with lock:
                orders[name[len("_control/"):]] = json.loads(body)
            return self.say({})
        try:
            sent = json.loads(body)
        except ValueError:
            sent = None
        with lock:
            headers = {key.lower(): value for key, value in self.headers.items()}
            # Written in one piece, so that the lines of two concurrent calls do not mix.
            print(json.dumps({"name": name, "headers": headers, "body": sent}) + "\n", end="", flush=True)
            order = orders.get(name, {})
        while order.get("how") == "hold":
            time.sleep(0.02)
            with lock:
                order = orders.get(name, {})
        how = order.get("how")
        if how == "echo":
            self.say({"success": sent.get("object", {})})
        elif how == "slow":
            time.sleep(order["seconds"])
            self.say(order.get("json", {"success": {}}))
        elif how == "large":
            self.say({"success": "x" * order.get("bytes", 16 << 20)})
        elif how == "redirect":
            self.answer(302, b"", [("Location", order["to"])])
        elif how == "text":
            self.answer(order.get("status", 200), order["text"].encode())
        elif how == "refuse":
            refuses = sent.get("object", {}).get(order["field"]) == order["value"]
            self.say({"error": order["error"]} if refuses else {"success": {}})
        elif how in ("garbage", "half", "close"):
            self.close_connection = True
            if how == "garbage":
                self.wfile.write(b"\x00\xffthis is not HTTP\r\n\r\n")
            elif how == "half":
                self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"success":{"sco')
            self.wfile.flush()
            self.connection.shutdown(2)
        else:
            self.answer(order.get("status", 200), json.dumps(order.get("json", {"success": {}})).encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
