# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The part of Kubeflow Trainer that hears of progress: by HTTPS, from who knows the token.

  kubeflow_server.py CERTIFICATE KEY TOKEN

Prints "port N", and each body that it was told.
"""

import http.server
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_known = self.headers["Authorization"] == "Bearer " + sys.argv[3]
        is_right = self.path == "/jobs/train/status?v=1"
        print("told", body.decode() if is_known and is_right else "by a stranger", flush=True)
        self.send_response(200 if is_known and is_right else 403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print("port", server.server_address[1], flush=True)
server.serve_forever()
