#!/usr/bin/env bash
# What real PyTorch says about the files that Tenon writes.
#
#   test/oracle/run.sh TENON SHARED [FOLDER...]
#
# Writes every program of the corpus's folders (default: all of them) again
# (`export --backend none`) and asks PyTorch whether it opens the copy, computes
# what was recorded for the original, and finds the same program (corpus.py); the
# first two again after constants were folded and dead code was removed, for the
# last of the folders. The quantised ones go to the environment that has
# their libraries. Then joins every hybrid graph and lets
# PyTorch run the result, compares weights that go to safetensors and back with
# PyTorch's state dicts, and cuts with those of PyTorch's partitioner. Ends with
# "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tenon=$(realpath "$1")
shared=$(realpath "$2")
folders=("${@:3}")
plain=()
[ ${#folders[@]} -gt 0 ] ||
  folders=(t2.6 t2.7 t2.8 t2.9 t2.10 t2.11 t2.13 t2.14 zoo t2.15 quant)

python=$("$shared/oracle/setup.sh" torch) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

passed=0
failed=0
# Runs a check, shows what it says, and adds what its last line counts; a check
# that ends without counts has failed, and its last errors are shown.
ask() {
  "$@" >"$work/said" 2>"$work/log"
  cat "$work/said"
  local counts p=0 f=1
  if counts=$(tail -n 1 "$work/said" | grep -E '^[0-9]+ passed, [0-9]+ failed')
  then
    read -r p f < <(awk '{print $1, $3}' <<<"$counts")
  else
    tail -n 3 "$work/log"
  fi
  passed=$((passed + p))
  failed=$((failed + f))
}

# The programs of the corpus, as they are and after passes.
quantised=0
for folder in "${folders[@]}"; do
  if [ "$folder" = quant ]; then quantised=1; else plain+=("$folder"); fi
done
if [ ${#plain[@]} -gt 0 ]; then
  ask "$python" -W ignore "$here/corpus.py" "$tenon" "$shared" "${plain[@]}"
  ask "$python" -W ignore "$here/corpus.py" --rewritten "$tenon" "$shared" \
    "${plain[-1]}"
fi
if [ "$quantised" = 1 ]; then
  libraries=$("$shared/oracle/setup.sh" executorch) || exit 1
  ask "$libraries" -W ignore "$here/corpus.py" "$tenon" "$shared" quant
fi
# Hybrid graphs, joined.
ask "$python" "$here/check_hybrid.py" "$tenon" "$shared/corpus/hybrid"
# Weights as files, against PyTorch's state dicts.
mapfile -t programs < <("$python" -c '
import json, sys
for entry in json.load(open(sys.argv[1]))["programs"]:
    print(sys.argv[2] + "/" + entry["file"])' "$shared/corpus/pt2/slice.json" "$shared/corpus/pt2")
ask "$python" -W ignore "$here/check_weights.py" "$tenon" "${programs[@]}"
# Cuts, against PyTorch's own partitioner.
ask "$python" -W ignore "$here/compare_partition.py" "$tenon" "$shared"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
