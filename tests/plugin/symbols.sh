#!/usr/bin/env bash
# The plugin shows its tables and nothing else, and needs nothing that a machine may lack. Argument: the library.
set -euo pipefail

library=${1:?usage: symbols.sh LIBRARY}
status=0

exported=$(nm -D --defined-only "$library" | awk '{ print $NF }' | sort)
expected=$({ printf 'ncclNetPlugin_v%s\n' 6 7 8 9 10 11 12 && printf 'ncclEnvPlugin_v%s\n' 1 2; } | sort)
if [[ $exported != "$expected" ]]; then
  echo "exported symbols differ from the tables (< expected, > exported):"
  diff <(echo "$expected") <(echo "$exported") || true
  status=1
fi

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
if echo "$needed" | grep -Ei 'fabric|cuda|nvidia|hwloc|nccl|ibverbs|efa|rdmacm'; then
  echo "the library above must be opened at run time, not linked"
  status=1
fi
if ldd "$library" | grep -Ei 'fabric|cuda|hwloc|ibverbs'; then
  echo "ldd names the library above"
  status=1
fi

undefined=$(nm -D --undefined-only "$library" | awk '{ print $NF }' | grep -E '^(fi_|cu[A-Z]|cuda|hwloc_|ibv_)' || true)
if [[ -n $undefined ]]; then
  echo "undefined symbols of libraries that must be opened at run time: $undefined"
  status=1
fi
exit $status
