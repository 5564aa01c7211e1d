#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Serves PyTorch's own TCPStore until stdin ends; prints its port. For store.py."""

import datetime
import sys

import torch.distributed as dist

store = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=60))
print(store.port, flush=True)
sys.stdin.read()
