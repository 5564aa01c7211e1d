#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT

# Installs what the tests need (Debian, Ubuntu), builds, and runs them.
#
#   tests/run.sh                every test, development build
#   tests/run.sh --sanitizers   under AddressSanitizer and UBSan, then under ThreadSanitizer
#   tests/run.sh --clang        compiles programs of users, and a wheel for pip, with clang
#   tests/run.sh --ci           all three; then nothing may be missing
#   … --no-install              installs nothing, says what is missing
#
# What takes hours is in tests/long.sh.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

jobs=$(nproc)
# Tests wait for each other's processes more than they compute.
test_jobs=$((2 * jobs))
run_sanitizers=0 run_clang=0 run_tests=1 run_ci=0 install=1
for argument in "$@"; do
  case "$argument" in
    --sanitizers) run_sanitizers=1 run_tests=0 ;;
    --clang) run_clang=1 run_tests=0 ;;
    --ci) run_sanitizers=1 run_clang=1 run_tests=1 run_ci=1 ;;
    --no-install) install=0 ;;
    *) sed -n '5,14s/^# \{0,1\}//p' "$0"; [[ $argument == --help ]] && exit 0 || exit 2 ;;
  esac
done

say() { printf '\n==== %s (%d s)\n' "$*" "$SECONDS"; }

# ---- how long each stage took -------------------------------------------------------------------

figures=$(mktemp -d)
beside=  # the process group of what runs beside the stages
clean_up() {
  if [[ -n $beside ]]; then kill -- "-$beside" 2>/dev/null || true; fi
  rm -rf "$figures"
}
trap clean_up EXIT

# Seconds of processor time that programs which have ended took so far, into `cpu`.
read_cpu() {
  local file=$figures/times.$BASHPID user system
  times >"$file"
  read -r user system < <(tail -n 1 "$file")
  cpu=$(awk -F'[ms ]+' '{ printf "%d", $1 * 60 + $2 + $3 * 60 + $4 }' <<<"$user $system")
}

# stage NAME COMMAND…: runs a command, and notes the minutes that it took. It ends the run if it
# fails.
stage() {
  local name=$1 begin=$SECONDS cpu_begin cpu
  shift
  read_cpu
  cpu_begin=$cpu
  say "$name"
  "$@"
  read_cpu
  awk -v name="$name" -v wall=$((SECONDS - begin)) -v cpu=$((cpu - cpu_begin)) \
    'BEGIN { printf "%-32s %6.1f %10.1f\n", name, wall / 60, cpu / 60 }' >>"$figures/stages"
}

print_stages() {
  printf '\n%-32s %6s %10s\n' "stage ($(nproc) cores)" minutes processor
  cat "$figures/stages"
  printf '%-32s %6s\n' all "$(awk -v wall="$SECONDS" 'BEGIN { printf "%.1f", wall / 60 }')"
}

# start_beside COMMAND…: runs a command while others go on.
start_beside() {
  set -m  # a process group of its own, by which it is ended
  "$@" </dev/null >"$figures/beside" 2>&1 &
  beside=$!
  set +m
}

# Has a process, and all that come from it, take their full share of the processors.
hurry() {
  local child
  chrt --other --pid 0 "$1" 2>/dev/null || true
  for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do hurry "$child"; done
}

# Waits for what was started beside, shows what it said, and ends the run if it failed.
wait_beside() {
  [[ -n $beside ]] || return 0
  local status=0
  hurry "$beside"
  wait "$beside" || status=$?
  beside=
  cat "$figures/beside"
  return "$status"
}

# ---- what is needed -----------------------------------------------------------------------------

torch_213=build/torch-2.13  # where --ci installs it

# Whether the PyTorch of an interpreter is of a release that meets a condition on `v`, which is
# (major, minor).
has_torch() {  # interpreter, condition
  "$1" -c "import torch; v = tuple(map(int, torch.__version__.split('.')[:2])); assert $2" \
    2>/dev/null
}

