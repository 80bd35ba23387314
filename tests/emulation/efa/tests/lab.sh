#!/usr/bin/env bash
# lab.sh CASE: libfabric's own programs, and our tests of every knob, on emulated NICs. One case a
# call; the functions named case_... are the cases. Needs WEFT_LAB_BUILD, a build folder. Ends with 77 when something is not there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
  echo "skipped: $*"
  # Where the lab is required, a test that is skipped has failed.
  [[ -z ${WEFT_LAB_REQUIRED:-} ]] || exit 1
  exit 77
}
die() {
  echo "FAILED: $*"
  exit 1
}

: "${WEFT_LAB_BUILD:?the build folder}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log

# lab ARGUMENT...: weft-lab; its output goes to $log. A missing part is a skip.
lab() {
  local status=0
  # The whole process group: nothing of a case that hangs stays behind.
  timeout --kill-after=10 1000 "$here/../../weft-lab" --build "$WEFT_LAB_BUILD" "$@" >"$log" 2>&1 || status=$?
  ((status != 77)) || skip "$(tail -1 "$log")"
  return "$status"
}
passes() {
  lab "$@" || {
    tail -40 "$log"
    die "weft-lab $*"
  }
}
# says COUNT PATTERN: so many lines of the log match.
says() {
  (($(grep -cE -- "$2" "$log") == $1)) || {
    cat "$log"
    die "not $1 lines like $2"
  }
}

# pair PROGRAM ARGUMENT...: one of libfabric's tests, server and client on two hosts. The client tries until the server
# listens.
pair() {
  # Not one that the system gives to connections (32768 and up).
  local port=$((10000 + $$ % 20000))
  # shellcheck disable=SC2016 # for the shell inside
  passes --nics 1 -- bash -c '
    port=$1; shift
    WEFT_LAB_NODE=0 "$@" -E="$port" & server=$!
    listens=$(printf ":%04X 00000000:0000 0A" "$port")
    until grep -q "$listens" /proc/net/tcp; do kill -0 $server || exit 1; sleep 0.1; done
    WEFT_LAB_NODE=1 "$@" -E="$port" 127.0.0.1 || { kill $server; exit 1; }
    wait $server
    weft-efactl counters' bash "$port" "$@"
  grep -E '^1m|^4k|^[01]:0' "$log" || true
}

# suite NAME: our tests of the knobs on plain libfabric, in one process with two NICs.
suite() {
  local program=$WEFT_LAB_BUILD/bin/weft-efa-tests
  [[ -x $program ]] || skip "no $program: libfabric came after this build folder was configured, configure it again"
  passes --nics 2 -- "$program" --gtest_filter="$1Test.*:*/$1Test.*"
  says 1 '  PASSED  . [1-9][0-9]* test'
  grep OK "$log"
}
# counted COUNTER: some NIC counted something.
counted() { grep -qE " $1=[1-9]" "$log" || die "$1 is 0 on all NICs: $(grep -E '^[0-9]+:' "$log")"; }

case_devices() {
  passes --nics 4 -- fi_info -p efa
  says 8 'fabric: efa$'
  says 4 'fabric: efa-direct$'
  for nic in 0 1 2 3; do says 2 "domain: efa_$nic-rdm"; done
}
case_tagged-pingpong() { pair fi_rdm_tagged_pingpong -p efa -v -I 20; }
case_pingpong-direct() { pair fi_rdm_pingpong -p efa -f efa-direct -v -I 20 -S 4096; }
case_writedata() { pair fi_rma_bw -p efa -f efa -o writedata -v -I 20; }
case_writedata-direct() {
  pair fi_rma_bw -p efa -f efa-direct -o writedata -v -I 20
  counted unsolicited
}
case_read-direct() {
  pair fi_rma_bw -p efa -f efa-direct -o read -v -I 20
  counted reads
}
case_datagram() { pair fi_dgram_pingpong -k -p efa -v -I 20 -S 1024; }

case_order() { suite Order; }
case_failure() { suite Failure; }
case_direct() { suite Direct; }
case_peer() { suite Peer; }
case_dma-buf() { suite DmaBuf; }
case_default-places() { suite DefaultPlaces; }
case_sysfs() { suite Sysfs; }

# PCI places are what was asked for, with their bridges above them, also for libfabric.
case_pci() {
  # shellcheck disable=SC2016 # for the shell inside
  passes --nics 2 --pci 0000:10:01.0/0000:11:00.0,0000:10:02.0/0000:12:00.0 --gpu-pci 0000:10:03.0/0000:13:00.0 \
    --numa 0,1 -- bash -c '
    fi_info -p efa -f efa-direct -v | grep -E "bus_id"
    ls -d /sys/devices/pci0000:10/*/*:00.0
    for device in 0000:10:01.0 0000:11:00.0 0000:13:00.0; do cat /sys/bus/pci/devices/$device/class; done
    cat /sys/bus/pci/devices/0000:12:00.0/numa_node'
  says 1 'bus_id: 17$'
  says 1 'bus_id: 18$'
  says 3 '^/sys/devices/pci0000:10/0000:10:0[123].0/0000:1[123]:00.0$'
  says 1 '^0x060400$'
  says 1 '^0x020000$'
  says 1 '^0x030200$'
  says 1 '^1$'
}

# hwloc finds them below /sys, and below the root of the host's own tree.
case_hwloc() {
  command -v lstopo-no-graphics >/dev/null || skip "no lstopo-no-graphics: apt-get install hwloc-nox"
  local places=(
    --pci "0000:20:01.0/0000:21:00.0/0000:22:01.0/0000:23:00.0,0000:30:01.0/0000:31:00.0/0000:32:01.0/0000:33:00.0"
    --gpu-pci "0000:20:01.0/0000:21:00.0/0000:22:02.0/0000:24:00.0,0000:30:01.0/0000:31:00.0/0000:32:02.0/0000:34:00.0")
  local root tree='  HostBridge
    PCIBridge
      PCIBridge
        PCIBridge
          PCI 23:00.0 (Ethernet)
            OpenFabrics "efa_0"
        PCIBridge
          PCI 24:00.0 (3D)
  HostBridge
    PCIBridge
      PCIBridge
        PCIBridge
          PCI 33:00.0 (Ethernet)
            OpenFabrics "efa_1"
        PCIBridge
          PCI 34:00.0 (3D)'
  # shellcheck disable=SC2016 # for the shell inside
  for root in "" '/dev/shm/weft-efa.$WEFT_LAB_EFA_DOMAIN.sysfs.0'; do
    passes --nics 2 --gpus 2 "${places[@]}" -- bash -c "ls /sys/bus/pci; ${root:+HWLOC_FSROOT=$root }lstopo-no-graphics"
    diff <(grep -E 'Bridge|PCI|OpenFabrics' "$log") <(echo "$tree") || die "hwloc sees another tree (HWLOC_FSROOT=$root)"
  done
}

# Left-overs of a killed run are gone after the next one.
case_left-overs() {
  # shellcheck disable=SC2016 # for the shell inside
  lab --nics 1 -- bash -c 'fi_info -p efa && ls -d /dev/shm/weft-efa.$WEFT_LAB_EFA_DOMAIN.* && kill -KILL $PPID $$' || true
  local left
  left=$(grep '^/dev/shm/weft-efa' "$log") || die "the killed run had nothing in shared memory"
  passes --nics 1 -- true
  for path in $left; do [[ ! -e $path ]] || die "$path is still there"; done
}

if (($# != 1)) || [[ $(type -t "case_${1:-}") != function ]]; then die "usage: lab.sh CASE"; fi
"case_$1"
