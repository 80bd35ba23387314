#!/usr/bin/env bash
# build_libfabric.sh [DIR]: libfabric 2.1.0 with the fabric efa-direct, against rdma-core 56.1, both from Debian 13's
# source packages. DIR is libfabric/ in the lab's cache unless given. Leaves DIR/lib/libfabric.so.1 and libibverbs and
# libefa beside it, DIR/include, and DIR/bin with fi_info and libfabric's own tests; does nothing when that is done.
# Nothing is installed elsewhere.
#
# CUDA_INC: the folder of the CUDA headers (/usr/local/cuda/include). With them libfabric looks for CUDA when it runs, so
# that the emulated driver's memory is FI_HMEM_CUDA to it; without them it knows host memory alone.
# JOBS: compilers at once (one a core). DEBIAN_MIRROR: where to download from (that of apt's own configuration).
# Ends with 77 when a program, a header or the download is not to be had, with 1 on any other failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/debian_source.sh"

fabric_tarball=libfabric_2.1.0.orig.tar.xz
fabric_sum=1a66369772d5bb151737214af1c478993e969cf298e8f9ed369e7a2ab8d8c6df
rdma_tarball=rdma-core_56.1.orig.tar.gz
rdma_sum=63ce7f2baa7242c2dbc76375dac957c420187dd27f8c5e148efc07971ee522a8
headers=${CUDA_INC:-/usr/local/cuda/include}

(($# <= 1)) || die "usage: build_libfabric.sh [DIR]"
dir=${1:-$(lab_cache)/libfabric}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9>"$dir/.lock"
flock 9

cuda=without
if [[ -e $headers/cuda.h && -e $headers/cuda_runtime.h ]]; then cuda=$headers; fi
# What the result depends on. A changed key builds again; the downloads are kept.
key="$fabric_sum $rdma_sum cuda:$cuda $(sha256sum <"${BASH_SOURCE[0]}")"
if [[ $(cat "$dir/done" 2>/dev/null) == "$key" && -e $dir/lib/libfabric.so.1 ]]; then exit 0; fi
rm -f "$dir/done"

need_program g++ g++
need_program make make
need_program cmake cmake
need_program ninja ninja-build
need_program pkg-config pkg-config
need_program xz xz-utils
need_program autoconf autoconf
need_program automake automake
need_program libtoolize libtool
for module in libnl-3.0:libnl-3-dev libnl-route-3.0:libnl-route-3-dev libudev:libudev-dev; do
  pkg-config --exists "${module%%:*}" || missing "no headers of ${module%%:*}: apt-get install ${module##*:}"
done

debian_source "$dir" trixie main libfabric $fabric_tarball $fabric_sum
debian_source "$dir" trixie main rdma-core $rdma_tarball $rdma_sum
rm -rf "${dir:?}"/{rdma-core,libfabric,lib,include,bin,share}
mkdir "$dir"/{rdma-core,libfabric,lib,include}
tar -C "$dir/rdma-core" --strip-components=1 -xf "$dir/$rdma_tarball"
tar -C "$dir/libfabric" --strip-components=1 -xf "$dir/$fabric_tarball"

log=$dir/build.log
jobs=${JOBS:-$(nproc)}
: >"$log"
# step WHAT COMMAND...: its output goes to the log.
step() {
  local what=$1
  shift
  "$@" >>"$log" 2>&1 || die "$what failed, see $log: $(grep -m1 -iE 'error' "$log" || tail -1 "$log")"
}

verbs=$dir/rdma-core/build
step "configuring rdma-core" cmake -S "$dir/rdma-core" -B "$verbs" -G Ninja -DCMAKE_BUILD_TYPE=Release -DIN_PLACE=1 \
  -DNO_MAN_PAGES=1 -DNO_PYVERBS=1
step "building rdma-core" ninja -C "$verbs" -j"$jobs" lib/libibverbs.so lib/libefa.so
# Before linking: the run path finds them here.
cp -a "$verbs"/lib/libibverbs.so* "$verbs"/lib/libefa.so* "$dir/lib/"
cp -aL "$verbs/include/infiniband" "$dir/include/"

options=(-q --prefix="$dir" --disable-static --enable-efa=yes --enable-tcp=yes --enable-rxm=yes --enable-shm=yes
  --enable-udp=yes --enable-rxd=yes --disable-sockets --disable-verbs --disable-psm2 --disable-psm3 --disable-opx
  --disable-usnic --disable-cxi --disable-ucx --disable-lpp --disable-mrail --disable-sm2 --without-gdrcopy)
includes="-I$dir/include"
if [[ $cuda == without ]]; then
  options+=(--with-cuda=no)
else
  options+=(--with-cuda="$dir/cuda" --enable-cuda-dlopen)
  rm -rf "$dir/cuda"
  mkdir -p "$dir/cuda"/{include,lib}
  for header in "$cuda"/*; do ln -s "$(realpath "$header")" "$dir/cuda/include/"; done
  # libfabric asks NVML how many GPUs there are and nothing else; the CUDA headers come without NVML's.
  if [[ ! -e $dir/cuda/include/nvml.h ]]; then
    printf '%s\n' '#pragma once' 'typedef int nvmlReturn_t;' '#define NVML_SUCCESS 0' >"$dir/cuda/include/nvml.h"
  fi
fi
cd "$dir/libfabric"
if [[ ! -x configure ]]; then step "autogen of libfabric" ./autogen.sh; fi
step "configuring libfabric" env CPPFLAGS="$includes" LDFLAGS="-L$dir/lib -Wl,-rpath,$dir/lib" ./configure "${options[@]}"
step "building libfabric" make -s -j"$jobs"
step "installing libfabric" make -s install
cd fabtests
if [[ ! -x configure ]]; then step "autogen of fabtests" ./autogen.sh; fi
step "configuring fabtests" env CFLAGS=-O2 LDFLAGS="-Wl,-rpath,$dir/lib" ./configure -q --prefix="$dir" --with-libfabric="$dir"
step "building fabtests" make -s -j"$jobs"
step "installing fabtests" make -s install
echo "$key" >"$dir/done"
