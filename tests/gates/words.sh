#!/usr/bin/env bash
# Words that a plugin inside somebody else's process must not contain, and the one place where some are at home.
. "$(dirname "$0")/common.sh"

# forbid PATTERN REMEDY FILE...: each match is a violation. A match inside a // comment counts only when the
# pattern says so, by starting with "anywhere:".
forbid() {
  local pattern=$1 remedy=$2 hit
  shift 2
  (($# > 0)) || return 0
  local comments=drop
  if [[ $pattern == anywhere:* ]]; then
    pattern=${pattern#anywhere:}
    comments=keep
  fi
  while IFS= read -r hit; do violation "$hit: $remedy"; done < <(
    awk -v comments=$comments -v pattern="$pattern" '
      { text = $0; if (comments == "drop") sub(/\/\/.*/, "", text) }
      text ~ pattern { match(text, pattern); print FILENAME ":" FNR ": \"" substr(text, RSTART, RLENGTH) "\"" }' "$@")
}

mapfile -t product < <(files 'include/*.h' 'plugin/*.h' 'plugin/*.cc' 'transports/*.h' 'transports/*.cc' \
  'topology/*.h' 'topology/*.cc')
mapfile -t cpp < <(files '*.h' '*.cc')
mapfile -t outside_tests < <(printf '%s\n' "${cpp[@]}" | grep -v '^tests/')
mapfile -t no_environment < <(printf '%s\n' "${outside_tests[@]}" |
  grep -vx -e plugin/params.cc -e plugin/env_plugin.cc -e bench/environment.cc)

word='(^|[^A-Za-z0-9_.>])'
forbid "${word}(secure_)?getenv *\\(" "read the environment in plugin/params.cc and, for NCCL, env_plugin.cc only (bench: environment.cc)" \
  "${no_environment[@]}"
forbid "${word}(setenv|putenv|unsetenv|clearenv) *\\(" "never edit the environment of the process" "${product[@]}"
forbid "${word}(abort|exit|_exit|_Exit|quick_exit|terminate|atexit) *\\(" "return an error: the process is not ours" \
  "${product[@]}"
forbid "${word}goto +[a-z_]+ *;" "let a destructor clean up" "${outside_tests[@]}"
forbid "${word}(sleep|usleep|nanosleep|sleep_for|sleep_until) *\\(" "never block a thread of NCCL's" "${product[@]}"
forbid "(std::cout|std::cerr|${word}printf *\\()" "log through weft/log.h" "${product[@]}"
forbid "#define +private" "test through the public interface" "${cpp[@]}"
forbid "anywhere:(TO""DO|FIX""ME)" "do it, or file an issue" "${cpp[@]}"
finish "${#cpp[@]} files"
