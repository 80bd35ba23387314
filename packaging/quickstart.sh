#!/usr/bin/env bash
# From a checkout to moving data, in one command, on Debian 12 and later (and systems like it).
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: packaging/quickstart.sh          build Weft, then run all-reduce and all-to-all on 4 ranks of this machine
       packaging/quickstart.sh test     build Weft and run the whole test suite, also under the sanitizers and the fuzzer
       packaging/quickstart.sh tidy     run clang-tidy over every source file

Missing Debian packages are installed by name first, as root or through sudo.
TEXT
}

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
die() {
  printf 'quickstart: %s\n' "$*" >&2
  exit 1
}

build_packages=(g++ cmake ninja-build nlohmann-json3-dev libcli11-dev libhwloc-dev)
# The headers to build with and the library to run with. Amazon's EFA installer brings newer ones.
if [[ ! -e /opt/amazon/efa/include/rdma/fabric.h ]]; then build_packages+=(libfabric-dev libfabric1); fi
test_packages=(ccache git libgtest-dev libgmock-dev libbenchmark-dev gnuplot-nox hwloc-nox valgrind shellcheck
  clang-19 libclang-rt-19-dev clang-format-19 clang-tidy-19)
# What the lab builds libfabric and NCCL with, from Debian's source packages.
lab_packages=(autoconf automake binutils debian-archive-keyring libnl-3-dev libnl-route-3-dev libtool libudev-dev make
  pkg-config python3 xz-utils)

install_missing() {
  local package missing=() as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this script installs with apt-get, which this system does not have. Install what these Debian packages bring" \
      "($*), then run: cmake --preset release -DWEFT_BUILD_TESTS=OFF && cmake --build --preset release && build/release/bin/weft-bench --help"
  fi
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
  done
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      die "these packages are missing and neither root nor sudo is here to install them: ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  # A machine that has just started may still be at its own upgrades: wait for them.
  "${as_root[@]}" apt-get update -q -o DPkg::Lock::Timeout=300 ||
    echo "quickstart: apt-get update failed; trying with the package lists that are here" >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y -o DPkg::Lock::Timeout=300 \
    --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install: ${missing[*]}"
}

# One compiler a core, as long as each has 1.5 GiB of memory.
parallel_jobs() {
  local jobs free_kib limit used
  jobs=$(nproc)
  free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  used=$(cat /sys/fs/cgroup/memory.current 2>/dev/null || echo 0)
  if [[ $limit =~ ^[0-9]+$ ]] && (((limit - used) / 1024 < free_kib)); then free_kib=$(((limit - used) / 1024)); fi
  ((free_kib / 1572864 < jobs)) && jobs=$((free_kib / 1572864))
  echo $((jobs > 0 ? jobs : 1))
}

# build PRESET [TARGET...]: configures and builds.
build() {
  local preset=$1 options=() targets=()
  shift
  if (($# > 0)); then targets=(--target "$@"); fi
  # Compilers newer than those we test with may warn about new things; that must not stop anybody.
  if [[ $preset != fuzz ]] && (($(g++ -dumpversion | cut -d. -f1) > 14)); then options+=(-DWEFT_WERROR=OFF); fi
  # Without the tests' packages only the rest can be built.
  if [[ ! -e /usr/include/gtest/gtest.h ]]; then options+=(-DWEFT_BUILD_TESTS=OFF); fi
  # What was compiled before, in whichever folder, need not be compiled again.
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER:-} ]] && command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  fi
  say "building preset $preset"
  cmake --preset "$preset" "${options[@]}"
  cmake --build --preset "$preset" --parallel "$(parallel_jobs)" "${targets[@]}"
}

run_benchmarks() {
  install_missing "${build_packages[@]}"
  build release nccl-net-weft weft-bench weft
  local pattern
  for pattern in all-reduce all-to-all; do
    say "weft-bench $pattern --ranks 4"
    build/release/bin/weft-bench "$pattern" --ranks 4 -b 8 -e 16M -f 2 -n 5 -w 1
  done
  say "built: build/release/lib/libnccl-net-weft.so; weft-bench and weft (weft topo) in build/release/bin"
}

# The software that runs on emulated NICs and GPUs: built once a machine. Without it the tests that need it are skipped.
prepare_lab() {
  local script status
  export WEFT_LAB_CACHE=${WEFT_LAB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/weft-lab}
  for script in build_libfabric build_nccl; do
    say "the lab: $script.sh"
    status=0
    JOBS=$(parallel_jobs) "tests/emulation/$script.sh" || status=$?
    if ((status == 77)); then
      [[ -z ${WEFT_LAB_REQUIRED:-} ]] || die "the lab is required here, and $script.sh could not get what it needs"
      echo "quickstart: tests that need it will be skipped"
    elif ((status != 0)); then
      die "$script.sh failed"
    fi
  done
}

run_tests() {
  install_missing "${build_packages[@]}" "${test_packages[@]}" "${lab_packages[@]}"
  prepare_lab
  local preset targets=()
  for preset in release asan tsan fuzz; do
    if [[ $preset == fuzz ]]; then targets=(wire_fuzz); fi
    build "$preset" "${targets[@]}"
    say "testing preset $preset"
    ctest --preset "$preset"
  done
}

run_tidy() {
  install_missing "${build_packages[@]}" "${test_packages[@]}"
  say "clang-tidy over the sources of preset dev"
  cmake --preset dev
  tests/gates/tidy.sh build/dev
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
case "$#:${1:-}" in
  0:) run_benchmarks ;;
  1:test) run_tests ;;
  1:tidy) run_tidy ;;
  1:-h | 1:--help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac
