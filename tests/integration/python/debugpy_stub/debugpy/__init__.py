# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Has debugpy's command line, and takes a connection with the line "go" for a debugger."""
