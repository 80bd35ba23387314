#!/usr/bin/env bash
# rails.sh [RAILS [MBPS]]: what several rails bring, and what is left when one dies: weft-bench p2p over emulated EFA
# NICs (tests/emulation) that are capped at MBPS each (4 NICs of 1000 Mbit/s), once with all of them and once with one
# that dies while the connection is young. The caps are the emulator's, so that only the shares say something.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${WEFT_BENCH_BUILD:-$here/build/release}
rails=${1:-4}
mbps=${2:-1000}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# measure KNOB: rows "bytes GB/s", with that knob set on the last NIC of rank 0.
measure() {
  # shellcheck disable=SC2016 # for the shell inside, which sets the knob before a rank opens the NIC
  "$here/tests/emulation/weft-lab" --build "$build" --nics "$rails" --rails "$rails" --node-variable WEFT_BENCH_RANK \
    --knobs "bandwidth_mbps=$mbps" -- bash -c 'weft-efactl set "$0" "bandwidth_mbps=$1" "$2" && exec "${@:3}"' \
    "0:$((rails - 1))" "$mbps" "$1" "$build/bin/weft-bench" p2p -b 64K -e 16M -f 16 --rounds 15 --connects 0 \
    >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  awk '/^ +[0-9]+ / { print $1, $4 }' "$log"
}

before=$(measure fail_after=0)
# Behind the messages that connect the two.
after=$(measure fail_after=20)
grep -q 'rail .* failed: ' "$log" || { echo "rails.sh: no NIC died" >&2; exit 1; }
paste -d ' ' <(echo "$before") <(echo "$after") | awk -v rails="$rails" -v mbps="$mbps" '
  BEGIN {
    printf "# %d rails of %d Mbit/s, 8 messages in flight\n", rails, mbps
    printf "#%10s %12s %12s %14s %14s\n", "bytes", "all (GB/s)", "of the cap", "one dead", "of all"
  }
  { printf "%11d %12.3f %12.3f %14.3f %14.3f\n", $1, $2, $2 * 8000 / (rails * mbps), $4, $4 / $2 }'
