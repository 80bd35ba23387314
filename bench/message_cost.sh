#!/usr/bin/env bash
# message_cost.sh [PLUGIN [BYTES]]: user-space instructions that a plugin spends on one message (8 bytes), both ends together
# (irecv, isend and the tests of both; receive posted first), by callgrind. What libfabric and libc spend is not
# counted. Repeatable for the same binaries, whatever else the machine is doing.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${WEFT_BENCH_BUILD:-$here/build/release}
plugin=${1:-$build/lib/libnccl-net-weft.so}
bytes=${2:-8}
messages=$((bytes > 65536 ? 50 : 2000))
command -v valgrind > /dev/null || { echo "message_cost.sh: valgrind is missing (package valgrind)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
valgrind --tool=callgrind --callgrind-out-file="$work/out" --collect-atstart=no \
  --toggle-collect=weft_counted_messages "$build/bin/weft-message-cost" "$plugin" "$messages" "$bytes" > "$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
# Self cost of every function, with its object in brackets: add up those of the plugin.
callgrind_annotate --threshold=100 --show=Ir "$work/out" > "$work/table"
awk -v object="$(basename "$plugin")" -v messages="$messages" -v bytes="$bytes" '
  index($0, "[") && index($0, object "]") {
    gsub(",", "", $1); total += $1
    name = $0; sub(/^[^:]*:/, "", name); sub(/ \[.*/, "", name); printf "%8.1f  %s\n", $1 / messages, name
  }
  END {
    if (total == 0) { print "message_cost.sh: no instruction of " object " was counted" > "/dev/stderr"; exit 1 }
    printf "%8.1f  instructions per message of %d bytes in %s, both ends together\n", total / messages, bytes, object
  }' "$work/table"
