# shellcheck shell=bash
# Sourced by the scripts that build the lab's dependencies: the cache folder, clear ends, and one upstream tarball of a
# Debian source package, by name and pinned hash.

lab_cache() { echo "${WEFT_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-lab}"; }

die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# missing MESSAGE...: it cannot be had here, which is no failure of ours.
missing() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 77
}

need_program() {
  command -v "$1" >/dev/null || missing "$1 is missing: apt-get install $2"
}

# debian_source DIR SUITE COMPONENT PACKAGE TARBALL SHA256: leaves DIR/TARBALL, by an apt with a configuration of its own:
# nothing of the system's is changed. Only the tarball: its hash is in the signed index and pinned by the caller. A
# tarball put there by hand serves as well.
debian_source() {
  local dir=$1 suite=$2 component=$3 package=$4 tarball=$5 sum=$6
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg by_hand="or put $5 into $1" mirror apt
  is_pinned_file "$dir/$tarball" "$sum" && return
  need_program apt-get apt
  [[ -e $keys ]] || missing "no $keys: apt-get install debian-archive-keyring, $by_hand"
  # shellcheck disable=SC2016 # apt's own variable
  mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$')} ||
    missing "no Debian mirror in apt's configuration: set DEBIAN_MIRROR, $by_hand"
  mkdir -p "$dir"/apt/{lists,cache/archives}/partial
  : >"$dir/apt/status"
  echo "deb-src [signed-by=$keys] $mirror $suite $component" >"$dir/apt/sources.list"
  apt=(-q -o Dir::Etc::sourcelist="$dir/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$dir/apt/lists" -o Dir::Cache="$dir/apt/cache" -o Dir::State::status="$dir/apt/status"
    -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" -o APT::Update::Error-Mode=any update >"$dir/apt/log" 2>&1 ||
    missing "no index from $mirror ($(tail -1 "$dir/apt/log")): put $tarball into $dir"
  (cd "$dir" && apt-get "${apt[@]}" source --only-source --tar-only "$package") >>"$dir/apt/log" 2>&1 ||
    missing "the download failed ($(tail -1 "$dir/apt/log")): put $tarball into $dir"
  is_pinned_file "$dir/$tarball" "$sum" || die "$dir/$tarball is not the expected file (SHA-256 $sum)"
}

# is_pinned_file FILE SHA256
is_pinned_file() {
  [[ -e $1 ]] && echo "$2  $1" | sha256sum -c --quiet - >/dev/null 2>&1
}
