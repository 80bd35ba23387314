# Sourced by every gate. A gate prints each violation as "file:line: what to do" and ends with 0 (clean), 1 (violations)
# or 77 (the tool it needs is not here; ctest shows it as skipped).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

gate=$(basename "$0" .sh)
violations=0

# Says that something breaks the gate's rule.
violation() {
  echo "$*"
  violations=$((violations + 1))
}

# Ends the gate. The optional argument tells what was looked at.
finish() {
  if ((violations > 0)); then
    echo "gate $gate: $violations violation(s)"
    exit 1
  fi
  echo "gate $gate: clean${1:+ ($1)}"
}

# Ends the gate as skipped unless the program exists.
need() {
  command -v "$1" >/dev/null && return
  echo "gate $gate: skipped, $1 is not installed"
  exit 77
}

# The tree's files, one a line: tracked ones and new ones that git would not ignore. Arguments are patterns as for
# git ls-files: '*.h'. Outside a git checkout (a source archive) every file counts, except build/.
files() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while IFS= read -r file; do
      if [[ -f $file ]]; then echo "$file"; fi
    done
  else
    local all=() pattern
    for pattern in "$@"; do all+=(-o -path "./$pattern"); done
    find . \( -path ./build -o -path ./.cache \) -prune -o -type f \( "${all[@]:1}" \) -printf '%P\n'
  fi | LC_ALL=C sort
}

# How many compilers fit on this machine: one a core, 1 GiB of free memory each.
jobs_that_fit() {
  local cores free_gib
  cores=$(nproc)
  free_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
  ((free_gib < cores)) && cores=$free_gib
  echo $((cores > 0 ? cores : 1))
}
