#!/usr/bin/env bash
# What real PyTorch says about the files that Tenon writes.
#
#   test/oracle/run.sh TENON SHARED
#
# Writes every program of the slice again with TENON (`export --backend none`)
# and asks PyTorch two things: does torch.export.load open the copy and compute
# what was recorded for the original, and are the two the same program down to
# metadata, ranges and the bits of the weights. Programs that differ on purpose
# stand with their reason in expected_differences.tsv. Then joins every hybrid
# graph and lets PyTorch run the result, and compares cuts with those of
# PyTorch's partitioner. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tenon=$(realpath "$1")
shared=$(realpath "$2")
corpus=$shared/corpus/pt2

python=$("$shared/oracle/setup.sh" torch) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/written" "$work/originals"

passed=0
failed=0
while IFS=$'\t' read -r name file; do
  ln -s "$corpus/$file" "$work/originals/$name.pt2"
  if "$tenon" export "$corpus/$file" -o "$work/written/$name.pt2" \
      --backend none >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name: tenon export: $(tr '\n' ' ' <"$work/log")"
  fi
done < <("$python" -c '
import json, sys
for entry in json.load(open(sys.argv[1]))["programs"]:
    print(entry["name"], entry["file"], sep="\t")' "$corpus/slice.json")
echo "written: $passed passed, $failed failed"

# Adds up a checker's verdicts; a failure that is expected, with its reason,
# counts as passed, and an expectation that isn't met as failed.
judge() {
  local check=$1
  "$python" "$here/judge.py" "$check" "$here/expected_differences.tsv" \
    >"$work/verdict"
  cat "$work/verdict"
  read -r p f < <(tail -n 1 "$work/verdict" | awk '{print $2, $4}')
  passed=$((passed + p))
  failed=$((failed + f))
}

# Not in a pipeline: the counts must reach this shell.
judge results < <("$python" "$shared/oracle/check_pt2.py" \
  --against "$corpus/slice.json" "$work"/written/*.pt2 2>&1)
judge same < <("$python" "$shared/oracle/compare_pt2.py" \
  --pairs "$work/originals" "$work/written" 2>&1)
# Hybrid graphs, joined.
"$python" "$here/check_hybrid.py" "$tenon" "$shared/corpus/hybrid" \
  >"$work/hybrid"
cat "$work/hybrid"
read -r p f < <(tail -n 1 "$work/hybrid" | awk '{print $1, $3}')
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
