# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The former name of `elasticrun.worker`; scripts that import it still work."""

from elasticrun.worker import Channel, Request, connect

__all__ = ["Channel", "Request", "connect"]
