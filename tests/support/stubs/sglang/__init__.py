# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""In place of SGLang: how the processes of its server on several nodes meet, and no model."""
