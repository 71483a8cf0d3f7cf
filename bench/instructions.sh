#!/usr/bin/env bash
# Instructions per node, as callgrind counts them, against the numbers in instructions.tsv: a regression shows on
# the busiest machine. Slow, so no part of the normal tests.
#
#   bench/instructions.sh [--update] [BUILD]        BUILD defaults to build/release
#
# Ends with 1 when an operation needs 10 % more than its number; when it needs 10 % less, says that the number wants
# an --update. The numbers hold for GCC's release build; another compiler has others.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
update=0
if [ "${1:-}" = --update ]; then update=1; shift; fi
side=${1:-$here/../build/release}/bench/tenon_peer_side
table=$here/instructions.tsv
counted='tenon::bench::Stopwatch::Time(std::function<void ()> const&)'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Instructions inside the timed part of one run. Pages, caches and clocks don't count.
count() {
  valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --toggle-collect="$counted" \
    "$side" "$1" "$2" 1 2>"$scratch/log" >/dev/null || { cat "$scratch/log" >&2; exit 2; }
  sed -n 's/^summary: *//p; s/^totals: *//p' "$scratch/out" | tail -1
}

bad=0
printf '%-18s %8s %10s %10s\n' operation nodes now committed
while IFS=$'\t' read -r operation nodes unit committed; do
  case $operation in '#'*|'') echo "$operation	$nodes	$unit	$committed" | sed 's/\t*$//' >>"$scratch/new"; continue ;; esac
  total=$(count "$operation" "$nodes")
  now=$total
  if [ "$unit" = node ]; then now=$(((total + nodes / 2) / nodes)); fi
  verdict=
  if [ $((now * 10)) -gt $((committed * 11)) ]; then verdict='more than 10 % above'; bad=1; fi
  if [ $((now * 10)) -lt $((committed * 9)) ]; then verdict='more than 10 % below: --update'; fi
  printf '%-18s %8s %10s %10s %s\n' "$operation" "$nodes" "$now" "$committed" "$verdict"
  printf '%s\t%s\t%s\t%s\n' "$operation" "$nodes" "$unit" "$now" >>"$scratch/new"
done <"$table"
if [ "$update" = 1 ]; then cp "$scratch/new" "$table"; exit 0; fi
exit "$bad"
