#!/usr/bin/env bash
# nccl.sh CASE: the real NCCL loads Weft and moves data between hosts that are processes of this machine. One case a
# call; the functions named case_... are the cases. Needs WEFT_LAB_BUILD, a build folder, and WEFT_LAB_NCCL, where
# build_nccl.sh put NCCL. Ends with 77 when something is not there.
# shellcheck disable=SC2317 # the cases are called by name
set -euo pipefail

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

: "${WEFT_LAB_BUILD:?the build folder}" "${WEFT_LAB_NCCL:?the folder of the lab\'s NCCL}"
[[ -e $WEFT_LAB_NCCL/done ]] || skip "no NCCL in $WEFT_LAB_NCCL: run tests/emulation/build_nccl.sh"
program=$WEFT_LAB_BUILD/bin/weft-nccl-test
[[ -x $program ]] || skip "no $program: NCCL came after this build folder was configured, configure it again"

lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
# Some of libfabric's providers write a backtrace into the working folder when a process dies.
cd "$scratch"

# Library folders: the plugin's, the emulated CUDA's, NCCL's.
export LD_LIBRARY_PATH=$WEFT_LAB_BUILD/lib:$WEFT_LAB_BUILD/lib/emulated-cuda:$WEFT_LAB_NCCL/lib
export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV NCCL_SOCKET_IFNAME=lo
export NCCL_NET_PLUGIN=weft NCCL_NET=Weft
# LL128 orders its stores by the hardware's rules, which the emulator does not have.
export NCCL_PROTO=^LL128
export WEFT_PROVIDER=tcp WEFT_INTERFACES=lo
# NCCL keeps memory until the process ends; that is not ours to report.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# What stands before the command: weft-lab, where there are NICs.
before=()

# run ARGUMENT...: weft-nccl-test; its output, with NCCL's log, goes to $log. Returns its status.
run() {
  "${before[@]}" "$program" "$@" >"$log" 2>&1
}
# says PATTERN MEANING: a line of the log must match.
says() {
  grep -Eq -- "$1" "$log" || {
    tail -40 "$log"
    die "$2 (no line like: $1)"
  }
}
# passes ARGUMENT...: all data right, over Weft.
passes() {
  run "$@" || {
    tail -40 "$log"
    die "weft-nccl-test $*"
  }
  says 'Assigned NET plugin Weft to comm' "NCCL took Weft"
  says 'NET/Weft: Weft [0-9.]+, libfabric .* provider [a-z]+' "Weft said what it runs on"
  grep -E 'data correct|sees:' "$log" | sort | uniq -c
}

# with_nics N OPTION...: N emulated EFA NICs on each host; the options are weft-lab's.
with_nics() {
  local status=0 nics=$1
  shift
  before=("$lab/../emulation/weft-lab" --build "$WEFT_LAB_BUILD" --nics "$nics" --gpus 1 "$@" --)
  unset WEFT_PROVIDER WEFT_INTERFACES
  "${before[@]}" true >"$log" 2>&1 || status=$?
  ((status != 77)) || skip "$(tail -1 "$log")"
  ((status == 0)) || die "$(tail -1 "$log")"
}

