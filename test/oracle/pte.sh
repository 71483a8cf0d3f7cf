#!/usr/bin/env bash
# What the stock ExecuTorch runtime says about the .pte that Tenon writes.
#
#   test/oracle/pte.sh BUILD SHARED
#
# Writes every program of the corpus again (`conformance pte --keep`), data files
# included, and runs it in the stock C++ runtime, with full verification, beside
# the file that the exporter wrote: both must give the same bytes. Once more with
# all payloads moved out of the tables. The runner is built once, into
# BUILD/pte_runner. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
shared=$(realpath "$2")
manifest=$shared/corpus/pte/manifest.json

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$here/runner.sh"
passed=0
failed=0
for limit in 1000000 1; do
  mkdir "$work/written"
  "$build/conformance" pte "$manifest" --keep "$work/written" \
    --inline-limit "$limit" || exit 1
  "$python" "$here/compare_pte.py" "$build/pte_runner/pte_runner" "$manifest" \
    "$work/written" | tee "$work/verdict"
  read -r p f < <(tail -n 1 "$work/verdict" | awk '{print $1, $3}')
  passed=$((passed + p))
  failed=$((failed + f))
  rm -r "$work/written"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
