"""A Parse Server that only answers reads, for tests of the shadow mode.

Usage: old_server.py

POST /_control/answer sets the answer to GET of a path from now on, as JSON: {"path": "/parse/classes/A", "status": 200, "json": value},
with "to" (a Location) or "hangs" (no answer at all). Every other path has no object: 404 with code 101.
Each GET is a line on the output: {"path", "query", "headers"}.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

orders = {}
lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value, to=None):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if to:
            self.send_header("Location", to)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        with lock:
            orders[order["path"]] = order
        self.answer(200, {})

    def do_GET(self):
        path, _, query = self.path.partition("?")
        with lock:
            headers = {key.lower(): value for key, value in self.headers.items()}
            print(json.dumps({"path": path, "query": query, "headers": headers}) + "\n", end="", flush=True)
            order = orders.get(path, {"status": 404, "json": {"code": 101, "error": "Object not found."}})
        if order.get("hangs"):
            threading.Event().wait()
        self.answer(order.get("status", 200), order.get("json", {}), order.get("to"))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
