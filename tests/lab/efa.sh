#!/usr/bin/env bash
# efa.sh CASE: weft-bench over emulated EFA NICs and libfabric's own efa provider, every rank a host of its own. One case
# a call; the functions named case_... are the cases. Needs WEFT_LAB_BUILD, a build folder. Ends with 77 when something
# is not there.
set -euo pipefail

skip() {
  echo "skipped: $*"
  # Where the lab is required, a test that is skipped has failed.
  [[ -z ${WEFT_LAB_REQUIRED:-} ]] || exit 1
  exit 77
}
die() {
  cut -c1-400 "$log"
  echo "FAILED: $*"
  exit 1
}

: "${WEFT_LAB_BUILD:?the build folder}"
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")/../emulation" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
log=$scratch/log
: >"$log"
# Some of libfabric's providers write a backtrace into the working folder when a process dies.
cd "$scratch"
export NCCL_DEBUG=INFO
unset WEFT_PROVIDER WEFT_INTERFACES WEFT_PROTOCOL

# nics N KNOBS: what the run has. All N form one device.
nics() {
  local status=0
  before=("$lab/weft-lab" --build "$WEFT_LAB_BUILD" --nics "$1" --rails "$1" --node-variable WEFT_BENCH_RANK
    ${2:+--knobs "$2"} --)
  "${before[@]}" true >"$log" 2>&1 || status=$?
  ((status != 77)) || skip "$(tail -1 "$log")"
  ((status == 0)) || die "weft-lab"
}
# bench ARGUMENT...: weft-bench; all it says goes to $log. Returns its status.
bench() { "${before[@]}" "$WEFT_LAB_BUILD/bin/weft-bench" "$@" >"$log" 2>&1; }
says() { grep -Eq -- "$1" "$log" || die "$2 (no line like: $1)"; }
# is_right ARGUMENT...: every byte right, by RDMA writes.
is_right() {
  bench "$@" || die "weft-bench $*"
  says 'Out of bounds values : 0 OK' "every byte is right"
  says 'provider efa \(fabric efa-direct\), RDMA write protocol' "Weft wrote by RDMA"
}
# patterns RANKS: all three patterns, from 8 bytes on.
patterns() {
  is_right all-reduce --ranks "$1" -b 8 -e 16M -f 16 -n 2 -w 1 --timeout 300
  is_right all-to-all --ranks "$1" -b 8 -e 16M -f 16 -n 2 -w 1 --timeout 300
  is_right moe --ranks "$1" --tokens 64 -n 1 -w 0 --timeout 300
}

