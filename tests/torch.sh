#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT

# Installs a PyTorch for the long tests into an environment of its own, and prints its Python.
#
#   tests/torch.sh [VERSION]    2.14.1 by default, 5.5 GB, into build/torch-VERSION

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:-2.14.1}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { sed -n '5,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
folder=$PWD/build/torch-$version
if ! "$folder/bin/python" -c 'import torch' 2>/dev/null; then
  rm -rf "$folder"
  python3.11 -m venv "$folder"
  "$folder/bin/pip" install -q "torch==$version" numpy >&2
fi
echo "$folder/bin/python"
