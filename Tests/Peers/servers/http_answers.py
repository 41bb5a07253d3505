"""An HTTP/1.1 server for tests of a provider's faults.

Usage: http_answers.py

The path chooses the answer: /status/<code>, /echo (method, headers and body as JSON), /slow/<seconds>, /garbage (not HTTP),
/half (announces 1000 bytes, sends 10 and closes), /close (closes without a byte), /large/<bytes>.
"""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


said = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        seen = {
            "method": self.command, "path": self.path, "headers": dict(self.headers), "body": body.decode(errors="replace"),
            "connection": self.client_address[1],
        }
        with said:  # Lines of two threads must not mix.
            print(json.dumps(seen) + "\n", end="", flush=True)
        what, _, argument = self.path.lstrip("/").partition("/")
        if what == "status":
            self.answer(int(argument), b'{"error":"as asked"}')
        elif what == "slow":
            time.sleep(float(argument))
            self.answer(200, b"{}")
        elif what == "large":
            self.answer(200, b"x" * int(argument))
        elif what in ("garbage", "half", "close"):
            self.close_connection = True
            if what == "garbage":
                self.wfile.write(b"\x00\xffthis is not HTTP\r\n\r\n")
            elif what == "half":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id\":\"hal")
            self.wfile.flush()
            self.connection.shutdown(2)
        else:
            self.answer(200, json.dumps(seen).encode())

    do_GET = do_POST = do_PUT = do_DELETE = serve


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


server = Server(("127.0.0.1", 0), Handler)
print("listening", server.server_address[1], flush=True)
server.serve_forever()
