# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A replica of a server that squares numbers, at the port that elasticrun chose for it.

With CRASH="1 20", replica 1 dies in the middle of its 20th request, once.
"""

import http.server
import itertools
import os
import signal
import sys

RANK = os.environ["ROLE_RANK"]
LIFE = os.environ["TORCHELASTIC_RESTART_COUNT"]
requests = itertools.count(1)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if LIFE == "0" and os.environ.get("CRASH") == f"{RANK} {next(requests)}":
            os.kill(os.getpid(), signal.SIGKILL)
        body = str(int(self.path[1:]) ** 2).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Handler) as server:
        print(f"server {RANK} runs as {os.getpid()}", flush=True)
        server.serve_forever()
