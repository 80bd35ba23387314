#!/usr/bin/env bash
# Every C++ file is as clang-format writes it. To repair: tests/gates/format.sh --fix
. "$(dirname "$0")/common.sh"
need clang-format-19

mapfile -t sources < <(files '*.h' '*.cc')
if [[ ${1:-} == --fix ]]; then
  clang-format-19 -i "${sources[@]}"
  exit
fi
# The first complaint about each file is enough.
while IFS=: read -r file line _; do
  violation "$file:$line: not formatted: run tests/gates/format.sh --fix"
done < <(clang-format-19 --dry-run -Werror "${sources[@]}" 2>&1 | awk -F: '/: error: / && !seen[$1]++')
finish "${#sources[@]} files"