case_2-ranks-1-rail() { nics 1 && patterns 2; }
case_2-ranks-8-rails() { nics 8 && patterns 2; }
case_4-ranks-4-rails() { nics 4 && patterns 4; }
case_8-ranks-2-rails() { nics 2 && patterns 8; }
case_reorder-16() { nics 4 reorder=16 && patterns 4; }
case_reorder-64-jitter() { nics 4 reorder=64,latency_us=20,jitter_us=50 && patterns 2; }
case_deferred() { nics 4 defer=1 && patterns 2; }
case_not-ready() { nics 2 rnr_ppm=20000 && patterns 2; }
case_grouped() {
  nics 4 reorder=16
  is_right p2p --ranks 2 --sub-receives 8 -b 8 -e 1M -f 32 -n 50 --rounds 2 --connects 2 --timeout 300
}
# Ranks that answer each other, so that messages go before their permission; then many in flight.
case_answers() {
  local bytes
  nics 4
  for bytes in 8 1000 1001; do is_right p2p --ranks 2 -b $bytes -e $bytes --rounds 3 --connects 1 --timeout 60; done
}
# Bare libfabric as p2p measures it, on one NIC and on all, its parts in any order.
case_raw() {
  nics 4 reorder=16
  is_right p2p --ranks 2 --raw-rails 4 -b 8 -e 1M -f 131072 -n 50 --rounds 2 --connects 1 --timeout 60
  says 'raw libfabric: efa on efa_0-rdm \(writes' "one NIC is measured"
  says 'raw libfabric: efa on efa_0-rdm \+ efa_1-rdm \+ efa_2-rdm \+ efa_3-rdm \(writes' "all NICs are measured"
  says '^ +1048576( +[0-9.]+ +[0-9.]+ +[0-9.]+ +0){3} ' "all three have been checked"
  ! bench p2p --ranks 2 --raw-rails 5 --timeout 10 || die "weft-bench measures five NICs of four"
  says '--raw-rails 5: libfabric offers 4 NICs of provider efa' "the NICs are too few"
}
case_messages() {
  nics 1
  WEFT_PROTOCOL=sendrecv bench all-to-all --ranks 4 -b 8 -e 4M -f 16 -n 2 -w 1 --timeout 300 || die "weft-bench"
  says 'Out of bounds values : 0 OK' "every byte is right"
  says 'provider efa .*send/receive protocol' "Weft sent messages"
}
# The third NIC of every host dies after some hundred operations, while data moves.
case_nic-dies() {
  local pattern
  nics 4 2:fail_after=400
  for pattern in all-reduce all-to-all; do
    is_right "$pattern" --ranks 4 -b 1M -e 1M -n 200 -w 0 --timeout 300
    says 'WARN NET/Weft: rail efa_2-rdm to peer .* failed: .* Going on over 3 of 4 rails' "a NIC died in mid-run"
  done
}
# The lead NIC dies, which carries the control messages too.
case_lead-nic-dies() {
  nics 4 0:fail_after=400
  is_right all-reduce --ranks 2 -b 1M -e 1M -n 300 -w 0 --timeout 300
  says 'rail efa_0-rdm to peer .* failed: .* Going on over 3 of 4 rails' "the lead NIC died in mid-run"
}
# Some operations fail for no reason that lasts: paths go and come back all the time.
case_errors() {
  nics 8 error_ppm=200
  is_right all-to-all --ranks 2 -b 256K -e 256K -n 4000 -w 0 --timeout 300
  says 'WARN NET/Weft: rail efa_[0-9]-rdm to peer .* failed: ' "operations failed"
}
# A NIC dies and is put right: it is used again.
case_nic-comes-back() {
  local run status=0
  nics 4 2:fail_after=400
  "${before[@]}" "$WEFT_LAB_BUILD/bin/weft-bench" all-reduce --ranks 2 -b 64K -e 64K -n 30000 -w 0 --timeout 300 \
    >"$log" 2>&1 &
  run=$!
  until grep -q 'rail efa_2-rdm to peer .* failed' "$log" || ! kill -0 "$run" 2>/dev/null; do sleep 0.02; done
  # weft-lab names its NICs' domain after itself.
  "$WEFT_LAB_BUILD/bin/weft-efactl" -d "lab-$run" restore '*:2' || true
  wait "$run" || status=$?
  ((status == 0)) || die "weft-bench"
  says 'rail efa_2-rdm to peer .* works again: 4 of 4 rails' "the NIC was taken back"
  says 'Out of bounds values : 0 OK' "every byte is right"
}
# Without any NIC left every rank must end, and say why.
case_all-nics-die() {
  nics 2 fail_after=400
  if bench all-reduce --ranks 2 -b 1M -e 1M -n 100000 -w 0 --timeout 30; then die "it cannot have ended well"; fi
  says 'WARN NET/Weft: peer .* cannot be reached any more over any of 2 rails' "the reason"
}

# program NAME ARGUMENT...: a test of its own instead of weft-bench.
program() {
  [[ -x $WEFT_LAB_BUILD/bin/$1 ]] || skip "no $1 in this build folder"
  "${before[@]}" "$WEFT_LAB_BUILD/bin/$1" "${@:2}" >"$log" 2>&1 || {
    cat "$log"
    die "$*"
  }
}
# Random traffic over NICs that reorder and fail at random. WEFT_LAB_RUNS says how many seeds, WEFT_LAB_SEED the first.
case_soak() {
  nics 1
  program weft-soak --runs "${WEFT_LAB_RUNS:-6}" --seed "${WEFT_LAB_SEED:-1}"
  tail -1 "$log"
}
# peers TEST: those of weft-peer-tests.
peers() {
  program weft-peer-tests --gtest_filter="$1"
  says '  PASSED  . [1-9][0-9]* test' "some tests ran"
  grep -E '  OK |connections in' "$log"
}
case_peers-1-rail() { nics 1 && peers 'PeersTest.*'; }
case_peers-4-rails() { nics 4 && peers 'PeersTest.*'; }
case_connections-1-rail() { nics 1 && peers 'ConnectionsTest.*'; }
case_connections-4-rails() { nics 4 && peers 'ConnectionsTest.*'; }

