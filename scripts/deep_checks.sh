#!/usr/bin/env bash
# What takes too long for each change: clang-tidy, the thread sanitizer, longer
# runs of the fuzzers (in build/asan), a sample of mutants. Ends with "N passed, N failed".
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/parts.sh
jobs=$(nproc)

scripts/setup.sh || exit 1

# Only what runs in threads: all else is looked at with the other sanitizers.
test_threads() {
  cmake --preset tsan && cmake --build --preset tsan -j "$jobs" \
    --target api_test backends_test runtime_test &&
    TSAN_OPTIONS="suppressions=$PWD/test/tsan_suppressions.txt" \
      ctest --test-dir build/tsan -R '^Threads|Fork' \
      --output-on-failure --no-tests=error
}

echo "== build"
cmake --preset release && cmake --build --preset release -j "$jobs" || exit 1
run_part "clang-tidy" scripts/tidy.sh
run_part "threads, sanitizer" test_threads
run_part "fuzzers, longer" test/fuzz/run.sh --runs 20000 --seconds 60
run_part "mutants" scripts/mutate.py --sample 150 \
  --seed "${TENON_SEED:-7}" --strict
finish_parts
