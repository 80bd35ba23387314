#!/usr/bin/env bash
# clang-tidy and clang's thread safety analysis over every source file of a build. Arguments: the build folder (with
# compile_commands.json), then optionally the sources to look at (all of ours otherwise).
# A file that was clean is looked at again only when its text, a header of ours, its flags or the rules have changed.
. "$(dirname "$0")/common.sh"
need clang-tidy-19

build=${1:?usage: tidy.sh BUILD_FOLDER [SOURCE...]}
shift
if [[ ! -f $build/compile_commands.json ]]; then
  echo "gate $gate: $build has no compile_commands.json: configure it first"
  exit 1
fi
export build
export cache=$build/tidy-cache
mkdir -p "$cache"

if (($# > 0)); then
  sources=("$@")
else
  mapfile -t sources < <(files '*.cc' | while IFS= read -r file; do
    if grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json"; then echo "$file"; fi
  done)
fi

# Everything that all files share, and per file its text and flags; the headers as one, since they are quick to read.
common=$({
  clang-tidy-19 --version
  cat .clang-tidy
  mapfile -t headers < <(files '*.h')
  sha256sum "${headers[@]}"
} | sha256sum)
export common

check_source() {
  local file=$1 key log
  key=$({
    echo "$common"
    cat "$file"
    grep -F -B1 "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" | grep '"command"' || true
  } | sha256sum | cut -c1-40)
  if [[ -e $cache/$key ]]; then return 0; fi
  if log=$(clang-tidy-19 --quiet -p "$build" "$file" 2>/dev/null); then
    touch "$cache/$key"
  else
    echo "${log//"$PWD/"/}"
    return 1
  fi
}
export -f check_source

# shellcheck disable=SC2016 # the inner shell expands it
if ! printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(jobs_that_fit)" bash -c 'check_source "$1"' _; then
  violation "see above"
fi
find "$cache" -type f -mtime +14 -delete
finish "${#sources[@]} files"
