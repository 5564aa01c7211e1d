#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT

# What takes long and finds little on each change; by hand, before a release. Each part in the
# number of minutes that is given; CI runs the same cases in their short form.
#
#   tests/long.sh [MINUTES]    60 for each part by default
#
# It needs what tests/run.sh --ci installs, and builds what it runs.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

minutes=${1:-60}
jobs=$(nproc)
[[ $minutes =~ ^[1-9][0-9]*$ ]] || { sed -n '5,10s/^# \{0,1\}//p' "$0"; exit 2; }

say() { printf '\n==== %s (%d s)\n' "$*" "$SECONDS"; }

# Repeats a command until the minutes are over or it fails.
for_minutes() {
  local end=$((SECONDS + minutes * 60)) rounds=0
  while ((SECONDS < end)); do
    "$@"
    rounds=$((rounds + 1))
  done
  echo "$rounds rounds"
}

cmake --preset dev -DELASTIC_TEST_EVERY_WAY=ON
cmake --build --preset dev -j "$jobs"

say "A hundred thousand lives of jobs, wherever nodes meet, each the same every time"
for simulation in "vote machine: whatever happens*" "simulation: candidates*" \
  "simulation: a network that fails*" "simulation: whatever happens*" "simulation: a registry*" \
  "simulation: nodes that meet*"; do
  # A part of them: --first, --count.
  tests/long/seeds.py build/dev/tests/unit_tests "$simulation"
done

say "What each rule of these servers is for"
tests/long/ablations.py

say "Which small mistakes in the machines that decide a unit test notices"
tests/long/mutations.py --seed "$RANDOM"

say "Simulated jobs, other seeds each time"
for_minutes env ELASTIC_SIMULATION_SEEDS=2000 build/dev/tests/unit_tests "[simulation]"

say "Nodes and workers that are killed at any moment"
ELASTIC_NODES_ROUNDS=200 for_minutes build/dev/tests/integration_tests \
  "nodes: whatever dies or comes*"

say "The agent that leads is lost, in every way"
tests/long/host_loss.py build/dev/elasticrun --rounds $(((minutes * 10 + 2) / 3))

say "A thousand ranks that are killed and replaced"
tests/long/survive_kills.py build/dev/elasticrun /usr/bin/python3 --kills 900
tests/long/survive_kills.py build/dev/elasticrun build/torch-2.13/bin/python --kills 100 --each 20

say "The same with PyTorch 2.14.1, which connects process groups anew, and with DDP outside"
if torch_214=$(tests/torch.sh 2.14.1); then
  tests/long/survive_kills.py build/dev/elasticrun "$torch_214" --kills 100 --each 20
  tests/long/survive_kills.py build/dev/elasticrun "$torch_214" --kills 100 --each 20 --outside
else
  echo "PyTorch 2.14.1 is missing, and could not be installed: left out"
fi

say "A hundred ranks of each framework that are killed and replaced"
tests/long/framework_kills.py build/dev/elasticrun build/torch-2.13/bin/python

say "Workers that are killed while they commit into the vault"
tests/long/vault_kills.py build/dev/elasticrun /usr/bin/python3 --kills 1000 --agents 50
for_minutes build/dev/tests/integration_tests "vault: the nodes of a job*"
for_minutes build/dev/tests/integration_tests "vault: a sharded*"
for_minutes build/dev/tests/integration_tests "vault: shards*"

say "Ranks of two-dimensional meshes that are killed and replaced"
tests/long/shard_kills.py build/dev/elasticrun build/torch-2.13/bin/python --rounds 5

say "Processes of JAX that meet, with JAX in build/jax"
if ! build/jax/bin/python -c 'import jax' 2>/dev/null; then
  python3.11 -m venv build/jax
  build/jax/bin/pip install -q 'jax[cpu]==0.10.2'
fi
for_minutes build/dev/tests/integration_tests "wire: processes of JAX*"

say "Ranks of NCCL on a GPU, if there is one"
if [[ -e /dev/nvidia0 ]]; then
  tests/long/gpu.py build/dev/elasticrun python3
fi

say "Jobs in the tasks of a real Slurm, if its packages are installed"
if command -v slurmd >/dev/null; then
  tests/long/slurm.py build/dev/elasticrun
fi

say "A disturbed job whose journal, metrics and trace agree with what was done to it"
tests/long/chaos_run.py build/dev/elasticrun --minutes "$minutes"

