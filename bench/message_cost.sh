#!/usr/bin/env bash
# message_cost.sh [PLUGIN [BYTES]]: user-space instructions that a plugin spends on one message (8 bytes), both ends
# together (irecv, isend and the tests of both; receive posted first), by callgrind. What libfabric and libc spend is not
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
# The self cost of every function of the plugin, from callgrind's own file (callgrind_annotate leaves the object's name
# out for some). Names are given once, with a number in brackets; the line after "calls=" is what the callee cost.
awk -v object="$(basename "$plugin")" -v messages="$messages" -v bytes="$bytes" '
  function name_of(table, text,   number) {
    number = text; sub(/\).*/, ")", number)
    if (text != number) table[number] = substr(text, length(number) + 2)
    return number
  }
  /^c?ob=/ { number = name_of(objects, substr($0, index($0, "=") + 1)); if ($0 ~ /^ob/) in_object = number; next }
  /^c?fn=/ { number = name_of(functions, substr($0, index($0, "=") + 1)); if ($0 ~ /^fn/) in_function = number; next }
  /^calls=/ { getline; next }
  /^[-+*0-9]/ { cost[in_object, in_function] += $2 }
  END {
    for (key in cost) {
      split(key, part, SUBSEP)
      file = objects[part[1]]; sub(/.*\//, "", file)
      if (file != object) continue
      total += cost[key]
      printf "%8.1f  %s\n", cost[key] / messages, functions[part[2]] | "sort -rn"
    }
    close("sort -rn")
    if (total == 0) { print "message_cost.sh: no instruction of " object " was counted" > "/dev/stderr"; exit 1 }
    printf "%8.1f  instructions per message of %d bytes in %s, both ends together\n", total / messages, bytes, object
  }' "$work/out"
