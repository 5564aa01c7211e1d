# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Asks the replicas in turn. A request that got no answer is repeated at the next one, which a
client may do if its requests change nothing."""

import argparse
import http.client
import json
import os
import sys
import time
import urllib.request

REPLICAS = 3


def ask(number, replica):
    with open(os.environ["ELASTIC_ROLES"], encoding="utf-8") as file:
        workers = json.load(file)["roles"]["server"]["workers"]
    server = [each for each in workers if each["rank"] == replica][0]
    url = f"http://{server['address']}:{server['ports']['http']}/{number}"
    with urllib.request.urlopen(url, timeout=60) as answer:
        return int(answer.read())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--requests", type=int, default=300)
    count = arguments.parse_args().requests
    repeated = right = 0
    for number in range(count):
        for turn in range(10_000):
            try:
                right += ask(number, (number + turn) % REPLICAS) == number ** 2
                break
            except (OSError, LookupError, http.client.HTTPException):
                repeated += 1
                time.sleep(0.01)  # also until the first replica serves
    print(f"{count} requests, {right} right answers, {repeated} repetitions", flush=True)
    return 0 if right == count else 1


if __name__ == "__main__":
    sys.exit(main())
