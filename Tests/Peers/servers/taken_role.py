"""A gateway at which another process creates the requested role: it does not exist, cannot be created, and then exists.

Usage: taken_role.py

Reports each request: {"method": …, "path": …}.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

said = threading.Lock()
made = threading.Event()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def serve(self):
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        path = self.path.split("?")[0]
        with said:
            print(json.dumps({"method": self.command, "path": path}) + "\n", end="", flush=True)
        status, answer = 200, {}
        if self.command == "POST" and path == "/parse/users":
            status, answer = 201, {"objectId": "user000001"}
        elif self.command == "GET" and path == "/parse/roles":
            answer = {"results": [{"objectId": "role000001"}] if made.is_set() else []}
        elif self.command == "POST" and path == "/parse/roles":
            made.set()
            status, answer = 400, {"code": 137, "error": "A duplicate value for a field with unique values was provided"}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = serve


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"listening {server.server_port}", flush=True)
server.serve_forever()