say "Ten thousand hostile peers beside a job, with its secret and without"
ELASTIC_HOSTILE_PEERS=10000 build/dev/tests/integration_tests "hostile peers:*"

say "Agents that are killed at any moment of a launch"
ELASTIC_GUARD_ROUNDS=500 for_minutes build/dev/tests/integration_tests \
  "guard: elasticrun killed at any moment*"

say "A job that is disturbed on purpose, cut connections included"
ELASTIC_CHAOS_SECONDS=$((minutes * 60)) build/dev/tests/integration_tests "chaos: whatever*"

say "The rendezvous of 8,192 PyTorch ranks over our store and PyTorch's"
cmake --preset release
cmake --build --preset release -j "$jobs" --target benchmark_store
benchmarks/bootstrap.py --ranks 8192 --rounds 3 --servers "ring,PyTorch 2.13"

say "The whole suite on a machine that is too busy"
for_minutes ctest --preset all-tests -j $((jobs * 6)) -LE consume

say "Wheels and static programs for all targets, run where they can be"
packaging/wheels/build.py
build/torch-2.13/bin/python tests/consume/wheel.py \
  build/wheels/dist/elasticrun-*-manylinux_2_28_"$(uname -m)".whl

say "Every way into the library"
ctest --preset all-tests -j "$jobs" -L consume

say "Programs of users with the C++ of ELASTIC_STANDARD, and with the Asio and the fmt in the" \
  "include folders ELASTIC_ASIO and ELASTIC_FMT, if they are set"
for standard in ${ELASTIC_STANDARD:-20 23}; do
  tests/consume/compile_checks.py --standard "$standard" --include include --jobs "$jobs" \
    ${ELASTIC_ASIO:+--given "$ELASTIC_ASIO"} ${ELASTIC_FMT:+--given "$ELASTIC_FMT"} \
    --define ELASTIC_HAS_TLS=1 --internals consumers tests/consume
done

say "The whole suite, compiled with the headers alone"
cmake --preset dev -B build/header_only -DELASTIC_TEST_HEADER_ONLY=ON
cmake --build build/header_only -j "$jobs"
ctest --test-dir build/header_only -j "$jobs" --output-on-failure -LE consume

say "On Boost.Asio"
cmake --preset dev -B build/boost_asio -DELASTIC_WITH_BOOST=ON -DBOOST_ROOT="$(tests/boost.sh)"
cmake --build build/boost_asio -j "$jobs"
ctest --test-dir build/boost_asio -j "$jobs" --output-on-failure -R '[Bb]oost|beast'

say "Every integration test under the sanitizers"
for preset in asan tsan; do
  cmake --preset "$preset" -B "build/$preset-all" -DELASTIC_SANITIZE_ALL=ON
  cmake --build "build/$preset-all" -j "$jobs"
  # docs/design/tests.md says which one fails, by no fault of ours.
  ctest --test-dir "build/$preset-all" -j "$jobs" --output-on-failure -LE consume || true
done

say "Bytes from outside that nobody has thought of"
tests/fuzz/run.py --seconds $((minutes * 60))

say "Which rank holds up a job: each fault, and a job without one that keeps all processors busy"
benchmarks/hangs.py --elasticrun build/dev/elasticrun --python build/torch-2.13/bin/python --runs 20
benchmarks/hangs.py --elasticrun build/dev/elasticrun --python build/torch-2.13/bin/python \
  --undisturbed $((minutes * 60))

say "From a fresh clone to a trained model"
examples/quickstart.sh --no-torch

say "Every way to meet, with each PyTorch, through the death of a worker and of a node"
tests/long/cross_product.py build/dev/elasticrun build/torch-2.13/bin/python /usr/bin/python3
tests/long/cross_product.py --way candidates --rounds 20 \
  build/dev/elasticrun build/torch-2.13/bin/python

say "PyTorch's own launcher against the cases that elasticrun is tested with"
build/torch-2.13/bin/python tests/integration/python/torch213_launcher.py torchrun

say "Every file of definitions alone"
failed=0
for definitions in $(cd include && find elastic -name '*.ipp' | sort); do
  g++ -std=c++20 -Iinclude -DELASTIC_HAS_TLS=1 -DELASTIC_SEPARATE_COMPILATION -fsyntax-only \
    -x c++ "include/$definitions" -w || { echo "$definitions"; failed=1; }
done
exit "$failed"