case_tcp-2() {
  passes -p 2 -T
  says '^all-reduce of 16777216 bytes: [1-9][0-9]*\.[0-9] us, the mean of 2$' "it was timed"
}
case_tcp-4() { passes -p 4; }
case_tcp-8() { passes -p 8; }
case_types() { passes -p 2 -b 1K -e 64K -f 64 -n 1 -d all -o all all-reduce reduce-scatter reduce; }
# NCCL's buffers in host memory.
case_efa-2() {
  with_nics 1
  NCCL_NET_GDR_LEVEL=LOC passes -p 2
  says 'provider efa' "Weft took the NICs"
  says 'GDR 0' "NCCL kept its buffers in host memory"
}
case_efa-8() {
  with_nics 2 --rails 2
  passes -p 8
  says 'provider efa .* 1 device' "two NICs are one device"
}
# The send/receive transport on the same NICs.
case_efa-messages() {
  with_nics 1
  WEFT_PROTOCOL=sendrecv passes -p 4
  says 'provider efa.* send/receive protocol' "Weft took the NICs, and messages"
}
# Several NICs that make one device, and packets that overtake each other.
case_efa-rails() {
  with_nics 4 --rails 4 --knobs reorder=16
  passes -p 4 -e 2M
  says 'provider efa .* 1 device' "four NICs are one device"
}
# The NICs read and write GPU memory themselves, as they share a switch with the GPU: libfabric registers it with the
# emulated driver.
case_efa-gpu-memory() {
  with_nics 4 --rails 4
  passes -p 2 -e 4M
  says 'device 0 is .* memory: host, GPU' "Weft serves GPU memory"
  says 'GDR 1' "NCCL gave the NICs GPU memory"
}
# NICs 0 and 1 share a switch with GPU 0, NICs 2 and 3 one with GPU 1: NCCL sees it, and every GPU uses the NICs near it.
case_efa-topology() {
  local a=0000:20:01.0/0000:21:00.0/0000:22 b=0000:30:01.0/0000:31:00.0/0000:32
  with_nics 4 --gpus 2 --rails 1 --pci "$a:01.0/0000:23:00.0,$a:02.0/0000:24:00.0,$b:01.0/0000:33:00.0,$b:02.0/0000:34:00.0" \
    --gpu-pci "$a:03.0/0000:25:00.0,$b:03.0/0000:35:00.0"
  NCCL_TOPO_DUMP_FILE=$scratch/topology NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH passes -p 2 -g 2 -e 256K all-to-all
  says 'device 0 is .* PCI /sys/devices/pci0000:20/0000:20:01.0/0000:21:00.0/0000:22:01.0/0000:23:00.0,' "Weft found NIC 0"
  says 'device 3 is .* PCI /sys/devices/pci0000:30/0000:30:01.0/0000:31:00.0/0000:32:02.0/0000:34:00.0,' "Weft found NIC 3"
  # What is below which bridge, in NCCL's own file.
  diff <(awk -F'"' '/class="0x0604/ { bridge = $2 } /<net / { print bridge, "NIC", $4 } /<gpu / { print bridge, "GPU", $2 }' \
    "$scratch/topology") - <<'TEXT' || die "NCCL sees another tree"
0000:21:00.0 NIC 0
0000:21:00.0 NIC 1
0000:21:00.0 GPU 0
0000:31:00.0 NIC 2
0000:31:00.0 NIC 3
0000:31:00.0 GPU 1
TEXT
  # Of "0[0] -> 3[1] [receive] via NET/Weft/2/GDRDMA" the GPU is 1, that of the sender where it says "send".
  says '\[(send|receive)\] via NET/Weft/[0-3]/GDRDMA' "NICs access GPU memory"
  if grep -E '\[0\] (-> .* \[send\]|\[receive\]) via NET/Weft/[23]' "$log" ||
    grep -E '\[1\] (-> .* \[send\]|\[receive\]) via NET/Weft/[01]' "$log"; then die "a GPU uses a NIC far from it"; fi
}
# NCCL makes one device of the two NICs under a switch: with RDMA writes its messages go over both, with messages its
# connections take turns.
fused() {
  with_nics 4 --gpus 2 --rails 1
  WEFT_PROTOCOL=$1 NCCL_NET_MERGE_LEVEL=PIX NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH passes -p 2 -g 2 -e 4M all-reduce all-to-all
  says 'device 4 is efa_0-rdm\+efa_1-rdm: NCCL made it one, 200000 Mb/s' "Weft made the first pair one"
  says 'device 5 is efa_2-rdm\+efa_3-rdm: NCCL made it one, 200000 Mb/s' "Weft made the second pair one"
  says '\[(send|receive)\] via NET/Weft/[45]' "NCCL uses what it made"
  ! grep -E '\[(send|receive)\] via NET/Weft/[0-3]' "$log" || die "NCCL uses a part besides the whole"
}
# NCCL forgets what it made when it begins again; the second communicator must not find the first one's.
case_efa-fused-again() {
  with_nics 4 --gpus 2 --rails 1
  export NCCL_NET_MERGE_LEVEL=PIX NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH
  mkdir "$scratch/plugin"
  ln -s "$(realpath "$WEFT_LAB_BUILD/lib/libnccl-net-weft.so")" "$scratch/plugin/libnccl-net.so"
  (
    unset NCCL_NET_PLUGIN # by its usual name, as in case_recreate
    LD_LIBRARY_PATH=$scratch/plugin:$LD_LIBRARY_PATH passes -p 2 -g 2 -e 64K -s recreate
  )
  fused_alike
  NCCL_NET_PLUGIN_REF_COUNT=1 passes -p 2 -g 2 -e 64K -s recreate
  fused_alike
}
fused_alike() {
  says 'device 5 is efa_2-rdm\+efa_3-rdm: NCCL made it one' "Weft made the second pair one"
  ! grep -E 'device 6 is|Tried merging multiple devices together and failed' "$log" || die "NCCL makes one of what was one"
}
case_efa-fused() { fused rdma; }
case_efa-fused-messages() { fused sendrecv; }
# Nobody says where they are: a NIC and a GPU still share a switch.
case_efa-default-places() {
  with_nics 2 --gpus 2
  NCCL_DEBUG_SUBSYS=INIT,NET,ENV,GRAPH passes -p 2 -g 2 -e 64K all-reduce
  says 'GPU/0-53000 :.* NET/0-0 \([^)]*/PIX\) NET/0-1 \([^)]*/PHB\)' "NIC 0 is near GPU 0"
  says 'GPU/0-64000 :.* NET/0-0 \([^)]*/PHB\) NET/0-1 \([^)]*/PIX\)' "NIC 1 is near GPU 1"
}
# One of four NICs of each host dies after some writes: the collectives go on with right data.
case_efa-failover() {
  with_nics 4 --rails 4 --knobs 2:fail_after=60
  passes -p 2 -e 4M
  says 'WARN NET/Weft: rail efa_2-rdm to peer .* failed: .* Going on over 3 of 4 rails' "a NIC died in mid-run"
}
case_ll() { NCCL_PROTO=LL WEFT_LAB_CUDA_TRACE=2 passes -p 3 -e 256K && says 'AllReduce Sum f32 RING LL' "LL was used"; }
case_tree() {
  NCCL_ALGO=allreduce:tree WEFT_LAB_CUDA_TRACE=2 passes -p 4 -e 2M all-reduce
  says 'AllReduce Sum f32 TREE (LL|SIMPLE)' "the tree was used"
}
case_pat() {
  NCCL_ALGO=PAT NCCL_PROTO=Simple WEFT_LAB_CUDA_TRACE=2 passes -p 5 -e 2M all-gather reduce-scatter
  says 'AllGather PAT SIMPLE' "PAT gathered"
  says 'ReduceScatter Sum f32 PAT SIMPLE' "PAT scattered"
}
case_registered() { passes -p 2 -R; }
# Several GPUs in a process, and so several connections between two hosts.
case_gpus() { passes -p 2 -g 3 -e 2M; }
# NICs that access GPU memory, and GPUs that send through each other's NIC: receives for several GPUs come in one call.
case_pxn() {
  export WEFT_LAB_PLUGIN=$WEFT_LAB_BUILD/lib/libnccl-net-weft.so
  NCCL_NET_PLUGIN=$WEFT_LAB_BUILD/lib/libweft-gpu-direct-net.so NCCL_TOPO_FILE=$lab/two_gpus.xml \
    passes -p 3 -g 2 -e 2M
  says 'GDR 1' "NCCL took the NIC for one that accesses GPU memory"
  says ' [1-9][0-9]* registrations of GPU memory' "GPU memory was registered"
  says ' [1-9][0-9]* grouped receives' "receives were grouped"
}
# Registered buffers that the network itself reads and writes, without NCCL's own in between.
case_zero-copy() {
  export WEFT_LAB_PLUGIN=$WEFT_LAB_BUILD/lib/libnccl-net-weft.so
  NCCL_NET_PLUGIN=$WEFT_LAB_BUILD/lib/libweft-gpu-direct-net.so NCCL_NET_GDR_LEVEL=SYS NCCL_DEBUG_SUBSYS=INIT,NET,ENV,REG \
    passes -p 3 -R
  says 'deregistered net buffer' "buffers were registered with the network"
}
case_split() { passes -p 4 -s split -e 256K; }
# The plugin is unloaded with the last communicator, and loaded again. NCCL 2.29 forgets its name meanwhile and asks for
# libnccl-net.so, so that is what it is called here.
case_recreate() {
  mkdir "$scratch/plugin"
  ln -s "$WEFT_LAB_BUILD/lib/libnccl-net-weft.so" "$scratch/plugin/libnccl-net.so"
  unset NCCL_NET_PLUGIN
  LD_LIBRARY_PATH=$scratch/plugin:$LD_LIBRARY_PATH passes -p 2 -s recreate -e 256K all-reduce all-to-all
  (($(grep -c 'NET/Weft: Weft [0-9.]' "$log") == 6)) || die "each of 2 processes loads Weft three times"
  (($(grep -c 'Unloading plugin' "$log") == 6)) || die "each of 2 processes unloads Weft three times"
}
# The same with the plugin kept in memory, by its own name.
case_reinit() {
  NCCL_NET_PLUGIN_REF_COUNT=1 passes -p 2 -s recreate -e 256K all-reduce all-to-all
  if grep -q 'Unloading plugin' "$log"; then die "the plugin stays"; fi
}
case_abort() { passes -p 3 -s abort -e 2M all-reduce; }
case_kill() {
  passes -p 2 -s kill -e 2M all-reduce
  says 'rank 0 sees: ' "the survivor was told"
}
# Without libfabric, and when nobody insists on Weft, NCCL goes on over its sockets and Weft says why.
case_fallback() {
  unset NCCL_NET
  WEFT_LIBFABRIC=/nonexistent/libfabric.so.1 run -p 2 -e 64K all-reduce || {
    tail -40 "$log"
    die "NCCL goes on without Weft"
  }
  says 'WARN NET/Weft: .*libfabric' "Weft warned"
  says 'Using network Socket|Assigned NET plugin Socket' "NCCL took its sockets"
}
case_forced() {
  if WEFT_LIBFABRIC=/nonexistent/libfabric.so.1 run -p 2 -e 64K all-reduce; then die "NCCL ran without Weft"; fi
  says 'WARN NET/Weft: .*libfabric' "Weft warned"
  says 'ncclCommInitRank|ncclGroupEnd' "the communicator was refused"
}
# A kernel that the emulator does not have is an error of NCCL's call, not silence.
case_refused() {
  if NCCL_PROTO=LL128 NCCL_ALGO=Ring run -p 2 -b 64K -e 64K all-reduce; then die "a kernel nobody has gave data"; fi
  says 'NCCL.s function AllReduce Sum f32 RING LL128 is not emulated' "the emulator said what is missing"
  says 'unhandled cuda error' "NCCL reported it"
}

if (($# != 1)) || [[ $(type -t "case_${1:-}") != function ]]; then die "usage: nccl.sh CASE"; fi
# Read as a whole before it runs: an edit of this file in the meantime does no harm.
{
  "case_$1"
  exit
}
