#!/usr/bin/env bash
# topology.sh MACHINE: emulated NICs and GPUs stand as on a machine of tests/topology/fixtures. Weft makes the devices
# that the fixture has, weft-bench moves data over them, and the real NCCL takes Weft's topology file and, for every GPU,
# the device next to it. Needs WEFT_LAB_BUILD and WEFT_LAB_NCCL. Ends with 77 when something is not there.
set -euo pipefail

skip() {
  echo "skipped: $*"
  # Where the lab is required, a test that is skipped has failed.
  [[ -z ${WEFT_LAB_REQUIRED:-} ]] || exit 1
  exit 77
}
die() {
  [[ ! -e ${log:-} ]] || tail -40 "$log"
  echo "FAILED: $*"
  exit 1
}

: "${WEFT_LAB_BUILD:?the build folder}" "${WEFT_LAB_NCCL:?the folder of the lab\'s NCCL}"
machine=${1:?usage: topology.sh MACHINE}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fixture=$here/../topology/fixtures/$machine.xml
weft=$WEFT_LAB_BUILD/bin/weft
[[ -x $weft ]] || skip "no $weft"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
cd "$scratch"
# What is not ours leaks, and is not asked.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

lab=("$here/../emulation/weft-lab" --build "$WEFT_LAB_BUILD" --machine "$fixture")
status=0
"${lab[@]}" -- true >"$log" 2>&1 || status=$?
((status != 77)) || skip "$(tail -1 "$log")"
((status == 0)) || die "weft-lab"

# The same devices as the fixture has, by the addresses of their NICs and GPUs.
"$weft" topo --from "$fixture" --json >there.json
"${lab[@]}" -- "$weft" topo --json >here.json 2>"$log" || die "weft topo"
devices=$(python3 "$here/devices.py" compare there.json here.json) || die "other devices than the fixture's"
echo "$devices devices, as the fixture has them"
((devices > 0)) || exit 0

# What NCCL is told stays where it is for as long as NCCL reads it.
if grep -q '"variable": "NCCL_BUFFSIZE"' here.json; then
  "${lab[@]}" -- "$WEFT_LAB_BUILD/bin/weft_plugin_unit_tests" --gtest_filter='EnvPluginTest.*' >"$log" 2>&1 || die "EnvPluginTest"
fi

# Data over them, without NCCL. Every rank is a host of its own.
"${lab[@]}" --node-variable WEFT_BENCH_RANK -- "$WEFT_LAB_BUILD/bin/weft-bench" all-reduce --ranks 2 -b 8 -e 1M -f 64 -n 2 \
  -w 1 >"$log" 2>&1 || die "weft-bench"
grep -q 'Out of bounds values : 0 OK' "$log" || die "weft-bench moved wrong data"

gpus=$(python3 "$here/devices.py" gpus there.json)
((gpus > 0)) || exit 0
[[ -e $WEFT_LAB_NCCL/done ]] || skip "no NCCL in $WEFT_LAB_NCCL: run tests/emulation/build_nccl.sh"
export LD_LIBRARY_PATH=$WEFT_LAB_BUILD/lib:$WEFT_LAB_BUILD/lib/emulated-cuda:$WEFT_LAB_NCCL/lib
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH NCCL_SOCKET_IFNAME=lo
export NCCL_NET_PLUGIN=weft NCCL_NET=Weft NCCL_ENV_PLUGIN=weft
# All-to-all alone: a ring goes out by the NIC that it came in by, whichever GPU that belongs to.
NCCL_TOPO_DUMP_FILE=$scratch/dump.xml "${lab[@]}" -- "$WEFT_LAB_BUILD/bin/weft-nccl-test" -p 2 -g $((gpus < 2 ? gpus : 2)) \
  -e 64K -f 16 -n 1 all-to-all >"$log" 2>&1 || die "weft-nccl-test"
grep -q 'ENV/Plugin: Using Weft' "$log" || die "NCCL did not ask Weft for its settings"
python3 "$here/devices.py" nccl here.json dump.xml "$log" || die "NCCL sees another machine"
