#!/usr/bin/env bash
# Nothing in the tree names one machine: no home folders or work folders, no package registry's host.
. "$(dirname "$0")/common.sh"

pattern='(^|[^A-Za-z0-9_.-])/(work|root|home|Users|workspace)/'
pattern+='|(^|[^a-z0-9-])(deb|security|snapshot|registry|repo|index|files|proxy|static|pypi|archive)\.[a-z0-9-]+\.(org|io|com|net|dev)'
mapfile -t all < <(files '*')
while IFS= read -r hit; do violation "$hit"; done < <(grep -nHIE "$pattern" "${all[@]}" || true)
finish "${#all[@]} files"
