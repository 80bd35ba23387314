#!/usr/bin/env bash
# nccl.sh [RAILS [HOSTS [PLUGIN]]]: what the real NCCL takes for an all-reduce and an all-to-all of 16 MiB (Ring, Simple,
# one channel) over Weft, over the plugin at PLUGIN where one is named, and over its own sockets, in turn, on emulated
# GPUs and EFA NICs (tests/emulation): 4 rails, 2 hosts. GPU memory is what the NICs access; host memory, what NCCL
# stages for them. All of it shares this machine's cores. PLUGIN finds its own settings in the environment.
# WEFT_LAB_NCCL: where the lab's NCCL is installed; WEFT_BENCH_ROUNDS: of which the median is printed (3).
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
build=${WEFT_BENCH_BUILD:-$here/build/release}
nccl=${WEFT_LAB_NCCL:-${WEFT_LAB_CACHE:-$HOME/.cache/weft-lab}/nccl}
rails=${1:-4} hosts=${2:-2} other=${3:-}
[ -e "$nccl/lib/libnccl.so.2" ] || { echo "nccl.sh: no NCCL in $nccl: run tests/emulation/build_nccl.sh" >&2; exit 1; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT

export LD_LIBRARY_PATH=$build/lib:$build/lib/emulated-cuda:$nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET NCCL_SOCKET_IFNAME=lo
export NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_MIN_NCHANNELS=1 NCCL_MAX_NCHANNELS=1

# once NETWORK MEMORY COLLECTIVE: microseconds.
once() {
  local settings=()
  case $1 in
    weft) settings=(NCCL_NET_PLUGIN=weft NCCL_NET=Weft WEFT_PROTOCOL=rdma) ;;
    sockets) settings=(NCCL_NET_PLUGIN=none NCCL_NET=Socket) ;;
    *) settings=("NCCL_NET_PLUGIN=$other") ;;
  esac
  [ "$2" = GPU ] || settings+=(NCCL_NET_GDR_LEVEL=LOC)
  if ! env "${settings[@]}" "$here/tests/emulation/weft-lab" --build "$build" --nics "$rails" --rails "$rails" --gpus 1 -- \
    "$build/bin/weft-nccl-test" -T -t 120 -p "$hosts" -b 16M -e 16M -n 50 "$3" >"$log" 2>&1 ||
    ! ran_as "$1" "$2"; then
    echo "nccl.sh: $* did not run as it should: $(grep -m 1 WARN "$log" || grep -m 1 'via NET' "$log" || tail -1 "$log")" >&2
    echo failed
  else
    sed -n 's/.* bytes: \([0-9.]*\) us.*/\1/p' "$log"
  fi
}

# ran_as NETWORK MEMORY: NCCL took neither another network nor other memory.
ran_as() {
  local network=socket memory=host
  grep -q 'via NET/Socket' "$log" || network=plugin
  ! grep -q 'via NET/.*/GDRDMA' "$log" || memory=GPU
  if [ "$1" = sockets ]; then [ $network = socket ]; else [ "$network $memory" = "plugin $2" ]; fi
}

networks=(weft ${other:+other} sockets)
printf '# 16 MiB, %s hosts, %s rails; us, the median of %s rounds\n' "$hosts" "$rails" "${WEFT_BENCH_ROUNDS:-3}"
printf '# %-12s %-6s' collective memory
printf ' %12s' "${networks[@]}"
echo
for collective in all-reduce all-to-all; do
  for memory in GPU host; do
    declare -A times=()
    for ((round = 0; round < ${WEFT_BENCH_ROUNDS:-3}; round++)); do
      for network in "${networks[@]}"; do times[$network]+="$(once "$network" "$memory" "$collective") "; done
    done
    printf '  %-12s %-6s' "$collective" "$memory"
    for network in "${networks[@]}"; do
      printf ' %12s' "$(tr ' ' '\n' <<<"${times[$network]}" | grep . | sort -n | awk '
        /failed/ { bad = 1 }
        { v[NR] = $1 }
        END { print bad ? "failed" : v[int((NR + 1) / 2)] }')"
    done
    echo
  done
done
