import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"Hello from Python\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


address = (os.environ.get("HOST", "0.0.0.0"), int(os.environ["PORT"]))
ThreadingHTTPServer(address, Page).serve_forever()
