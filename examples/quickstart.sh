#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
#
# From a fresh clone to a training job that loses a worker, restarts and finishes:
#
#   examples/quickstart.sh              # with PyTorch if it can be installed
#   examples/quickstart.sh --no-torch   # with the C++ example trainer
#
# Installs missing packages (on Debian and Ubuntu; elsewhere it lists them and stops), builds
# elasticrun in the shortest time, trains with two workers, one of which is killed halfway, and
# compares the result with that of a single undisturbed process.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/quick
run=build/quickstart
want_torch=yes

say() { printf '%s\n' "$*"; }
step() { printf '\n== %s\n' "$*"; }
die() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}

for argument in "$@"; do
  case "$argument" in
    --no-torch) want_torch=no ;;
    -h | --help)
      sed -n '5,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) die "unknown option $argument; there is --no-torch" ;;
  esac
done

# ---- what is needed -------------------------------------------------------------------------

has_apt() { command -v apt-get >/dev/null; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "not root and there is no sudo; run as root: $*"
  fi
}

# Installs packages; a fresh image has no package lists yet, so the second try fetches them.
apt_install() {
  local log
  log=$(mktemp)
  if as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >"$log" 2>&1 ||
    { as_root apt-get update -q >>"$log" 2>&1 &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q "$@" >>"$log" 2>&1; }; then
    rm -f "$log"
    return 0
  fi
  tail -n 5 "$log" >&2
  rm -f "$log"
  return 1
}

has_header() { printf '#include <%s>\n' "$1" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }

missing=()
command -v g++ >/dev/null || missing+=(g++)
command -v cmake >/dev/null || missing+=(cmake)
command -v make >/dev/null || missing+=(make)
if command -v g++ >/dev/null; then
  has_header asio.hpp || missing+=(libasio-dev)
  has_header liburing.h || missing+=(liburing-dev)
  has_header fmt/format.h || missing+=(libfmt-dev)
  has_header nlohmann/json.hpp || missing+=(nlohmann-json3-dev)
  has_header toml++/toml.h || missing+=(libtomlplusplus-dev)
else
  missing+=(libasio-dev liburing-dev libfmt-dev nlohmann-json3-dev libtomlplusplus-dev)
