#!/usr/bin/env bash
# `weft topo` as a user calls it: what it prints, where, and how it ends. Argument: the program.
set -euo pipefail

weft=${1:?usage: tool.sh PROGRAM}
fixtures=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/fixtures
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
failures=0

# ends STATUS ARGUMENT...: runs weft with its output in out and err.
ends() {
  local expected=$1 status=0
  shift
  "$weft" "$@" >out 2>err || status=$?
  ((status == expected)) || wrong "weft $* ended with $status, not $expected"
}
# says FILE PATTERN: a line of out or err must match.
says() {
  grep -Eq -- "$2" "$1" || wrong "no line like $2 in $1"
}
wrong() {
  echo "FAILED: $1"
  sed 's/^/  out: /' out | head -5
  sed 's/^/  err: /' err | head -5
  failures=$((failures + 1))
}

ends 0 topo --from "$fixtures/p5en.48xlarge.xml"
says out '^p5en.48xlarge: .* 16 NICs in use, 3200 Gb/s, 8 GPUs, 8 devices$'
says out '^  device 1: rdmap87s0 \+ rdmap88s0, 400 Gb/s, for GPU 1$'
says out '^  NCCL_BUFFSIZE=8388608 +# '
ends 0 topo --from "$fixtures/p5.48xlarge.xml" --rails 8
says out '^  device 3: .*, 800 Gb/s, for GPU 6 and GPU 7$'
ends 0 topo --from "$fixtures/p5.48xlarge.xml" --json
python3 -c 'import json, sys; sys.exit(len(json.load(open("out"))["devices"]) != 8)' || wrong "its JSON has other devices"
ends 0 topo --from "$fixtures/p5.48xlarge.xml" --nccl-xml
python3 -c 'import xml.etree.ElementTree as e, sys; sys.exit(e.parse("out").getroot().tag != "system")' || wrong "no XML for NCCL"
ends 0 topo --from "$fixtures/p5.48xlarge.xml" --svg picture.svg
python3 -c 'import xml.etree.ElementTree as e; e.parse("picture.svg")' || wrong "the picture is no XML"
ends 0 topo # this machine, whatever it is
WEFT_RIALS=2 ends 0 topo
says err '^weft: WEFT_RIALS is not a parameter .* did you mean WEFT_RAILS'
WEFT_NICS=none ends 0 topo --from "$fixtures/p5.48xlarge.xml" # another machine's NICs are not chosen here
ends 0 --version
says out '^weft [0-9]'
ends 0 topo --help

# What cannot be: a sentence on standard error, and no crash.
ends 1 topo --from none.xml
says err '^weft: .*none.xml: No such file'
mkfifo pipe
ends 1 topo --from pipe
says err '^weft: .* is a pipe'
ends 1 topo --from "$fixtures"
says err '^weft: .* is a directory'
echo '<topology' >broken.xml
ends 1 topo --from broken.xml
says err '^weft: broken.xml is (no XML|not what lstopo writes)'
ends 1 topo --from "$fixtures/p5.48xlarge.xml" --svg no/such/folder.svg
says err '^weft: cannot write no/such/folder.svg'
ends 1 topo --root no/such/folder
says err '^weft: .* is not a directory'
ends 2 topo --rails 99
ends 2 topo --no-such-flag
ends 2
ends 2 topo --json --nccl-xml

# A machine whose /sys is hidden, and one without hwloc.
mkdir -p masked/sys
ends 0 topo --root masked
says out 'cannot be read'
mkdir library
: >library/libhwloc.so.15
LD_LIBRARY_PATH=$scratch/library ends 0 topo
says out 'hwloc is not there: .*; the topology comes from /sys instead'
LD_LIBRARY_PATH=$scratch/library ends 1 topo --from "$fixtures/p5.48xlarge.xml"
says err '^weft: hwloc is not there'

exit $((failures > 0))
