#!/usr/bin/env bash
# Files with several methods in the stock ExecuTorch runtime, against eager
# PyTorch: shared weights and state, constants, data files (pte_methods.py).
#
#   test/oracle/pte_methods.sh BUILD SHARED
#
# All cases run with kernels alone, and with each delegate, and both. Ends with
# "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
shared=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$here/runner.sh"
. "$here/delegate.sh"
passed=0
failed=0
for delegates in "" "xnnpack" "tenon" "xnnpack tenon"; do
  echo "== ${delegates:-kernels}"
  words=()
  for name in $delegates; do
    words+=(--delegate "$name")
  done
  LD_PRELOAD_FOR_RUNNER=$delegate_library \
    "$python" "$here/pte_methods.py" "$build/pte_runner/pte_runner" \
    "$build/tenon" "$work" "${words[@]}" 2>"$work/said" | tee "$work/verdict"
  read -r p f < <(tail -n 1 "$work/verdict" | awk '{print $1, $3}')
  # Without a verdict the check itself broke.
  [[ "$p" =~ ^[0-9]+$ && "$f" =~ ^[0-9]+$ ]] || {
    tail -n 20 "$work/said"
    p=0
    f=1
  }
  passed=$((passed + p))
  failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
