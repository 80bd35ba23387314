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
if ! printf '%s\0' "${headers[@]}" | xargs -0 -P "$(jobs_that_fit)" -I{} bash -c 'check_header "$@"' _ {} "${flags[@]}"; then
  violation "include what these headers use, in the headers themselves"
fi
finish "${#headers[@]} headers"
