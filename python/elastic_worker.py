# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The name that `elasticrun.worker` had as a file of its own; scripts that import it go on."""

from elasticrun.worker import Channel, Request, connect

__all__ = ["Channel", "Request", "connect"]
