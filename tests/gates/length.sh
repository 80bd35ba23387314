#!/usr/bin/env bash
# No text file above 600 lines (the licence excepted); a few have a tighter limit. Files above 400 are named, as the
# next to be split.
. "$(dirname "$0")/common.sh"

declare -A limits=([README.md]=200 [CONTRIBUTING.md]=120 [CMakeLists.txt]=150)
count=0
while IFS= read -r file; do
  [[ $file == LICENSE ]] && continue
  if [[ -s $file ]] && ! grep -qI . "$file"; then continue; fi # binary
  lines=$(wc -l <"$file")
  limit=${limits[$file]:-600}
  count=$((count + 1))
  if ((lines > limit)); then
    violation "$file:$limit: $lines lines, the limit is $limit: split it by noun"
  elif ((lines > 400)); then
    echo "note: $file has $lines lines"
  fi
done < <(files '*')
finish "$count files"