# The first interpreter with such a PyTorch: tests are written for 1.13, and for 2.13 and later.
find_torch() {  # condition, interpreter…
  local condition=$1 python
  shift
  for python in "$@"; do
    if python=$(command -v "$python") && has_torch "$python" "$condition"; then
      [[ $python == /* ]] || python=$PWD/$python
      echo "$python"
      return
    fi
  done
  return 0
}
find_torch_113() { find_torch 'v == (1, 13)' python3 /usr/bin/python3; }
find_torch_213() { find_torch 'v >= (2, 13)' "$torch_213/bin/python" python3; }

# The newest clang from 16 on: older ones cannot compile these coroutines.
find_clang() {
  local version
  for version in 22 21 20 19 18 17 16; do
    command -v "clang++-$version" && return
  done
  return 0
}

have_header() { echo "#include <$1>" | g++ -std=c++20 -fsyntax-only -x c++ - 2>/dev/null; }

# What the library takes to be compiled comes first; the rest is installed while that is done.
missing=() missing_later=()
need() { missing+=("$1"); }
need_later() { missing_later+=("$1"); }
command -v g++ >/dev/null || need g++
command -v cmake >/dev/null || need cmake
command -v ninja >/dev/null || command -v make >/dev/null || need ninja-build
command -v python3 >/dev/null || need python3
if command -v g++ >/dev/null; then
  have_header asio/version.hpp || need libasio-dev
  have_header liburing.h || need liburing-dev
  have_header fmt/core.h || need libfmt-dev
  have_header catch2/catch.hpp || have_header catch2/catch_all.hpp || need catch2
  have_header nlohmann/json.hpp || need nlohmann-json3-dev
  have_header openssl/ssl.h || need libssl-dev
  have_header toml++/toml.h || need libtomlplusplus-dev
else
  missing+=(libasio-dev liburing-dev libfmt-dev catch2 nlohmann-json3-dev libssl-dev
    libtomlplusplus-dev)
fi
python_113=$(find_torch_113)
python_213=$(find_torch_213)
if [[ -z $python_113 && ($run_ci == 1 || -z $python_213) ]]; then need_later python3-torch; fi
# Rendezvous over etcd: the server, its tool, certificates, and what torchrun needs for it.
command -v etcd >/dev/null || need_later etcd-server
command -v etcdctl >/dev/null || need_later etcd-client
command -v openssl >/dev/null || need_later openssl
"${python_113:-/usr/bin/python3}" -c 'import etcd' 2>/dev/null || need_later python3-etcd
# The guard of the other processor: compiled, compared and run.
command -v aarch64-linux-gnu-g++ >/dev/null || need_later g++-aarch64-linux-gnu
command -v qemu-aarch64 >/dev/null || need_later qemu-user
# The reference of the public headers.
command -v doxygen >/dev/null || need_later doxygen
# The linters of what the library carries in other languages.
command -v pyflakes3 >/dev/null || need_later pyflakes3
command -v node >/dev/null || need_later nodejs
# A browser that looks at the page of a job.
command -v chromium >/dev/null || need_later chromium
command -v chromedriver >/dev/null || need_later chromium-driver
# A file system that stops answering.
command -v bindfs >/dev/null || need_later bindfs
# Programs of MPI that elasticrun starts.
command -v mpicxx.mpich >/dev/null && command -v mpiexec.mpich >/dev/null || need_later mpich
command -v mpicxx.mpich >/dev/null || need_later libmpich-dev
# A real Slurm of two nodes on this host.
if [[ $run_ci == 1 ]]; then
  for package in slurmctld slurmd slurm-client munge; do
    dpkg-query -W "$package" >/dev/null 2>&1 || need_later "$package"
  done
fi
# Hosts as network namespaces.
[[ -x $(PATH=$PATH:/usr/sbin:/sbin command -v ip) ]] || need_later iproute2
# PyTorch 2.13, and what builds the wheel, go into environments of their own.
if [[ $run_ci == 1 || $run_clang == 1 ]]; then
  python3 -c 'import ensurepip' 2>/dev/null || need_later python3-venv
fi
if [[ $run_clang == 1 && -z $(find_clang) ]]; then need_later clang-19; fi
# The run-time libraries of the sanitizers and the fuzzer are a package of their own.
has_runtime() { ls "$("$(find_clang)" -print-resource-dir)"/lib/*/libclang_rt.fuzzer*.a; }
if [[ $run_clang == 1 && $run_sanitizers == 1 ]] && ! has_runtime >/dev/null 2>&1; then
  need_later libclang-rt-19-dev
fi

# ---- what is installed --------------------------------------------------------------------------

if ((${#missing[@]} + ${#missing_later[@]})) &&
    { [[ $install == 0 ]] || ! command -v apt-get >/dev/null; }; then
  echo "tests/run.sh: please install (names of Debian's packages): ${missing[*]}" \
    "${missing_later[*]}" >&2
  exit 1
fi
as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
export DEBIAN_FRONTEND=noninteractive

install_packages() {  # package…
  say "Installing $*"
  local package packages=()
  local not_everywhere="clang-19 libclang-rt-19-dev python3-torch python3-etcd etcd-server"
  not_everywhere+=" etcd-client g++-aarch64-linux-gnu qemu-user bindfs chromium chromium-driver"
  not_everywhere+=" mpich libmpich-dev slurmctld slurmd slurm-client munge"
  for package in "$@"; do
    # Not in every release; what needs it is left out, which --ci takes for a failure.
    if [[ " $not_everywhere " == *" $package "* ]] &&
        ! apt-cache show "$package" >/dev/null 2>&1; then
      echo "tests/run.sh: no package $package here; what needs it is left out" >&2
    else
      packages+=("$package")
    fi
  done
  "${as_root[@]}" apt-get install -q -y --no-install-recommends "${packages[@]}"
}
if ((${#missing[@]} + ${#missing_later[@]})); then "${as_root[@]}" apt-get update -q; fi
if ((${#missing[@]})); then install_packages "${missing[@]}"; fi

# PyTorch 2.13.0 for the CPU, and what is built on it. --ci installs them; otherwise they are used
# if they are there.
has_frameworks() {
  "$torch_213/bin/python" -c \
    'from importlib.util import find_spec as f
for name in ("accelerate", "lightning", "transformers"): assert f(name)'
}
lacks_torch() {
  [[ $run_ci == 1 && $install == 1 ]] && { [[ -z $python_213 ]] ||
    [[ $python_213 == "$PWD/$torch_213/"* ]] && ! has_frameworks 2>/dev/null; }
}
install_torch() {
  say "Installing PyTorch 2.13.0 into $torch_213"
  if [[ -z $python_213 ]]; then
    python3.11 -m venv "$torch_213"
    "$torch_213/bin/pip" install -q torch==2.13.0 numpy
  fi
  "$torch_213/bin/pip" install -q --constraint <(echo torch==2.13.0) \
    accelerate==1.15.0 lightning==2.6.6 transformers==5.24.0
}

install_rest() {
  if ((${#missing_later[@]})); then install_packages "${missing_later[@]}"; fi
  if lacks_torch; then install_torch; fi
  # A Boost that is new enough, which consumers of the library are tested with.
  if [[ $run_ci == 1 && $install == 1 ]]; then tests/boost.sh || left_out "Boost 1.81"; fi
}

left_out() { echo "tests/run.sh: no $1; what needs it is left out" >&2; }
# Which interpreters the tests take, once all of them are installed.
choose_python() {
  [[ -n $python_113 ]] || python_113=$(find_torch_113)
  [[ -n $python_213 ]] || python_213=$(find_torch_213)
  [[ -n $python_113 ]] || left_out "Python with PyTorch 1.13 (Debian 12's python3-torch)"
  [[ -n $python_213 ]] || left_out "Python with PyTorch 2.13 or later, as python3 or in $torch_213"
  if [[ $run_ci == 1 && (-z $python_113 || -z $python_213) ]]; then exit 1; fi
  export ELASTIC_TEST_PYTHON=${python_213:-$python_113} ELASTIC_TEST_PYTHON_113=
  if [[ -n $python_213 ]]; then ELASTIC_TEST_PYTHON_113=${python_113:-missing}; fi
  if [[ -z $ELASTIC_TEST_PYTHON && $run_ci == 0 ]]; then export ELASTIC_ALLOW_NO_TORCH=1; fi
}

if [[ $run_ci == 1 ]]; then export ELASTIC_NOTHING_MISSING=1; fi
# The same simulated jobs each time, so that CI fails by a change only: tests/long.sh has new ones.
if [[ $run_ci == 1 ]]; then export ELASTIC_SIMULATION_FIRST=1 ELASTIC_SIMULATION_SEEDS=100; fi
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
# Whoever builds once reads most headers once; ccache, which builds again, cannot.
precompile=OFF
if [[ $run_ci == 1 ]] && ! command -v ccache >/dev/null; then precompile=ON; fi

# The preset of AddressSanitizer: with clang the one that has the fuzzer, too.
address_sanitizer=asan
if [[ $run_clang == 1 ]]; then address_sanitizer=fuzz; fi

# ---- the stages ---------------------------------------------------------------------------------

configure() {  # preset, more settings…
  local known=() preset=$1
  shift
  # The generator of an existing build directory stays what it is.
  [[ -f build/$preset/CMakeCache.txt ]] || known=("${generator[@]}")
  cmake --preset "$preset" "${known[@]}" "$@" -DELASTIC_PRECOMPILE="$precompile"
}

build() {  # preset, more settings…
  configure "$@" -DELASTIC_BUILD_TESTS=ON -DELASTIC_TEST_PYTHON="$ELASTIC_TEST_PYTHON" \
    -DELASTIC_TEST_PYTHON_113="$ELASTIC_TEST_PYTHON_113"
  cmake --build --preset "$1" -j "$jobs"
}

# The part of the development build that is compiled before everything is installed, if it is new:
# CMake removes the tests of an older one when it configures it without tests.
build_program() {
  if [[ -f build/dev/CMakeCache.txt ]]; then return; fi
  configure dev -DELASTIC_BUILD_TESTS=OFF
  cmake --build --preset dev -j "$jobs" --target elasticrun
}

check_address_space() {
  local bits
  bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)
  if ((bits > 28)); then
    echo "vm.mmap_rnd_bits is $bits: ThreadSanitizer of g++ 12 needs 28 or less and may stop with" \
      "'unexpected memory mapping'; sysctl vm.mmap_rnd_bits=28 helps." >&2
  else
    echo "vm.mmap_rnd_bits is $bits: fine for ThreadSanitizer."
  fi
}

compile_with_clang() {
  local clang
  clang=$(find_clang)
  if [[ -z $clang ]]; then
    echo "tests/run.sh: no clang from 16 on here" >&2
    return "$run_ci"
  fi
  tests/consume/compile_checks.py --cxx "$clang" --include include --jobs "$jobs" \
    consumers tests/consume
}

# With another standard library, as most people get the program; optimized, with OpenSSL and for
# other targets in tests/long.sh.
build_wheel() {
  rm -rf build/wheel
  packaging/wheels/build.py "manylinux_2_28_$(uname -m)" --no-tls --unoptimized --jobs "$jobs" \
    --output build/wheel
}

# Goes on after a failure: the summary of CTest is to be the last that is printed, once more. CI
# runs each test that has failed once more, to tell a race from a defect that stays.
test_everything() {
  local repeat=()
  if [[ $run_ci == 1 ]]; then repeat=(--repeat until-pass:2); fi
  ctest --preset all-tests -j "$test_jobs" "${repeat[@]}" --output-log build/dev/all-tests.log ||
    failed=1
}

# The tests that have failed, and passed then: CTest does not count those.
find_races() { sed -nE 's/^ +Test +#[0-9]+: (.*[^.]) \.+ +Passed .*/\1/p' build/dev/all-tests.log; }

# A race is a defect like any other, but a rare one of an old test is not one of this change. More
# than two at once are.
judge_races() {
  local races
  races=$(find_races)
  [[ -n $races ]] || return 0
  printf '\nFailed, and passed when it was repeated. Mend it:\n%s\n' "$races"
  if (($(wc -l <<<"$races") > 2)); then failed=1; fi
}

# The end of what each failed test has printed: whoever reads only the end of a log needs it there.
show_failures() {
  awk -v most=60 '
    function show() {
      for (line = count > most ? count - most : 0; line < count; ++line) print lines[line]
      count = 0
    }
    /^ *([0-9]+\/[0-9]+)? *Test +#/ {
      show()
      is_failed = /\*\*\*/ && !/\*\*\*Skipped/
      if (is_failed) print
      next
    }
    /^ +Start +[0-9]+:|^[0-9]+% tests passed/ { show(); is_failed = 0 }
    is_failed { lines[count++] = $0 }
  ' build/dev/all-tests.log
}

# clang compiles for a sanitizer in half the time, and makes the fuzzer of the same objects.
# tests/long.sh has g++ for both: it destroys some temporaries twice, which AddressSanitizer sees.
build_rest() {  # what the names of its stages end in
  local clang=()
  if [[ $run_clang == 1 ]]; then clang=(-DCMAKE_CXX_COMPILER="$(find_clang)"); fi
  stage "$address_sanitizer: build$1" build "$address_sanitizer" "${clang[@]}"
  stage "tsan: build$1" build tsan "${clang[@]}"
}

# Takes of the processors what the tests leave, which wait for half of their time: whichever of
# them has something to do comes first at once.
build_beside_tests() {
  chrt --idle --pid 0 "$BASHPID"
  build_rest ", beside tests"
}

start_beside install_rest
if [[ $run_tests == 1 ]]; then stage "dev: build of the program" build_program; fi
wait_beside
if [[ $run_clang == 1 ]]; then
  # Its compiler and libraries are fetched by whoever may install.
  if [[ $install == 1 ]]; then stage "wheel: build" build_wheel; fi
  stage "clang: programs of users" compile_with_clang
fi
choose_python
failed=0
if [[ $run_tests == 1 ]]; then
  stage "dev: build" build dev
  if [[ $run_ci == 1 ]] && chrt --idle 0 true 2>/dev/null; then start_beside build_beside_tests; fi
  stage "dev: test" test_everything
fi
if [[ $run_sanitizers == 1 ]]; then
  if [[ -n $beside ]]; then wait_beside; else build_rest ""; fi
  stage "$address_sanitizer: test" ctest --preset "$address_sanitizer" -j "$test_jobs"
  check_address_space
  stage "tsan: test" ctest --preset tsan -j "$test_jobs"
fi
if [[ $run_ci == 1 ]]; then stage "fuzz" tests/fuzz/run.py --total 60; fi
print_stages
if [[ $run_tests == 1 ]]; then
  echo
  show_failures
  judge_races
  if [[ $failed == 1 ]]; then sed -n '/^The following tests FAILED/,$p' build/dev/all-tests.log; fi
  grep 'tests passed' build/dev/all-tests.log
fi
exit "$failed"
