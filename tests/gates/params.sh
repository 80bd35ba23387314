#!/usr/bin/env bash
# README's table of parameters is what include/weft/params.def says. Argument: the program that prints the table.
# To repair: tests/gates/params.sh PROGRAM --fix
. "$(dirname "$0")/common.sh"

program=${1:?usage: params.sh PROGRAM [--fix]}
table=$("$program")
renewed=$(TABLE=$table awk '
  /^<!-- params:begin -->$/ { print; print ENVIRON["TABLE"]; inside = 1; found = 1 }
  /^<!-- params:end -->$/ { inside = 0 }
  !inside { print }
  END { if (!found || inside) exit 1 }' README.md) || violation "README.md:1: params:begin or params:end is missing"
if ((violations == 0)) && [[ $renewed != "$(cat README.md)" ]]; then
  if [[ ${2:-} == --fix ]]; then
    printf '%s\n' "$renewed" >README.md
  else
    violation "README.md:$(awk '/params:begin/ { print NR }' README.md): not what params.def says: run tests/gates/params.sh $program --fix"
  fi
fi
finish README.md