# One NIC of one host dies at a moment that a seed chooses, as above: over so many runs of each pattern.
case_random-nic-dies() {
  local first=${WEFT_LAB_SEED:-1} runs=${WEFT_LAB_RUNS:-2} pattern seed nic after died=0
  nics 4
  for pattern in all-reduce all-to-all; do
    for ((seed = first; seed < first + runs; ++seed)); do
      RANDOM=$seed
      # Not before all are connected, for which the lead NIC is needed.
      nic=$((RANDOM % 4)):$((RANDOM % 4)) after=$((30 + RANDOM % 400))
      # shellcheck disable=SC2016 # for the shell inside, which sets the knob before a rank opens the NIC
      "${before[@]}" bash -c 'weft-efactl set "$0" fail_after="$1" && exec "${@:2}"' "$nic" "$after" \
        "$WEFT_LAB_BUILD/bin/weft-bench" "$pattern" --ranks 4 -b 1M -e 1M -n 200 -w 0 --timeout 300 >"$log" 2>&1 ||
        die "$pattern with NIC $nic dying after $after work requests (WEFT_LAB_SEED=$seed WEFT_LAB_RUNS=1)"
      says 'Out of bounds values : 0 OK' "every byte is right (WEFT_LAB_SEED=$seed WEFT_LAB_RUNS=1)"
      if grep -q 'rail efa_[0-3]-rdm to peer .* failed' "$log"; then died=$((died + 1)); fi
    done
  done
  echo "$((2 * runs)) runs, in $died of them a NIC died before the end"
  ((died > 0)) || die "no NIC died in mid-run"
}

# start ARGUMENT...: weft-bench in the background, up to the moment when data moves. Sets run.
start() {
  "${before[@]}" "$WEFT_LAB_BUILD/bin/weft-bench" "$@" >"$log" 2>&1 &
  run=$!
  until "$WEFT_LAB_BUILD/bin/weft-efactl" -d "lab-$run" counters 1:0 2>/dev/null | grep -q 'writes=[1-9][0-9][0-9]'; do
    kill -0 "$run" || die "weft-bench"
    sleep 0.02
  done
}
# signal_rank NAME RANK: to that rank of the run.
signal_rank() {
  local process
  for process in /proc/[0-9]*; do
    if tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "WEFT_LAB_EFA_DOMAIN=lab-$run" &&
      tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "weft-bench .*--rank $2 "; then
      kill "-$1" "${process#/proc/}"
      return
    fi
  done
  die "no rank $2"
}
# A rank that is killed ends the others, in their own words.
case_rank-dies() {
  nics 4
  start all-to-all --ranks 4 -b 64K -e 64K -n 1000000 -w 0 --timeout 300
  SECONDS=0
  signal_rank KILL 2
  if wait "$run"; then die "it cannot have ended well"; fi
  echo "ended after $SECONDS s"
  # One rail after the other, or all that are left at once.
  says 'WARN NET/Weft: (rail .* to )?peer .* (cannot be reached|failed: the peer.s NIC does not answer)' "the reason"
  says 'rank 2 \(pid [0-9]+\) was killed by signal 9' "who"
}
# A rank that is frozen is named by the others, who end at weft-bench's limit: Weft itself goes on waiting.
case_rank-freezes() {
  nics 4
  export WEFT_STALL_WARNING_S=1
  start all-reduce --ranks 3 -b 64K -e 64K -n 1000000 -w 0 --timeout 10
  SECONDS=0
  signal_rank STOP 1
  if wait "$run"; then die "it cannot have ended well"; fi
  echo "ended after $SECONDS s"
  says 'WARN NET/Weft: .* with peer .* have not moved for 1 s; the peer can be reached, so its process is probably' "who"
  says 'nothing moved for 10 s: .* rank [0-2] hangs' "why it ended"
}
# It goes on, and so do all.
case_rank-thaws() {
  nics 4 reorder=16
  export WEFT_STALL_WARNING_S=1
  start all-reduce --ranks 3 -b 64K -e 64K -n 3000 -w 0 --timeout 300
  signal_rank STOP 1
  until grep -q 'have not moved for' "$log"; do
    kill -0 "$run" || die "it ended while a rank was frozen"
    sleep 0.05
  done
  signal_rank CONT 1
  wait "$run" || die "weft-bench"
  says 'Out of bounds values : 0 OK' "every byte is right"
}

declare -F "case_${1:-}" >/dev/null || {
  echo "usage: efa.sh CASE, of: $(declare -F | sed -n 's/.* case_//p' | tr '\n' ' ')" >&2
  exit 2
}
"case_$1"