fi
if [ ${#missing[@]} -gt 0 ]; then
  has_apt || die "please install (named as in Debian): ${missing[*]}"
  step "Installing ${missing[*]}"
  apt_install "${missing[@]}" || die "could not install ${missing[*]}"
fi

# ---- the trainer ----------------------------------------------------------------------------

own_torch=build/quickstart-torch  # where pip puts it, if it is asked to

# Sets `python` to the first interpreter that has PyTorch 2, else to the first with an older one.
find_torch() {
  local candidate version
  python=""
  for candidate in python3 "$own_torch/bin/python" build/torch-*/bin/python /usr/bin/python3; do
    version=$("$candidate" -c 'import torch, torch.distributed as d; assert d.is_available()
print(torch.__version__)' 2>/dev/null) || continue
    case "$version" in
      [01].*) python=${python:-$candidate} ;;
      *)
        python=$candidate
        break
        ;;
    esac
  done
  [ -n "$python" ] || return 1
  python=$(command -v "$python")
  case "$python" in /*) ;; *) python=$PWD/$python ;; esac
}

# What apt says that the installation of packages takes; nothing if it does not know them.
apt_size() {
  # With --assume-no it says so and then fails, as it was told to.
  { LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null || true; } |
    grep -E '^(Need to get|After this operation)' || true
}

install_by_pip() {
  python3 -m venv "$own_torch" &&
    "$own_torch/bin/pip" install --quiet torch numpy \
      --index-url https://download.pytorch.org/whl/cpu
}

# Says what it will take, asks if somebody can answer, and installs PyTorch.
install_torch() {
  local size="" answer=d reply
  if has_apt; then
    size=$(apt_size python3-torch)
    if [ -z "$size" ]; then
      as_root apt-get update -q >/dev/null 2>&1 || true
      size=$(apt_size python3-torch)
    fi
  fi
  step "PyTorch is not installed; it is needed for real data-parallel training"
  if [ -n "$size" ]; then
    say "d  the distribution's, python3-torch"
    say "   ${size//$'\n'/$'\n   '}"
  fi
  say "p  the newest, for the CPU, by pip into $own_torch"
  say "   About 200 MB to download, 1 GB on the disk."
  say "n  none: train with the C++ example, as --no-torch does"
  [ -n "$size" ] || answer=n
  if [ -t 0 ]; then read -r -p "Which? [$answer] " reply && answer=${reply:-$answer}; fi
  case "$answer" in
    [dD]*) apt_install --no-install-recommends python3-torch ;;
    [pP]*) install_by_pip ;;
    *) return 1 ;;
  esac
}

python=""
if [ "$want_torch" = yes ] && ! find_torch; then
  if install_torch && find_torch; then :; else python=""; fi
  [ -n "$python" ] || say "No Python with PyTorch: training with the C++ example."
fi

# ---- the build ------------------------------------------------------------------------------

# Sets `jobs` to the number of compilers at once, and `batch` to the number of files for each: few
# large units read the headers less often, but each core wants one, and 2 GB for it.
plan_build() {
  local memory
  memory=$(awk '/^MemAvailable/ { print int($2 / 2000000) }' /proc/meminfo)
  jobs=$(env -u OMP_NUM_THREADS nproc)  # it would count that many
  if [ "$jobs" -gt "$memory" ]; then jobs=$((memory > 0 ? memory : 1)); fi
  batch=9
  if [ "$jobs" -gt 4 ]; then batch=5; fi
}

# Runs a command with its output in a file, and shows how far it is: the last "[ 45%]" of make, or
# "[12/30]" of Ninja.
show_progress() {
  local log=$1 began=$SECONDS shown="" done_so_far
  shift
  "$@" >>"$log" 2>&1 &
  local build_pid=$!
  trap 'kill "$build_pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$build_pid" 2>/dev/null; do
    sleep 1
    done_so_far=$(grep -oE '^\[ *[0-9]+(%|/[0-9]+)\]' "$log" | tail -n 1 | tr -d '[] ')
    if [ -t 1 ]; then
      printf '\r%s, %s s ' "${done_so_far:-0%}" "$((SECONDS - began))"
    elif [ "$done_so_far" != "$shown" ]; then
      say "$done_so_far, $((SECONDS - began)) s"
    fi
    shown=$done_so_far
  done
  trap - INT TERM
  if [ -t 1 ]; then printf '\r\033[K'; fi
  wait "$build_pid"
}

targets=(elasticrun)
[ -n "$python" ] || targets+=(example_04_worker_side)
plan_build
step "Building elasticrun, without optimization (about two minutes on two cores, the first time)"
mkdir -p "$build"
log=$build/quickstart.log
if ! { cmake --preset quick -DCMAKE_UNITY_BUILD_BATCH_SIZE=$batch >"$log" 2>&1 &&
  show_progress "$log" cmake --build "$build" --target "${targets[@]}" -j "$jobs"; }; then
  tail -n 30 "$log" >&2
  die "the build failed; all of its output is in $log"
fi
say "$build/elasticrun"

# ---- the job --------------------------------------------------------------------------------

rm -rf "$run"
mkdir -p "$run"
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo}
if [ -n "$python" ]; then
  export PYTHON_EXEC=$python
  trainer=(examples/python/train_ddp.py)
  alone=("$python" "${trainer[@]}")
  what="PyTorch $("$python" -c 'import torch; print(torch.__version__)'), DDP over gloo"
else
  trainer=(--no-python "$build/examples/04_worker_side")
  alone=("$build/examples/04_worker_side")
  what="the C++ example, gradients averaged through the agent's store"
fi

step "Training with 2 workers ($what); worker 1 is killed in the middle of epoch 2"
command=("$build/elasticrun" --standalone --nproc-per-node 2 --max-restarts 2
  --log-dir "$run/logs" --tee 3 "${trainer[@]}"
  --checkpoint "$run/checkpoint" --kill-rank 1)
say "\$ ${command[*]}"
LOGLEVEL=${LOGLEVEL:-INFO} "${command[@]}" || die "the job failed; its logs are in $run/logs"

step "The same training by one process, undisturbed"
"${alone[@]}" >"$run/alone.log"
tail -n 1 "$run/alone.log"

# ---- the proof ------------------------------------------------------------------------------

final() { sed -n 's/.*finished: checksum //p' "$@"; }
expected=$(final "$run/alone.log")
results=$(final "$run"/logs/*/attempt_1/*/stdout.log)
[ "$(wc -l <<<"$results")" = 2 ] || die "not both workers finished: $results"
awk -v expected="$expected" '{ if (($1 - expected) ^ 2 > 1e-12) exit 1 }' <<<"$results" ||
  die "the checksums differ: $(tr '\n' ' ' <<<"$results")and, by one process, $expected"
step "Done"
say "Worker 1 was killed, both started again from the checkpoint and ended with the parameters"
say "of the undisturbed run. The logs of both attempts: $(echo "$run"/logs/*)"
say ""
say "$build/elasticrun is this program; the optimized one needs a third of its time:"
say "  cmake --preset release -DELASTIC_BUILD_TESTS=OFF -DELASTIC_BUILD_BENCHMARKS=OFF"
say "  cmake --build --preset release --target elasticrun -j $jobs    # build/release/elasticrun"
