#!/usr/bin/env bash
# Shell scripts parse, are executable when they are programs, and pass shellcheck where it is installed.
. "$(dirname "$0")/common.sh"

count=0
while IFS= read -r file; do
  first=
  IFS= read -r first <"$file" || true
  [[ $file == *.sh || $first == '#!'*sh ]] || continue
  count=$((count + 1))
  bash -n "$file" || violation "$file:1: does not parse"
  if [[ $first == '#!'* && ! -x $file ]]; then violation "$file:1: a program that is not executable: chmod +x"; fi
  if command -v shellcheck >/dev/null; then
    shellcheck --shell=bash --format=gcc --external-sources --source-path=SCRIPTDIR "$file" || violation "$file:1: see above"
  fi
done < <(files '*')
finish "$count scripts"
