#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test that needs no Python
# package: unit tests, golden cases, programs with PyTorch's recorded results.
# Where ../shared lies beside the repository, its corpus is used, too. Ends with
# "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/parts.sh
build=build/release
shared=../shared
jobs=$(nproc)

scripts/setup.sh || exit 1
echo "== build"
cmake --preset release >"$parts_log/cmake" || { cat "$parts_log/cmake"; exit 1; }
cmake --build --preset release -j "$jobs" || exit 1

run_part "unit tests" ctest --test-dir $build -j "$jobs" --output-on-failure \
  --progress
run_part "golden cases" test/run_cases.py --tenon $build/tenon
run_part "programs in test/data" $build/conformance pt2 test/data/manifest.json
run_part "hybrid graphs in test/data" $build/conformance hybrid test/data/hybrid
run_part "quantised operators" $build/conformance ops test/data/ops
run_part "programs in test/data as .pte" $build/conformance export-pte \
  test/data/manifest.json --keep $build/exported_pte
if [ -e $shared/corpus/pt2/slice.json ]; then
  run_part "programs of the corpus" \
    $build/conformance pt2 $shared/corpus/pt2/slice.json
  run_part "hybrid graphs" $build/conformance hybrid $shared/corpus/hybrid
  run_part "bug reports" $build/conformance bugs $shared/corpus/bugs/manifest.json
  run_part "damaged files" \
    $build/conformance broken $shared/corpus/pt2/broken/manifest.json \
    --known test/conformance/broken.tsv
  run_part "ExecuTorch programs" \
    $build/conformance pte $shared/corpus/pte/manifest.json
  run_part "damaged .pte" \
    $build/conformance broken $shared/corpus/pte/broken/manifest.json
  run_part "recorded operator calls" $build/conformance ops $shared/ops/vectors \
    --known test/conformance/ops_known_failures.tsv \
    --types test/conformance/ops_type_gaps.tsv
else
  skip_part "programs of the corpus" "there is no $shared/corpus"
  skip_part "recorded operator calls" "there is no $shared/ops"
fi
finish_parts
