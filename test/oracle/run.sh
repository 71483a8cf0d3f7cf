#!/usr/bin/env bash
# What real PyTorch says about the files that Tenon writes.
#
#   test/oracle/run.sh TENON SHARED [FOLDER...]
#
# Writes every program of the corpus's folders (default: t2.15, that of the newest
# release) again (`export --backend none`) and asks
# PyTorch whether it opens the copy, computes what was recorded for the original,
# and finds the same program (corpus.py); the first two again after constants
# were folded and dead code was removed. Then joins every hybrid graph and lets
# PyTorch run the result, compares weights that go to safetensors and back with
# PyTorch's state dicts, and cuts with those of PyTorch's partitioner. Ends with
# "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tenon=$(realpath "$1")
shared=$(realpath "$2")
folders=("${@:3}")
[ ${#folders[@]} -gt 0 ] || folders=(t2.15)

python=$("$shared/oracle/setup.sh" torch) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0
failed=0
# The programs of the corpus.
"$python" -W ignore "$here/corpus.py" "$tenon" "$shared" "${folders[@]}" \
  >"$work/corpus"
cat "$work/corpus"
if counts=$(tail -n 1 "$work/corpus" | grep -E '^[0-9]+ passed, [0-9]+ failed$')
then
  read -r p f < <(awk '{print $1, $3}' <<<"$counts")
else
  read -r p f <<<"0 1"
fi
passed=$((passed + p))
failed=$((failed + f))
# The same after passes.
"$python" -W ignore "$here/corpus.py" --rewritten "$tenon" "$shared" \
  "${folders[@]}" >"$work/rewritten"
cat "$work/rewritten"
if counts=$(tail -n 1 "$work/rewritten" | grep -E '^[0-9]+ passed, [0-9]+ failed$')
then
  read -r p f < <(awk '{print $1, $3}' <<<"$counts")
else
  read -r p f <<<"0 1"
fi
passed=$((passed + p))
failed=$((failed + f))
# Hybrid graphs, joined.
"$python" "$here/check_hybrid.py" "$tenon" "$shared/corpus/hybrid" \
  >"$work/hybrid"
cat "$work/hybrid"
read -r p f < <(tail -n 1 "$work/hybrid" | awk '{print $1, $3}')
passed=$((passed + p))
failed=$((failed + f))
# Weights as files, against PyTorch's state dicts.
mapfile -t programs < <("$python" -c '
import json, sys
for entry in json.load(open(sys.argv[1]))["programs"]:
    print(sys.argv[2] + "/" + entry["file"])' "$shared/corpus/pt2/slice.json" "$shared/corpus/pt2")
"$python" -W ignore "$here/check_weights.py" "$tenon" "${programs[@]}" \
  >"$work/weights" 2>"$work/weights.log"
cat "$work/weights"
if counts=$(tail -n 1 "$work/weights" | grep -E '^[0-9]+ passed, [0-9]+ failed$')
then
  read -r p f < <(awk '{print $1, $3}' <<<"$counts")
else
  read -r p f <<<"0 1"
  tail -n 3 "$work/weights.log"
fi
passed=$((passed + p))
failed=$((failed + f))
# Cuts, against PyTorch's own partitioner.
"$python" -W ignore "$here/compare_partition.py" "$tenon" "$shared" \
  >"$work/cuts" 2>"$work/cuts.log"
cat "$work/cuts"
if counts=$(tail -n 1 "$work/cuts" | grep -E '^[0-9]+ passed, [0-9]+ failed$')
then
  read -r p f < <(awk '{print $1, $3}' <<<"$counts")
else
  read -r p f <<<"0 1"
  tail -n 3 "$work/cuts.log"
fi
passed=$((passed + p))
failed=$((failed + f))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
