#!/usr/bin/env bash
# What the stock ExecuTorch runtime computes from the .pte that Tenon exports.
#
#   test/oracle/export_pte.sh BUILD SHARED [--delegate NAME]... [MANIFEST|N...]
#
# Exports every program of the corpus (or of the manifests named) to a .pte and
# runs it in the stock C++ runtime, with full verification, on the recorded
# calls; programs with state on all calls in a row, too. Outputs must be those
# that PyTorch recorded. A number stands for so many generated programs, judged
# by the reference executor. Delegates take what they can, the first one first;
# Tenon's library is built for that. What Tenon refuses to export is counted by reason. The
# runner is built once, into BUILD/pte_runner. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
shared=$(realpath "$2")
shift 2
delegates=()
while [ "${1-}" = --delegate ]; do
  delegates+=("$1" "$2")
  shift 2
done
manifests=("$@")
if [ ${#manifests[@]} -eq 0 ]; then
  manifests=("$shared"/corpus/pt2/*/manifest.json 150)
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

. "$here/runner.sh"
# Tenon's delegate is loaded into the runner, which knows nothing of it.
preload=""
if [[ " ${delegates[*]-} " == *" tenon "* ]]; then
  . "$here/delegate.sh"
  preload=$delegate_library
fi
passed=0
failed=0
for manifest in "${manifests[@]}"; do
  name=$(basename "$(dirname "$manifest")")
  [[ "$manifest" =~ ^[0-9]+$ ]] && name=generated
  [ "$name" = broken ] && continue
  echo "== $name"
  mkdir "$work/$name"
  "$build/conformance" export-pte "$manifest" --keep "$work/$name" \
    "${delegates[@]}" >"$work/lines"
  LD_PRELOAD_FOR_RUNNER=$preload \
    "$python" "$here/run_exported.py" "$build/pte_runner/pte_runner" \
    "$build/tenon" "$work/$name" "$work/lines" | tee "$work/verdict"
  read -r p f < <(tail -n 1 "$work/verdict" | awk '{print $1, $3}')
  # Without a verdict the check itself broke.
  [[ "$p" =~ ^[0-9]+$ && "$f" =~ ^[0-9]+$ ]] || { p=0; f=1; }
  passed=$((passed + p))
  failed=$((failed + f))
  rm -r "${work:?}/$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
