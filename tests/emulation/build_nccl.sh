#!/usr/bin/env bash
# build_nccl.sh [DIR]: NCCL for the lab, from Debian's source package, with g++ alone: no GPU, no nvcc, no CUDA library.
# DIR is nccl/ in the lab's cache unless given. Leaves DIR/lib/libnccl.so.2 and DIR/include/nccl.h, and does nothing when
# that is done. The library needs a libcudart.so.13 that it finds through LD_LIBRARY_PATH: any build's emulated one.
#
# CUDA_INC: the folder of the CUDA 13 headers (/usr/local/cuda/include). JOBS: compilers at once (one a core).
# DEBIAN_MIRROR: where to download from (that of apt's own configuration). Or put the tarball into DIR by hand.
# Ends with 77 when the headers or the download are not to be had, with 1 on any other failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/debian_source.sh"

upstream=2.29.7-1
sum=e67239212c395bfdb398a7519491840d06fdf6b599c299f97c7ed0109777bba1
tarball=nvidia-nccl_$upstream.orig.tar.gz
headers=${CUDA_INC:-/usr/local/cuda/include}
stub=$here/cuda/libnccl
stub_sources=("$stub"/{device_stub.cc,host.mk,layout_check.cc} "$here"/cuda/nccl/{device_image,layout}.h)

(($# <= 1)) || die "usage: build_nccl.sh [DIR]"
dir=${1:-$(lab_cache)/nccl}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9>"$dir/.lock"
flock 9

# What the result depends on. A changed key builds again; the download is kept.
key="$upstream $sum $headers $(cat "${stub_sources[@]}" "${BASH_SOURCE[0]}" | sha256sum)"
if [[ $(cat "$dir/done" 2>/dev/null) == "$key" && -e $dir/lib/libnccl.so.2 ]]; then exit 0; fi
rm -f "$dir/done"

need_program g++ g++
need_program make make
need_program python3 python3
need_program nm binutils
for header in cuda.h cuda_runtime.h cudaTypedefs.h cuda_bf16.h crt/host_config.h; do
  [[ -e $headers/$header ]] ||
    missing "no $headers/$header: install the CUDA 13 headers, or set CUDA_INC to the folder that holds them"
done
[[ -e $headers/cccl/cuda/atomic || -e $headers/cuda/atomic ]] ||
  missing "no cuda/atomic below $headers: install CCCL's headers, which come with CUDA's"
version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$headers/cuda.h")
((version >= 13000 && version < 14000)) || missing "the CUDA headers in $headers are version $version; 13 is needed"

# By its full version: when Debian has another one, that is a download that cannot be had.
debian_source "$dir" sid contrib "nvidia-nccl=$upstream-1" "$tarball" "$sum"
source_dir=$dir/nccl-$upstream
if [[ ! -e $source_dir/.unpacked ]]; then
  rm -rf "$source_dir"
  tar -C "$dir" -xf "$dir/$tarball"
  [[ -d $source_dir/src ]] || die "no nccl-$upstream/src in $tarball"
  touch "$source_dir/.unpacked"
fi

# Objects of another compiler, of other headers or of other flags do not serve; those of a stopped build do.
object_key="$upstream $headers $(g++ -dumpfullversion) $(sha256sum <"$stub/host.mk")"
if [[ $(cat "$dir/object_key" 2>/dev/null) != "$object_key" ]]; then rm -rf "$dir/obj" "$dir/include"; fi
rm -rf "${dir:?}/lib" "$dir/cuda" "$dir/link"
echo "$object_key" >"$dir/object_key"

# CUDA's headers without the NCCL headers that may lie beside them: those of another version would win.
mkdir "$dir/cuda" "$dir/link"
for header in "$headers"/*; do
  [[ ${header##*/} == nccl* ]] || ln -s "$(realpath "$header")" "$dir/cuda/"
done
# To link with: only the name counts, the emulated runtime is found at run time.
g++ -shared -x c++ /dev/null -Wl,-soname,libcudart.so.13 -o "$dir/link/libcudart.so"

log=$dir/build.log
make -s -j"${JOBS:-$(nproc)}" -C "$source_dir/src" -f "$stub/host.mk" BUILDDIR="$dir" STUB="$stub" CUDARTLIB=cudart \
  CUDA_HOME=/nonexistent CUDA_INC="$dir/cuda" CUDA_LIB="$dir/link" CUDA_MAJOR=$((version / 1000)) \
  CUDA_MINOR=$((version % 1000 / 10)) NVCC_GENCODE= >"$log" 2>&1 ||
  die "NCCL does not build, see $log: $(grep -m1 -E 'error|Error' "$log" || tail -1 "$log")"
echo "$key" >"$dir/done"
