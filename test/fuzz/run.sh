#!/usr/bin/env bash
# Runs every fuzz target of the preset `asan` over its seeds, its kept
# regressions and what libFuzzer makes of them. Ends with "N passed, N failed",
# one per target.
#
#   test/fuzz/run.sh [OPTION]... [TARGET]...
#     --build FOLDER   default build/asan
#     --runs N         inputs per target, always the same ones (default 3000)
#     --seconds N      at most that long per target (default 25)
#     --seed N         of the inputs (default 1)
#     --keep FOLDER    inputs that reach something else are kept there, in a
#                      folder per target, and used by the next run
#
# An input that fails is left in $TMPDIR and named. To keep it, put it into
# test/fuzz/regressions/TARGET: every build's tests run it from then on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/asan runs=3000 seconds=25 seed=1 keep=""
targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    --seconds) seconds=$2; shift 2 ;;
    --seed) seed=$2; shift 2 ;;
    --keep) keep=$2; shift 2 ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) targets+=("$1"); shift ;;
  esac
done
fuzz=test/fuzz
[ ${#targets[@]} -gt 0 ] || targets=($(ls $fuzz/corpus))
scratch=$(mktemp -d)
# Written programs go to memory: syncing them would take most of the time.
[ -d /dev/shm ] && export TMPDIR=/dev/shm

dictionary_of() {
  case $1 in
    model | pt2) echo model ;;
    guard) echo expression ;;
    *) echo "$1" ;;
  esac
}

run_target() {
  local target=$1 folders=() flags=() dictionary
  if [ -n "$keep" ]; then
    mkdir -p "$keep/$target"
    folders+=("$keep/$target")
  else
    mkdir "$scratch/$target"
    folders+=("$scratch/$target")
  fi
  folders+=("$fuzz/corpus/$target")
  [ -d "$fuzz/regressions/$target" ] && folders+=("$fuzz/regressions/$target")
  dictionary=$fuzz/dictionaries/$(dictionary_of "$target").dict
  [ -e "$dictionary" ] && flags+=("-dict=$dictionary")
  "$build/test/fuzz/fuzz" "--target=$target" "${flags[@]}" -runs="$runs" \
    -seed="$seed" -max_total_time="$seconds" -max_len=32768 -timeout=20 \
    -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 \
    -verbosity=1 -artifact_prefix="${TMPDIR:-/tmp}/fuzz-$target-" \
    "${folders[@]}" >"$scratch/$target.log" 2>&1
  echo $? >"$scratch/$target.status"
}

for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  run_target "$target" &
done
wait

passed=0 failed=0
for target in "${targets[@]}"; do
  if [ "$(cat "$scratch/$target.status")" -eq 0 ]; then
    passed=$((passed + 1))
    printf 'ok %-12s %s inputs, %s\n' "$target" \
      "$(awk '/number_of_executed_units/ {print $2}' "$scratch/$target.log")" \
      "$(grep -o 'cov: [0-9]*' "$scratch/$target.log" | tail -1)"
  else
    failed=$((failed + 1))
    echo "FAIL $target"
    grep -vE '^#|NEW_FUNC|^INFO' "$scratch/$target.log" | tail -60
  fi
done
rm -rf "$scratch"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
