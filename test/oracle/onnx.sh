#!/usr/bin/env bash
# What ONNX's checker and ONNX Runtime say of the models that Tenon exports.
#
#   test/oracle/onnx.sh BUILD SHARED [MANIFEST|ops...]
#
# Exports every program of the corpus (or of the manifests named) to ONNX, as a
# whole and each region that the TensorRT backend takes; with the word ops each
# recorded operator call, too. onnx.checker has to
# accept every model with full check, and ONNX Runtime to compute what PyTorch
# recorded, or, for a region, what the reference executor gives. What Tenon
# refuses is counted by reason. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(realpath "$1")
shared=$(realpath "$2")
shift 2
manifests=("$@")
if [ ${#manifests[@]} -eq 0 ]; then
  manifests=("$shared"/corpus/pt2/*/manifest.json ops)
fi
python=$("$shared/oracle/setup.sh" torch) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0
failed=0
for manifest in "${manifests[@]}"; do
  name=$(basename "$(dirname "$manifest")")
  [ "$manifest" = ops ] && name=ops
  [ "$name" = broken ] && continue
  echo "== $name"
  mkdir "$work/$name"
  if [ "$name" = ops ]; then
    "$build/conformance" ops "$shared/ops/vectors" --keep "$work/$name" \
      --known "$here/../conformance/ops_known_failures.tsv" >/dev/null
    : >"$work/lines"
  else
    "$build/conformance" export-onnx "$manifest" --keep "$work/$name" \
      >"$work/lines"
  fi
  "$python" "$here/run_onnx.py" "$work/$name" "$work/lines" |
    tee "$work/verdict"
  read -r p f < <(tail -n 1 "$work/verdict" | awk '{print $1, $3}')
  # Without a verdict the check itself broke.
  [[ "$p" =~ ^[0-9]+$ && "$f" =~ ^[0-9]+$ ]] || { p=0; f=1; }
  passed=$((passed + p))
  failed=$((failed + f))
  rm -r "${work:?}/$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
