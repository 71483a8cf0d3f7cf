#!/usr/bin/env bash
# Instructions per node, as callgrind counts them, against the numbers in instructions.tsv: a regression shows on
# the busiest machine.
#
#   bench/instructions.sh [--update] [BUILD]        BUILD defaults to build/release
#
# Fails for an operation that needs 10 % more than its number; when it needs 10 % less, says that the number wants an
# --update. The numbers hold for GCC's release build on x86-64; another compiler has others, and the 10 % are there for
# other versions of GCC and of the libraries. Ends with "N passed, N failed".
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
update=0
if [ "${1:-}" = --update ]; then update=1; shift; fi
side=${1:-$here/../build/release}/bench/tenon_peer_side
table=$here/instructions.tsv
counted='tenon::bench::Stopwatch::Time(std::function<void ()> const&)'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# libc and simdjson choose their code by what the CPU can do. Here they take what every x86-64 has, so that counts are
# the same on all of them. The operations counted have no such code of their own.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSE4_2,-SSE4_1,-SSSE3
export SIMDJSON_FORCE_IMPLEMENTATION=westmere

# Instructions inside the timed part of one run. Pages, caches and clocks don't count.
count() {
  valgrind --tool=callgrind --callgrind-out-file="$scratch/out" --toggle-collect="$counted" \
    "$side" "$1" "$2" 1 2>"$scratch/log" >/dev/null || { cat "$scratch/log" >&2; exit 2; }
  sed -n 's/^summary: *//p; s/^totals: *//p' "$scratch/out" | tail -1
}

passed=0
failed=0
printf '%-18s %8s %10s %10s\n' operation nodes now committed
while IFS=$'\t' read -r operation nodes unit committed; do
  case $operation in '#'*|'') echo "$operation	$nodes	$unit	$committed" | sed 's/\t*$//' >>"$scratch/new"; continue ;; esac
  total=$(count "$operation" "$nodes")
  now=$total
  if [ "$unit" = node ]; then now=$(((total + nodes / 2) / nodes)); fi
  verdict=
  if [ $((now * 10)) -gt $((committed * 11)) ]; then verdict='more than 10 % above'; fi
  if [ $((now * 10)) -lt $((committed * 9)) ]; then verdict='more than 10 % below: --update'; fi
  case $verdict in *above) failed=$((failed + 1)) ;; *) passed=$((passed + 1)) ;; esac
  printf '%-18s %8s %10s %10s %s\n' "$operation" "$nodes" "$now" "$committed" "$verdict"
  printf '%s\t%s\t%s\t%s\n' "$operation" "$nodes" "$unit" "$now" >>"$scratch/new"
done <"$table"
if [ "$update" = 1 ]; then cp "$scratch/new" "$table"; exit 0; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
