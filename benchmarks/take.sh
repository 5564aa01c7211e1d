#!/bin/sh
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
# Takes the figures of launch, restart, idle, rendezvous and store, about eight minutes on a machine
# without other load:
#
#   benchmarks/take.sh FOLDER      # one file for each of them in FOLDER
#   benchmarks/compare.py before/launch.txt FOLDER/launch.txt
#
# Builds missing programs first, as for the wheel (ELASTIC_STATIC): four minutes more.
set -eu
cd "$(dirname "$0")/.."
out=${1:?usage: benchmarks/take.sh FOLDER}
build=build/release
launcher=
command -v ccache >/dev/null && launcher=ccache
mkdir -p "$out"

cmake --preset release -DELASTIC_STATIC=ON -DELASTIC_BUILD_TESTS=ON \
  -DELASTIC_BUILD_BENCHMARKS=ON -DELASTIC_BUILD_EXAMPLES=OFF \
  -DCMAKE_CXX_COMPILER_LAUNCHER=$launcher >/dev/null
cmake --build $build -j "$(nproc)" --target elasticrun puppet benchmark_spawn_loop \
  benchmark_rendezvous benchmark_store

take() {  # name, command…
  name=$1
  shift
  began=$(date +%s)
  echo "$name: $*"
  "$@" >"$out/$name.txt" 2>&1 || echo "$name failed: see $out/$name.txt" >&2
  echo "$name took $(($(date +%s) - began)) s"
}

ours=spawn_loop,elasticrun,unguarded
take launch python3 benchmarks/launch.py --only $ours
if [ "$(id -u)" = 0 ] && command -v perf >/dev/null; then
  take launch_steps python3 benchmarks/launch_steps.py --only elasticrun
fi
take restart python3 benchmarks/restart.py --only $ours
take idle python3 benchmarks/idle.py --only $ours
take rendezvous python3 benchmarks/rendezvous.py
take store python3 benchmarks/store.py --rounds 5 --seconds 0.5
