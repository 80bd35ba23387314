#!/usr/bin/env bash
# Every header compiles alone: it includes what it uses. Argument: the folder of libfabric's headers, if it is not
# one of the compiler's own.
. "$(dirname "$0")/common.sh"
need g++

mapfile -t headers < <(files '*.h')
flags=(-std=c++23 -fsyntax-only -Wall -Wextra -Iinclude -I. -x c++)
if [[ -n ${1:-} && $1 != /usr/include ]]; then flags+=(-isystem "$1"); fi
check_header() {
  local header=$1
  shift
  if ! g++ "$@" -include "$header" /dev/null; then
    echo "$header:1: does not compile alone"
    return 1
  fi
}
export -f check_header

# The emulated EFA's need rdma-core's headers, which come with the lab's libfabric.
lab=$(. tests/emulation/debian_source.sh && lab_cache)/libfabric/include
if [[ -e $lab/infiniband/efadv.h ]]; then
  flags+=(-idirafter "$lab")
else
  mapfile -t headers < <(printf '%s\n' "${headers[@]}" | grep -v '^tests/emulation/efa/')
  echo "note: headers of tests/emulation/efa are left out, there is no $lab/infiniband/efadv.h"
fi
if ! printf '%s\0' "${headers[@]}" | xargs -0 -P "$(jobs_that_fit)" -I{} bash -c 'check_header "$@"' _ {} "${flags[@]}"; then
  violation "include what these headers use, in the headers themselves"
fi
finish "${#headers[@]} headers"
