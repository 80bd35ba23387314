#!/usr/bin/env bash
# raw.sh [RAILS [RUNS]]: what Weft costs over libfabric itself: weft-bench p2p over RAILS emulated EFA NICs (4), beside
# bare writes with immediate data over one NIC and, spread as Weft spreads them, over all. Prints the median of RUNS runs
# (5) and the range they lay in: single runs differ by several percent on a machine that does other things too.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${WEFT_BENCH_BUILD:-$here/build/release}
rails=${1:-4}
runs=${2:-5}
[[ $rails =~ ^[1-8]$ && $runs =~ ^[1-9][0-9]*$ ]] || { echo "usage: bench/raw.sh [RAILS, 1 to 8 [RUNS]]" >&2; exit 2; }
export WEFT_PROTOCOL=rdma
raw=(--raw-write)
((rails == 1)) || raw+=(--raw-rails "$rails")
log=$(mktemp)
figures=$(mktemp)
trap 'rm -f "$log" "$figures"' EXIT

# run BYTES: adds "what raw ratio" lines to the figures; raw: 1 or the number of rails.
run() {
  "$here/tests/emulation/weft-lab" --build "$build" --nics "$rails" --rails "$rails" --node-variable WEFT_BENCH_RANK \
    -- "$build/bin/weft-bench" p2p "${raw[@]}" -b "$1" -e "$1" --rounds 15 --connects 0 \
    >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  awk -v rails="$rails" -v size="$1" '
    # The ratios are the last columns of a row: latency and bandwidth to each of the raw sides.
    /^ +[0-9]+ / {
      for (i = 0; i < (rails > 1 ? 2 : 1); ++i) {
        column = rails > 1 ? NF - 3 + 2 * i : NF - 1
        raw = i == 0 ? 1 : rails
        if (size == "8") print "8_B_latency", raw, $column; else print size "iB_bandwidth", raw, $(column + 1)
      }
    }
    size == "8" && /message rate/ {
      count = split($0, part, "ratio")
      for (i = 0; i < (rails > 1 ? 2 : 1); ++i) {
        words = split(part[count - (rails > 1 ? 1 - i : 0)], word, /[ ,]+/)
        print "8_B_message_rate", (i == 0 ? 1 : rails), part[count] ~ /^ to/ && i == 0 ? word[words - 1] : word[words]
      }
    }' "$log" >>"$figures"
}

for ((i = 0; i < runs; ++i)); do
  for bytes in 8 64K 1M; do run "$bytes"; done
done
echo "# Weft on $rails rails, as a ratio to bare libfabric on the same emulated NICs; median (least to most) of $runs runs"
for what in 8_B_latency 8_B_message_rate 64KiB_bandwidth 1MiB_bandwidth; do
  for raw in $(printf '%s\n' 1 "$rails" | sort -nu); do
    awk -v what="$what" -v raw="$raw" '$1 == what && $2 == raw { print $3 }' "$figures" | sort -n |
      awk -v what="${what//_/ }" -v raw="$raw" '
        { value[NR] = $1 }
        END {
          middle = NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2
          printf "%-18s to %s NIC%s %6.3f (%.3f to %.3f)\n", what, raw, (raw > 1 ? "s:" : ": "), middle, value[1], value[NR]
        }'
  done
done
