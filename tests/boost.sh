#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT

# Unpacks a Boost with cancellation slots beside the system's, which Debian 12 has too old, and
# prints where it is, for cmake -DBOOST_ROOT=… Nothing is installed.
#
#   tests/boost.sh    into build/boost

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=libboost1.81-dev
folder=$PWD/build/boost
if [[ ! -f $folder/root/usr/include/boost/asio.hpp ]]; then
  rm -rf "$folder/root" "$folder/part"
  mkdir -p "$folder"
  cd "$folder"
  # The lists of packages may be missing, or too old.
  apt-get download -q "$package" >&2 ||
    { apt-get update -q >&2 && apt-get download -q "$package" >&2; }
  dpkg -x "$folder/$package"_*.deb "$folder/part"
  mv "$folder/part" "$folder/root"
fi
echo "$folder/root/usr"
