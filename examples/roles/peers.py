# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How the processes of the roles find each other and talk: JSON over HTTP.

A server listens at the port that elasticrun chose for it. Whoever asks it looks up the port for
each try, so that a server that died is found again at the port of its successor.
"""

import http.client
import http.server
import json
import os
import signal
import time
import urllib.request


def serve(port, answer):
    """Answers each question by `answer(question)`, for ever."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(answer(question)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("", int(port)), Handler) as server:
        server.serve_forever()


# [ask]
def ask(role, rank, question, patience=60.0):
    """The answer of a server. The same question may be asked again: it must change nothing."""
    body = json.dumps(question).encode()
    last_try = time.monotonic() + patience
    while True:
        try:
            with open(os.environ["ELASTIC_ROLES"], encoding="utf-8") as file:
                workers = json.load(file)["roles"][role]["workers"]
            server = [each for each in workers if each["rank"] == rank][0]
            url = f"http://{server['address']}:{server['ports']['http']}/"
            with urllib.request.urlopen(url, body, timeout=patience) as answer:
                return json.load(answer)
        except (OSError, LookupError, http.client.HTTPException):
            if time.monotonic() > last_try:
                raise
            time.sleep(0.02)
# [/ask]


def crash_at(count):
    """Dies if CRASH says so, such as "rollout 1 10": for a demonstration, once."""
    is_first_life = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    here = f"{os.environ['ROLE_NAME']} {os.environ['ROLE_RANK']} {count}"
    if is_first_life and os.environ.get("CRASH") == here:
        os.kill(os.getpid(), signal.SIGKILL)
